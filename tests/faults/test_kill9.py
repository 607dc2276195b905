"""Kill the gateway with SIGKILL at random points, again and again, and judge the history.

A parent keeps the ledger: what was asked, what each caller and each approver was told. The
commands themselves append to a file when they run. After each restart the history is judged:
no acknowledged decision is lost or changed, nothing runs twice, nothing runs without an allow,
and every interrupted run is reported as ``unknown`` exactly once.
"""

import random
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from bot.client import Client
from tests.faults.killed_gateway import History, configure, load, scripts
from tests.support.gateway_process import GatewayProcess
from tests.support.waiting import wait_until

CYCLES = 25
SAMPLE = 4
"""Kills in `make test`."""
ENOUGH_S = 20.0
"""The longest that a cycle waits for the approver's next decision."""
SEED = 20261121


def judge(
    gateway: GatewayProcess, commands: Path, history: History, ledger: Path
) -> tuple[list[str], int]:
    """Return every violation in the history, and how many runs were interrupted."""
    faults: list[str] = []
    ran = Counter((commands / "ran").read_text().split())
    faults += [f"{key} ran {count} times" for key, count in ran.items() if count > 1]
    outcomes: dict[str, dict[str, object]] = {}
    ids: dict[str, str] = {}
    with Client(str(gateway.home / "gateway.sock")) as client:
        for key, answers in history.told.items():
            ids[key] = str(answers[0]["id"])
            if len({answer["id"] for answer in answers}) > 1:
                faults.append(f"{key} has more than one id")
            outcomes[key] = client.call("exec.wait", {"id": ids[key], "timeoutMs": 100})
            faults += _changed(key, answers, outcomes[key])
        faults += _decisions(client, ledger)
        texts = _events(client)
    faults += _ran_as_told(ran, outcomes)
    faults += _told_once(texts, outcomes, ids)
    interrupted = sum(outcome["status"] == "unknown" for outcome in outcomes.values())
    return faults, interrupted


def _changed(key: str, answers: list[dict[str, object]], now: dict[str, object]) -> list[str]:
    final = {"finished", "denied"}
    told = {str(answer["status"]) for answer in answers} & final
    return [f"{key} was told {status}, is {now['status']}" for status in told - {now["status"]}]


def _decisions(client: Client, ledger: Path) -> list[str]:
    faults = []
    for line in ledger.read_text().splitlines():
        run_id, reply = line.split()
        row = client.call("exec.approval.get", {"id": run_id})
        if row["decision"] != reply:
            faults.append(f"{run_id}: acknowledged {reply}, stored {row['decision']}")
    return faults


def _ran_as_told(ran: Counter[str], outcomes: dict[str, dict[str, object]]) -> list[str]:
    faults = []
    for key, outcome in outcomes.items():
        if outcome["status"] == "finished" and ran[key] != 1:
            faults.append(f"{key} is told finished and ran {ran[key]} times")
        if outcome["status"] in {"denied", "pending"} and ran[key]:
            faults.append(f"{key} is {outcome['status']} and ran")
    return faults


def _events(client: Client) -> list[str]:
    texts: list[str] = []
    seq = 0
    while True:
        batch = client.call("events.drain", {"session": "main", "seq": seq, "limit": 1000})[
            "events"
        ]
        if not batch:
            return texts
        assert [event["seq"] for event in batch] == list(range(seq + 1, seq + 1 + len(batch)))
        texts += [event["text"] for event in batch]
        seq = batch[-1]["seq"]


def _told_once(
    texts: list[str], outcomes: dict[str, dict[str, object]], ids: dict[str, str]
) -> list[str]:
    ends = Counter(
        text.split("id=")[1].split(",")[0].rstrip(")")
        for text in texts
        if text.startswith(("Exec finished", "Exec denied"))
    )
    faults = []
    for key, outcome in outcomes.items():
        wanted = 0 if outcome["status"] in {"pending", "running"} else 1
        if ends[ids[key]] != wanted:
            faults.append(f"{key} ({outcome['status']}) was told its end {ends[ids[key]]} times")
    return faults


def cycles(gateway: GatewayProcess, commands: Path, history: History, kills: int) -> Path:
    """Start, load and kill; then start once more and let everything settle.

    Before every other kill the approver has been acknowledged once since the start, because on a
    busy machine a gateway may be killed each time before anyone reached it.
    """
    dice = random.Random(SEED)
    gateway.start()
    with load(gateway, commands, history) as ledger:
        for number in range(kills):
            before = ledger.stat().st_size
            if number % 2 == 0:
                wait_until("a decision", partial(_is_longer, ledger, before), ENOUGH_S)
            time.sleep(dice.uniform(0.05, 0.5))
            gateway.kill()
            gateway.start()
        time.sleep(0.5)
    wait_until("all runs to end", lambda: not _open(gateway, history), seconds=30)
    return ledger


def _is_longer(file: Path, least: int) -> bool:
    return file.stat().st_size > least


def _open(gateway: GatewayProcess, history: History) -> list[str]:
    with Client(str(gateway.home / "gateway.sock")) as client:
        answers = [
            client.call("exec.wait", {"id": told[0]["id"], "timeoutMs": 50})
            for told in history.told.values()
            if told[0]["status"] != "finished"
        ]
    return [str(answer["id"]) for answer in answers if answer["status"] == "running"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "kills", [SAMPLE, pytest.param(CYCLES, marks=(pytest.mark.deep, pytest.mark.slow))]
)
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_kill9(
    engine: str,
    kills: int,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Kills on each engine: 0 decisions lost or changed, 0 runs twice, unknown reported once."""
    commands = scripts(tmp_path / "commands")
    history = History()
    url = request.getfixturevalue("postgres_url") if engine == "postgres" else None
    configure(tmp_path / "home", commands, url)
    gateway = GatewayProcess(tmp_path / "home")
    ledger = cycles(gateway, commands, history, kills)
    faults, interrupted = judge(gateway, commands, history, ledger)
    gateway.stop()

    ran = (commands / "ran").read_text().split()
    decided = ledger.read_text().splitlines()
    with capsys.disabled():
        print(
            f"\nkill -9 on {engine}: {kills} cycles, {len(history.told)} requests told, "
            f"{len(decided)} decisions acknowledged, {len(ran)} commands ran, {interrupted} "
            f"interrupted and told unknown, {len(faults)} faults"
        )
    assert [] == faults
    assert len(ran) > kills
    assert len(decided) >= (kills + 1) // 2
    assert interrupted > 0 or kills < CYCLES


def test_judge_sees_a_command_that_ran_twice(tmp_path: Path) -> None:
    """The negative control: the checker reports a doubled run and a run that was denied."""
    ran = Counter(["a", "a", "b"])
    outcomes: dict[str, dict[str, object]] = {
        "a": {"status": "finished"},
        "b": {"status": "denied"},
    }

    faults = _ran_as_told(ran, outcomes)

    assert ["a is told finished and ran 2 times", "b is denied and ran"] == faults
