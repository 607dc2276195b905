"""`sayso history` says how each run ended, and `sayso cancel` ends what is waiting or running."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import finished, question, running_gateway, start
from tests.support.gateway_process import GatewayProcess
from tests.support.waiting import wait_until


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayProcess]:
    """Run a gateway where the agent `free` may run everything, and others ask."""
    with running_gateway(tmp_path / "home") as running:
        yield running


def runs(gateway: GatewayProcess) -> dict[str, dict[str, Any]]:
    """Return the history by command."""
    return {row["command"]: row for row in gateway.json("history")}


def started(gateway: GatewayProcess, command: str) -> str:
    """Wait until a command runs, and return its code."""
    row = wait_until(
        "a run",
        lambda: (found := runs(gateway).get(command)) and found["state"] == "started" and found,
        pause=0.1,
    )
    return str(row["code"])


def test_history_says_how_each_run_ended(gateway: GatewayProcess) -> None:
    """Code, signal, time limit and cancellation, in text and as fields."""
    finished(gateway, "-c", "sh -c 'exit 3'")
    finished(gateway, "-c", "sh -c 'kill -9 $$'")
    late = finished(gateway, "--timeout", "1", "-c", "sleep 61")
    with start(gateway, "-c", "sleep 62") as process:
        ended = gateway.cli("cancel", started(gateway, "sleep 62"))
        told = process.communicate(timeout=30)
    rows, text = runs(gateway), gateway.cli("history").stdout

    how = {
        "sh -c 'exit 3'": (r"finished after", ", code 3"),
        "sh -c 'kill -9 $$'": ("ended by signal 9 after", " s"),
        "sleep 61": ("stopped at its time limit after", " s"),
        "sleep 62": ("cancelled after", " s"),
    }
    for command, (head, tail) in how.items():
        words = rows[command]["how"]
        assert words.startswith(head), command
        assert words.endswith(tail), command
        assert f"free  {words}\n    {command}\n" in text
    marks = ("exitCode", "signal", "timedOut", "cancelled")
    assert [rows["sleep 61"][mark] for mark in marks] == [None, 15, True, False]
    assert [rows["sleep 62"][mark] for mark in marks] == [None, 15, False, True]
    assert rows["sleep 61"]["durationMs"] >= 1_000
    assert (ended.returncode, late[0], process.returncode) == (0, 4, 143)
    assert rows["sleep 61"]["how"].encode() in late[2]
    assert rows["sleep 62"]["how"].encode() in told[1]


def test_cancel_withdraws_a_question_once(gateway: GatewayProcess) -> None:
    """By its code; one that has ended is reported with its own exit code, and so is a wrong id."""
    with start(gateway, "-c", "hostname", agent="main") as process:
        code = question(gateway)["code"]
        done = gateway.cli("cancel", code, "--json")
        process.communicate(timeout=30)
    again = gateway.cli("cancel", code.lower())
    unknown = gateway.cli("cancel", "ZZZZZZ")

    assert (done.returncode, again.returncode, unknown.returncode) == (0, 3, 2)
    assert process.returncode == 3
    answer = json.loads(done.stdout)
    assert answer["cancelled"] is True
    assert answer["id"][:6].upper() == code
    assert f"{code} did not run (cancelled)" in again.stderr
    assert "ZZZZZZ" in unknown.stderr
    assert runs(gateway)["hostname"]["how"] == "cancelled"


def test_a_line_that_drifted_says_so_everywhere(gateway: GatewayProcess, tmp_path: Path) -> None:
    """Caller, history, session and journal: which command, what changed, and what ran before."""
    line = "echo first && ln -s /etc/hostname out && cat out"

    code, output, said = finished(gateway, "--cwd", str(tmp_path), "-c", line)

    row = runs(gateway)[line]
    journal = [json.loads(one) for one in (gateway.home / "audit.jsonl").read_text().splitlines()]
    ends = [one for one in journal if row["id"] in str(one) and "plan_drift" in str(one)]
    assert (code, output.splitlines()[0]) == (3, b"first")
    assert b"denied (plan_drift)" in said
    assert b"out` leads elsewhere since `cat` was approved" in said
    assert b"`cat` (command 3 of 3) was not started" in said
    assert "(plan_drift)" in row["how"]
    assert any("leads elsewhere" in one for one in gateway.events())
    assert len(ends) == 1
