"""What is allowed runs in the companion's own context where the file says so (S0, S1)."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.companion import asking, calm, companion_at, configure, ended, gateway_at
from tests.support.gateway_process import GatewayProcess
from tests.support.waiting import until


def _executing(home: Path, fallback: str | None = None, **defaults: Any) -> None:
    """Configure a gateway whose commands run at the companion; `free` needs no person."""
    configure(home, fallback=fallback)
    path = home / "config.json5"
    config = json.loads(path.read_text())
    full = {"security": "full", "ask": "off"}
    config["agents"] = {"list": [{"id": "free", "tools": {"exec": full}}]}
    path.write_text(json.dumps(config))
    file = home / "exec-approvals.json"
    limits = json.loads(file.read_text())
    limits["socket"] = {"executes": True}
    limits["defaults"] |= defaults
    file.write_text(json.dumps(limits))


def _row(gateway: GatewayProcess) -> dict[str, Any]:
    rows: list[dict[str, Any]] = gateway.json("history")
    found: dict[str, Any] = gateway.json("show", rows[0]["id"])
    return found


async def _run(gateway: GatewayProcess, line: str, agent: str = "free") -> tuple[int, str, str]:
    return await ended(asking(gateway, "--agent", agent, "--cwd", "/", "-c", line))


async def test_what_policy_allows_runs_at_the_companion(tmp_path: Path) -> None:
    """The code and both streams return; both journals and the companion's disk have the run."""
    home = tmp_path / "home"
    _executing(home)
    with gateway_at(home) as gateway:
        async with companion_at(home):
            code, out, error = await _run(gateway, "sh -c 'echo out; echo err >&2; exit 5'")
            assert (code, out, "err" in error) == (5, "out\n", True), error
            (kept,) = (home / "companion-runs").glob("*.noted.json")
            records = (home / "companion-audit.jsonl").read_text()
        run_id = kept.name.partition(".")[0]
        gateways = (home / "audit.jsonl").read_text()

    assert records.count(run_id) == 2, "a decision and an end"
    assert run_id in gateways


async def test_the_command_is_in_the_companions_context(tmp_path: Path) -> None:
    """The launcher is the companion's if the file says so; the control: otherwise the gateway's."""
    home = tmp_path / "home"
    _executing(home)
    with gateway_at(home) as gateway:
        assert gateway.process is not None
        async with companion_at(home):
            line = "sh -c 'ps -o ppid= -p $PPID'"
            _, there, _ = await _run(gateway, line)
            file = home / "exec-approvals.json"
            limits = json.loads(file.read_text())
            limits["socket"]["executes"] = False
            file.write_text(json.dumps(limits))
            _, here, _ = await _run(gateway, line)
            parents = [_parent(int(launcher)) for launcher in (there, here)]

    assert parents == [os.getpid(), gateway.process.pid]


def _parent(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


async def test_a_person_allows_it_there_and_it_runs_there(tmp_path: Path) -> None:
    """The dialog and the run belong to the same companion; nothing ran before the key press."""
    home = tmp_path / "home"
    _executing(home)
    with gateway_at(home) as gateway:
        async with companion_at(home) as (screen, pilot):
            process = asking(gateway, "--cwd", str(tmp_path), "-c", "touch made")
            await calm(screen, pilot)
            assert not list((home / "companion-runs").iterdir())
            await pilot.press("a")
            code, _, error = await ended(process)
            assert (0, True) == (code, (tmp_path / "made").exists()), error
            assert list((home / "companion-runs").iterdir())


@pytest.mark.parametrize(
    ("fallback", "status"), [(None, "denied"), ("deny", "denied"), ("full", "finished")]
)
async def test_without_the_companion_the_fallback_decides(
    tmp_path: Path, fallback: str | None, status: str
) -> None:
    """Policy allows it and no companion is connected: denied, unless askFallback lets it run."""
    home = tmp_path / "home"
    _executing(home, fallback)
    with gateway_at(home) as gateway:
        began = time.monotonic()
        code, _, error = await _run(gateway, f"touch {tmp_path}/made")

    assert ((tmp_path / "made").exists(), code) == (
        (True, 0) if status == "finished" else (False, 3)
    )
    assert status == "finished" or "companion" in error
    assert time.monotonic() - began < 20


async def test_what_changed_after_the_question_is_drift_there_too(tmp_path: Path) -> None:
    """The companion verifies the plan again: another script is not what was allowed."""
    home, script = tmp_path / "home", tmp_path / "job.sh"
    _executing(home)
    script.write_text("#!/bin/sh\necho first\n")
    script.chmod(0o755)
    with gateway_at(home) as gateway:
        async with companion_at(home) as (screen, pilot):
            process = asking(gateway, "--cwd", str(tmp_path), "-c", str(script))
            await calm(screen, pilot)
            script.write_text(f"#!/bin/sh\ntouch {tmp_path}/made\n")
            await pilot.press("a")
            code, _, error = await ended(process)

    assert (3, False) == (code, (tmp_path / "made").exists()), error
    assert "plan_drift" in error or "changed" in error


async def test_a_cancelled_run_and_a_companion_that_ends(tmp_path: Path) -> None:
    """Cancelled, the command ends there; it also ends with the companion; no code is invented."""
    home, mark = tmp_path / "home", tmp_path / "mark"
    _executing(home)
    line = f"sh -c 'echo begun >> {mark}; sleep 30; echo ended >> {mark}'"
    with gateway_at(home) as gateway:
        async with companion_at(home):
            process = asking(gateway, "--agent", "free", "-c", line)
            await until(mark.exists)
            process.terminate()
            await ended(process)
            mark.unlink(missing_ok=True)
            second = asking(gateway, "--agent", "free", "-c", line)
            await until(mark.exists)
        await ended(second)
        row = _row(gateway)

    assert (row["state"], row["exitCode"]) == ("done", None)
    assert mark.read_text() == "begun\n"
