"""Make machines on one host: network namespaces with their own addresses, users and homes.

A gateway at 10.77.N.1 and a node at 10.77.N.2 share one veth pair each; a node's firewall drops
every incoming connection. Making them requires root; without it a test says so.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.gateway_process import ROOT, GatewayProcess
from tests.support.node_process import NodeProcess

_NEEDED = "this test makes network namespaces: it needs root, iproute2 and iptables"
_READ = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
"""Lets another user read this checkout wherever it is, and write nothing."""


def _sh(*words: str) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise AssertionError(f"{_NEEDED}: {missing.filename} is missing") from None
    assert done.returncode == 0, f"{_NEEDED}: {' '.join(words)}: {done.stderr.strip()}"


@dataclass
class MachineNode(NodeProcess):
    """`sayso node run` in a namespace, as a user."""

    prefix: tuple[str, ...] = ()
    address: str = ""

    def argv(self, *words: str) -> list[str]:
        """Return a command of `sayso node` on its machine."""
        return [*self.prefix, *super().argv(*words)]


@dataclass
class MachineGateway(GatewayProcess):
    """`sayso serve` in a namespace."""

    prefix: tuple[str, ...] = ()

    def argv(self) -> list[str]:
        """Return the command by which it is started."""
        return [*self.prefix, *super().argv()]


@dataclass
class Machines:
    """A gateway's namespace and those of its nodes, whose users are ``uids``."""

    gateway: str
    nodes: list[str] = field(default_factory=list)
    uids: list[int] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    def node(self, number: int, home: Path) -> MachineNode:
        """Return the node of a machine; its home is its user's."""
        uid = self.uids[number]
        home.mkdir(mode=0o700)
        os.chown(home, uid, uid)
        user = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *_READ)
        inside = ("ip", "netns", "exec", self.nodes[number], *user, "env", f"HOME={home}")
        return MachineNode(home, prefix=inside, address=f"10.77.{number + 1}.2")

    @property
    def inside(self) -> tuple[str, ...]:
        """Return the command that starts a program on the gateway's machine."""
        return ("ip", "netns", "exec", self.gateway)

    def move(self, number: int, old: int, new: int) -> None:
        """Give a node's machine another address, by its last number."""
        for verb, host in (("del", old), ("add", new)):
            address = f"10.77.{number + 1}.{host}/24"
            _sh("ip", "-n", self.nodes[number], "addr", verb, address, "dev", self.links[number])

    def reaches(self, number: int, port: int) -> bool:
        """Return whether the gateway's machine can connect to a port of a node's."""
        code = (
            "import socket,sys; s=socket.socket(); s.settimeout(0.5); "
            "sys.exit(s.connect_ex((sys.argv[1], int(sys.argv[2]))))"
        )
        words = [*self.inside, sys.executable, "-c", code, f"10.77.{number + 1}.2", str(port)]
        return subprocess.run(words, cwd=ROOT, check=False).returncode == 0


@contextmanager
def machines(count: int) -> Iterator[Machines]:
    """Make a gateway's machine and this many for nodes, for as long as the block lasts."""
    tag = f"sayso{os.getpid() % 10_000}"
    made = Machines(f"{tag}g")
    with ExitStack() as stack:
        _namespace(stack, made.gateway)
        for number in range(count):
            name = f"{tag}n{number}"
            _namespace(stack, name)
            made.nodes.append(name)
            made.uids.append(61_001 + number)
            near, far = f"{tag}g{number}", f"{tag}n{number}"
            made.links.append(far)
            ends = ("type", "veth", "peer", "name", far, "netns", name)
            _sh("ip", "link", "add", near, "netns", made.gateway, *ends)
            for space, link, host in ((made.gateway, near, 1), (name, far, 2)):
                _sh("ip", "-n", space, "addr", "add", f"10.77.{number + 1}.{host}/24", "dev", link)
                _sh("ip", "-n", space, "link", "set", link, "up")
            drop = ("-m", "conntrack", "--ctstate", "NEW", "-j", "DROP")
            _sh("ip", "netns", "exec", name, "iptables", "-A", "INPUT", "!", "-i", "lo", *drop)
        yield made


def _namespace(stack: ExitStack, name: str) -> None:
    _sh("ip", "netns", "add", name)
    stack.callback(subprocess.run, ["ip", "netns", "delete", name], check=False)
    _sh("ip", "-n", name, "link", "set", "lo", "up")
