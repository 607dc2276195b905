"""Start a real gateway that takes nodes, and real nodes, each a process with its own home."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.gateway_process import ROOT, GatewayProcess, ended, write_config
from tests.support.ports import free_port
from tests.support.product_process import run, start
from tests.support.terminal import in_terminal
from tests.support.waiting import wait_until

SAYSO = (sys.executable, "-m", "bot")
_STARTER = ThreadPoolExecutor(1, "node starter")
"""The one thread that starts nodes: it lives as long as the tests do."""


@dataclass
class NodeProcess:
    """`sayso node run` over one home."""

    home: Path
    process: subprocess.Popen[bytes] | None = None
    log: Path = field(init=False)
    module: str = "bot"

    def __post_init__(self) -> None:
        self.home.mkdir(mode=0o700, exist_ok=True)
        self.log = self.home / "node.log"

    def start(self, *words: str) -> None:
        """Start it; the words name the gateway the first time."""
        assert self.process is None or self.process.poll() is not None, "it runs already"
        self.process = _STARTER.submit(self._started, *words).result()

    def _started(self, *words: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return start(
                self.argv("run", *words),
                bound=True,  # tests that are killed leave no node
                cwd=ROOT,
                env={**os.environ, "SAYSO_HOME": str(self.home)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def argv(self, *words: str) -> list[str]:
        """Return a command of `sayso node`."""
        return [sys.executable, "-m", self.module, "node", *words]

    def approvals(self, **agents: dict[str, Any]) -> None:
        """Write the node's own exec-approvals.json."""
        path = self.home / "exec-approvals.json"
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps({"version": 1, "agents": agents}))
        draft.chmod(0o600)
        draft.rename(path)

    def cli(self, *words: str, environ: dict[str, str]) -> "subprocess.CompletedProcess[str]":
        """Run a command of this machine to its end."""
        return run([*SAYSO, *words], cwd=ROOT, env=environ, capture_output=True, text=True)

    def kill(self) -> None:
        """End it as a crash would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> int:
        """End it as an operator would, and return its exit code.

        Raises:
            TimeoutExpired: it did not end; it is killed.
        """
        assert self.process is not None
        return ended(self.process)


@dataclass
class NodePair:
    """A gateway and its node `web`."""

    gateway: GatewayProcess
    node: NodeProcess
    address: str
    key: str
    node_id: str = ""

    def typed(self, *words: str) -> tuple[int, str]:
        """Type a command at a terminal of its own on the gateway."""
        return in_terminal(*SAYSO, *words, environ=self.gateway.environ())

    def pair(self) -> None:
        """Start the node and allow it."""
        words = ("--gateway", self.address, "--gateway-key", self.key, "--name", "web")
        self.node.start(*words)
        asked = wait_until("a node that waits", self.requests, seconds=20)
        code, said = self.typed("node", "approve", asked[0]["code"])
        assert code == 0, said
        self.node_id = asked[0]["id"]
        self.until_connected()

    def requests(self) -> list[dict[str, Any]]:
        """Return the nodes that wait for approval."""
        found: list[dict[str, Any]] = self.gateway.json("node", "list")["requests"]
        return found

    @property
    def connections(self) -> int:
        """Return how often the node has connected, by its log."""
        return self.node.log.read_text().count("connected to ")

    def until_connected(self, times: int = 1) -> None:
        """Wait until the node has connected n times."""
        wait_until("the node's connection", lambda: self.connections >= times, seconds=30)

    def start_node(self) -> None:
        """Start the stopped node, and wait until it has connected."""
        before = self.connections
        self.node.start()
        self.until_connected(before + 1)

    def run(self, *words: str, agent: str = "free", node: str = "web") -> Any:
        """Run a command on the node to its end, and return what `sayso run --json` printed."""
        options = ("--host", "node", "--node", node, "--agent", agent, "--cwd", "/", "--json")
        done = self.gateway.cli("run", *options, *words)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)


@contextmanager
def node_pair(home: Path, **changes: Any) -> Iterator[NodePair]:
    """Run a gateway with a paired node; the gateway itself lets `free` run everything."""
    write_config(home / "gateway", None)
    path = home / "gateway" / "config.json5"
    address = f"127.0.0.1:{free_port()}"
    config = {**json.loads(path.read_text()), **changes}
    config["nodes"] = {"enabled": True, "listen": address}
    full = {"security": "full", "ask": "off"}
    config["agents"] = {
        "list": [
            {"id": "free", "tools": {"exec": full}},
            {"id": "bound", "tools": {"exec": {**full, "node": "web"}}},
            {"id": "none", "tools": {"exec": {"security": "deny"}}},
            {"id": "lax", "tools": {"exec": {"security": "allowlist", "askFallback": "full"}}},
        ]
    }
    path.write_text(json.dumps(config))
    gateway, node = GatewayProcess(home / "gateway"), NodeProcess(home / "node")
    with ExitStack() as stack:
        for one in (gateway, node):
            stack.callback(stop_if_started, one)
        gateway.start()
        pair = NodePair(gateway, node, address, gateway.cli("node", "key").stdout.strip())
        pair.pair()
        yield pair


def stop_if_started(one: GatewayProcess | NodeProcess) -> None:
    """Stop a gateway or a node, at whatever point the test that started it stopped."""
    if one.process is not None:
        one.stop()
