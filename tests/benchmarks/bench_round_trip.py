"""Time request → decision → spawn → result over gateway.sock, against posix_spawn + wait.

Both in one run, in turn, so that the ratio is right while the machine's speed drifts.
"""

import json
import os
import statistics
import time
from pathlib import Path

import pytest

from bot.client import Client
from tests.support.gateway_process import GatewayProcess, write_config

ROUNDS = 300
GOAL = 5.0


def spawn_floor() -> float:
    """Return the seconds that posix_spawn and wait take for /usr/bin/true."""
    start = time.perf_counter()
    pid = os.posix_spawn("/usr/bin/true", ["true"], {})
    os.waitpid(pid, 0)
    return time.perf_counter() - start


def asked(client: Client, cwd: str) -> float:
    """Return the seconds from asking to the result of an auto-allowed /usr/bin/true."""
    start = time.perf_counter()
    answer = client.call("exec.run", {"argv": ["/usr/bin/true"], "cwd": cwd, "agent": "main"})
    elapsed = time.perf_counter() - start
    assert 0 == answer["exitCode"], json.dumps(answer)
    return elapsed


@pytest.mark.benchmark
def test_round_trip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An auto-allowed command, with its durable decision and result, as a ratio to its spawn."""
    home = tmp_path / "home"
    write_config(home, None)
    gateway = GatewayProcess(home)
    gateway.start()
    try:
        with Client(str(home / "gateway.sock")) as client:
            for _ in range(30):
                asked(client, str(tmp_path))
                spawn_floor()
            pairs = [(asked(client, str(tmp_path)), spawn_floor()) for _ in range(ROUNDS)]
    finally:
        gateway.stop()
    ours = sorted(pair[0] for pair in pairs)
    floor = sorted(pair[1] for pair in pairs)
    ratio = statistics.median(ours) / statistics.median(floor)
    with capsys.disabled():
        print(
            f"\nround trip of /usr/bin/true: p50 {statistics.median(ours) * 1e3:.2f} ms, "
            f"p99 {ours[int(ROUNDS * 0.99)] * 1e3:.2f} ms; posix_spawn+wait p50 "
            f"{statistics.median(floor) * 1e3:.2f} ms; ratio {ratio:.1f}x (goal <= {GOAL:.0f}x)"
        )
    assert ratio < 4 * GOAL
