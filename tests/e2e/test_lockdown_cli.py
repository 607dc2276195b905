"""`sayso lockdown on` says whether it locked, whatever happens to the gateway or the disk."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

from tests.e2e.running import running_gateway
from tests.support.gateway_process import ROOT, GatewayProcess


def lockdown_on(gateway: GatewayProcess, *, writes: bool) -> subprocess.CompletedProcess[str]:
    """Lock from a process that can, or cannot, write a file."""
    most = resource.RLIM_INFINITY if writes else 0
    return subprocess.run(
        ["prlimit", f"--fsize={most}", sys.executable, "-m", "bot", "lockdown", "on"],
        cwd=ROOT,
        env=gateway.environ(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_gateway_that_does_not_answer_is_locked_all_the_same(tmp_path: Path) -> None:
    """Stopped by a signal it cannot be asked: exit 0, and it refuses once it continues."""
    with running_gateway(tmp_path / "home") as gateway:
        assert gateway.process is not None
        before = gateway.cli("run", "--agent", "free", "--", "true")
        os.kill(gateway.process.pid, signal.SIGSTOP)
        try:
            on = lockdown_on(gateway, writes=True)
        finally:
            os.kill(gateway.process.pid, signal.SIGCONT)
        after = gateway.cli("run", "--agent", "free", "--", "true")

    assert before.returncode == 0, before
    assert on.returncode == 0, on
    assert "did not answer in time" in on.stdout
    assert (after.returncode, "locked_down" in after.stderr) == (3, True), after


def test_a_gateway_that_fails_at_it_is_locked_all_the_same(tmp_path: Path) -> None:
    """With its journal gone it answers with an error; the file locks it, so the exit code is 0."""
    with running_gateway(tmp_path / "home") as gateway:
        with (gateway.home / "audit.jsonl").open("ab") as journal:
            journal.write(b'{"not": "ours"}\n')
        on = gateway.cli("lockdown", "on", "--json")
        after = gateway.cli("run", "--agent", "free", "--", "true")

    assert on.returncode == 0, on
    assert json.loads(on.stdout)["locked"]
    assert after.returncode != 0, after


def test_a_gateway_writes_the_file_that_we_cannot(tmp_path: Path) -> None:
    """If it cannot do that either, it locks in memory, and we say how long that holds."""
    with running_gateway(tmp_path / "home") as gateway:
        written = lockdown_on(gateway, writes=False)
        there = (gateway.home / "lockdown").exists()
    with running_gateway(tmp_path / "other") as gateway:
        assert gateway.process is not None
        hard = resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (0, hard))
        held = lockdown_on(gateway, writes=False)
        lost = (gateway.home / "lockdown").exists()
        resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        after = gateway.cli("run", "--agent", "free", "--", "true")

    assert (written.returncode, written.stderr, there) == (0, "", True), written
    assert (held.returncode, "until the gateway stops" in held.stderr, lost) == (0, True, False)
    assert (after.returncode, "locked_down" in after.stderr) == (3, True), after


def test_where_nothing_locked_it_says_so(tmp_path: Path) -> None:
    """The control: neither a file nor a gateway, and the exit code is 1."""
    gateway = GatewayProcess(tmp_path)

    alone = lockdown_on(gateway, writes=False)
    assert (alone.returncode, "not locked down" in alone.stderr) == (1, True), alone
    assert not (tmp_path / "lockdown").exists()
