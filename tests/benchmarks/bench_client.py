"""Time a cold start that asks the gateway something, against ``python -I -c pass``.

The server is real and answers at once, so that what is measured is the client: interpreter,
imports, connection, one round trip. ``json`` and ``socket`` in its place are timed as well.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import core

ROOT = Path(core.__file__).parents[1]
ROUNDS = 40
GOAL = 3.0
SERVER = """
import asyncio, sys
from pathlib import Path
from core.ipc.unix import listen

async def run(params, peer, notify):
    return {"status": "finished", "exitCode": 0, "output": ""}

async def main():
    await listen(Path(sys.argv[1]), {"exec.run": run})
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
LEAN = """
import sys
sys.path.insert(0, sys.argv[1])
from bot.client import Client
with Client(sys.argv[2]) as client:
    client.call("exec.run", {"argv": ["/usr/bin/true"], "cwd": "/"})
"""
ORDINARY = """
import json, socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[2])
    frame = {"jsonrpc": "2.0", "id": 1, "method": "exec.run", "params": {"cwd": "/"}}
    connection.sendall(json.dumps(frame).encode() + b"\\n")
    json.loads(connection.makefile("rb").readline())
"""


def starter(script: str, path: str) -> Callable[[], float]:
    """Return a function that runs a script cold and returns its seconds."""
    command = [sys.executable, "-I", "-c", script, str(ROOT), path]

    def start() -> float:
        begin = time.perf_counter()
        subprocess.run(command, check=True)
        return time.perf_counter() - begin

    return start


@pytest.mark.benchmark
def test_cold_start(capsys: pytest.CaptureFixture[str]) -> None:
    """A cold call costs at most three times what starting the interpreter costs."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/gateway.sock"
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, path], cwd=ROOT, stdout=subprocess.PIPE
        )
        with server:
            assert server.stdout is not None
            server.stdout.readline()
            starts = [starter(script, path) for script in ("pass", LEAN, ORDINARY)]
            rounds = [[start() for start in starts] for _ in range(ROUNDS)]
            server.terminate()
    floor, lean, ordinary = (statistics.median(column) for column in zip(*rounds, strict=True))
    with capsys.disabled():
        print(
            f"\ncold start p50: interpreter {floor * 1e3:.1f} ms, client {lean * 1e3:.1f} ms "
            f"({lean / floor:.2f}x, goal <= {GOAL:.0f}x), with json and socket "
            f"{ordinary * 1e3:.1f} ms ({ordinary / floor:.2f}x)"
        )
    assert lean <= GOAL * floor
