"""Time a whole `sayso run` of an auto-allowed /usr/bin/true, against starting the interpreter."""

import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.gateway_process import ROOT, GatewayProcess, write_config

ROUNDS = 40
GOAL = 3.0


def seconds(argv: list[str], gateway: GatewayProcess) -> float:
    """Return how long a command takes from its start to its end."""
    begin = time.perf_counter()
    subprocess.run(argv, cwd=ROOT, env=gateway.environ(), check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


@pytest.mark.benchmark
def test_cold_start_of_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Start, ask, judge, run, answer and end, next to a bare start of the same interpreter."""
    write_config(tmp_path / "home", None)
    gateway = GatewayProcess(tmp_path / "home")
    gateway.start()
    script = shutil.which("sayso", path=str(Path(sys.executable).parent))
    assert script is not None, "sayso is not installed beside this interpreter: make install"
    commands = {
        "floor": [sys.executable, "-I", "-c", "pass"],
        "run": [script, "run", "--", "/usr/bin/true"],
        "help": [script, "run", "--help"],
    }
    try:
        rounds = [
            {name: seconds(argv, gateway) for name, argv in commands.items()} for _ in range(ROUNDS)
        ]
    finally:
        gateway.stop()
    p50 = {name: statistics.median(one[name] for one in rounds) * 1e3 for name in commands}
    with capsys.disabled():
        print(
            f"\nsayso run: p50 {p50['run']:.1f} ms with the command's own run "
            f"({p50['run'] / p50['floor']:.2f}x, goal <= {GOAL:.0f}x), its help {p50['help']:.1f} "
            f"ms; python -I -c pass {p50['floor']:.1f} ms"
        )
    assert p50["run"] <= 2 * GOAL * p50["floor"]
