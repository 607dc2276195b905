"""Reach Unix sockets of this machine from the sandbox: wherever, however and whenever bound."""

import asyncio
import contextlib
import json
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.hosts.sandbox.backends.bubblewrap import Bubblewrap
from tests.core.hosts.sandbox.enclosed import PYTHON, House, bwrap, over, places_for, sandbox
from tests.core.runner.runs import Watcher, new_run, until
from tests.faults import sandbox_attacks as attacks
from tests.faults.test_sandbox_escape import escapes, vector

KINDS = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET)


class Services:
    """Sockets that listen on this machine, by what was done with them."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._bound: list[socket.socket] = []
        self.targets: list[tuple[str, int, str]] = []

    @property
    def names(self) -> set[str]:
        """Return what all of them are called."""
        return {name for name, _, _ in self.targets}

    def bind(self, name: str, address: str, *, seen_as: str = "") -> None:
        """Bind one of each kind; ``seen_as`` is the address to attack, where it is another."""
        for kind in KINDS:
            one = self._stack.enter_context(socket.socket(socket.AF_UNIX, kind))
            one.bind(f"{address}{kind:d}")
            one.setblocking(False)
            if kind != socket.SOCK_DGRAM:
                one.listen(64)
            self._bound.append(one)
            self.targets.append((name, int(kind), f"{seen_as or address}{kind:d}"))

    def bind_everywhere(self, when: str, workspace: Path, visible: Path) -> None:
        """Bind some in the workspace, in a folder that is seen, and in the abstract namespace."""
        self.bind(f"workspace {when}", str(workspace / f"{when}-"))
        self.bind(f"visible {when}", str(visible / f"{when}-"))
        with contextlib.chdir(visible):
            self.bind(f"relative {when}", f"{when}-r", seen_as=str(visible / f"{when}-r"))
        self.bind(f"renamed {when}", str(visible / f"{when}-old"), seen_as=str(visible / when))
        for kind in KINDS:
            (visible / f"{when}-old{kind:d}").rename(visible / f"{when}{kind:d}")
        self.bind(f"abstract {when}", f"\0sayso-{secrets.token_hex(8)}")

    def heard(self) -> int:
        """Return how many of them were connected to, or got something."""
        return sum(1 for one in self._bound if _heard(one))


def _heard(one: socket.socket) -> bool:
    try:
        if one.type == socket.SOCK_DGRAM:
            return bool(one.recv(1))
        one.accept()[0].close()
    except BlockingIOError:
        return False
    return True


@pytest.fixture
def visible() -> Iterator[Path]:
    """Yield a folder that every sandbox sees, and that anybody may enter."""
    folder = Path(f"/opt/sayso-{secrets.token_hex(4)}")
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@dataclass(frozen=True)
class Attacked:
    """What the sockets are called, what was tried and reached, and how many heard something."""

    names: set[str]
    tried: list[str]
    reached: set[str]
    heard: int


async def attacked(house: House, visible: Path, *, inside: bool) -> Attacked:
    """Attack sockets, half of which are bound when the command runs already."""
    mark = secrets.token_hex(4)
    (visible / mark).mkdir()
    workspace = house.workspace / mark
    workspace.mkdir()
    ready, go = workspace / "ready", workspace / "go"
    attack = vector(attacks.REACHES_UNIX_SOCKETS, READY=str(ready), GO=str(go))
    with contextlib.ExitStack() as stack:
        services = Services(stack)
        services.bind_everywhere("before", workspace, visible / mark)
        run = house.run if inside else house.run_outside
        task = asyncio.create_task(run(attack))
        await until(ready.exists)
        services.bind_everywhere("during", workspace, visible / mark)
        (workspace / "targets").write_text(json.dumps(services.targets))
        (workspace / "targets").rename(go)
        text = (await task).output.text
        tried, reached = (re.findall(f"{word} (.*)", text) for word in ("TRIED", "ESCAPED"))
        assert len(tried) >= 16 * len(services.names), text
        return Attacked(services.names, tried, set(reached), services.heard())


@pytest.mark.parametrize("network", [False, True])
async def test_no_socket_of_this_machine_is_reached(
    network: bool, visible: Path, tmp_path: Path
) -> None:
    """Neither by a path nor by an abstract name, with the machine's network or without."""
    async with sandbox(tmp_path, network=network) as house:
        inside = await attacked(house, visible, inside=True)
        outside = await attacked(house, visible, inside=False)

    assert (inside.reached, inside.heard) == (set(), 0)
    assert outside.reached == outside.names == inside.names
    assert outside.heard == len(KINDS) * len(outside.names)


@pytest.mark.parametrize("network", [False, True])
async def test_the_setting_lets_them_be_reached(
    network: bool, visible: Path, tmp_path: Path
) -> None:
    """The control: what is covered is what a run's start found by a full path, and nothing else."""
    async with sandbox(tmp_path, network=network, unix_sockets=True) as house:
        found = await attacked(house, visible, inside=True)

    abstract = {name for name in found.names if name.startswith("abstract")}
    assert found.reached == found.names - {"visible before"} - (set() if network else abstract)


async def test_other_numbers_make_no_socket(visible: Path, tmp_path: Path) -> None:
    """socketcall(2) of 32-bit programs ends the process, before it makes anything."""
    address = str(visible / "s")
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(address)
        service.listen()
        async with sandbox(tmp_path) as house:
            attack = vector(attacks.REACHES_A_SOCKET_BY_OLD_NUMBERS, SOCKET=address)
            inside = await house.run(attack)
            outside = await house.run_outside(attack)

    assert (inside.exit_code, "ESCAPED" in inside.output.text) == (159, False)  # 128 + SIGSYS
    # Where the kernel has no 32-bit calls there is nothing to be reached by.
    assert "ESCAPED" in outside.output.text or outside.exit_code in {0, 159}


async def test_no_socket_is_handed_to_a_command(tmp_path: Path) -> None:
    """Whoever has one that somebody else made can be handed more through it."""
    async with sandbox(tmp_path) as house:
        found = await escapes(house, attacks.HAS_FOREIGN_SOCKETS)

    assert found == (False, True)


@pytest.mark.parametrize("landlock", [True, False], ids=["landlock", "control"])
async def test_landlock_keeps_from_pipes_as_well(
    landlock: bool, visible: Path, tmp_path: Path
) -> None:
    """A pipe in sight is no socket: without Landlock it can be written to, as is documented."""
    os.mkfifo(visible / "pipe", 0o666)
    end = os.open(visible / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        async with sandbox(tmp_path) as house:
            backend = Bubblewrap(bwrap(), places_for(house.home), network=False, landlock=landlock)
            async with over(house.runner, backend, house.home) as host:
                plan = house.plan(("/bin/sh", "-c", f"echo x > {visible}/pipe"))
                done = await host.run(new_run(), plan, Watcher())
        assert ((done.exit_code == 0), os.read(end, 9)) == (
            not landlock,
            b"" if landlock else b"x\n",
        )
    finally:
        os.close(end)


WORKS = """
import asyncio, concurrent.futures, multiprocessing, socket, subprocess
async def echoed():
    child = await asyncio.create_subprocess_exec("echo", "x", stdout=subprocess.PIPE)
    return (await child.communicate())[0]
assert asyncio.run(echoed()) == b"x\\n"
context = multiprocessing.get_context("fork")
with context.Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
    assert list(pool.map(abs, [-3])) == [3]
one, other = socket.socketpair()
one.send(b"y")
assert other.recv(1) == b"y"
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
print("WORKED")
"""
NODE = """
const {fork} = require("child_process")
if (process.send) { process.send("x") } else {
  fork(__filename).on("message", (said) => { console.log("WORKED", said) })
}
"""


async def test_everyday_work_needs_no_such_socket(tmp_path: Path) -> None:
    """Pools of processes, subprocesses, loopback, and what node says to its children."""
    async with sandbox(tmp_path) as house:
        (house.workspace / "ipc.js").write_text(NODE)
        python = await house.run((PYTHON, "-I", "-c", WORKS))
        node = await house.run("node ipc.js && getent passwd root && id -un")

    assert python.output.text == "WORKED\n", python.output.text
    assert node.output.text.startswith("WORKED x\nroot:"), node.output.text
