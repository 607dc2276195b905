"""Kill the gateway with 200 prompts open; decisions made in the meantime count, once."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.client import Client
from tests.emulators.discord_objects import CHANNEL
from tests.support.decision_history import Decisions, miscounted, truth
from tests.support.gateway_process import ROOT, GatewayProcess
from tests.support.platform_processes import (
    ANA,
    PLACES,
    SLACK_ANA,
    Chat,
    Place,
    chats,
    configure,
    copies,
    remember,
)
from tests.support.prompt_copies import Asked, Copy, judge
from tests.support.waiting import wait_until

PROMPTS = 200
TYPED, REFUSED, CONTESTED, BY_COMMAND = 20, 3, 10, 4
_LETTERS = {"allow-once": "o", "deny": "d"}
_PAUSE_S = 0.3
"""Between two looks: each lists hundreds of rows, which takes the gateway's time as well."""


def program(folder: Path) -> Path:
    """Write a program that records its argument each time it runs."""
    folder.mkdir()
    path = folder / "go"
    path.write_text(f'#!/bin/sh\necho "$1" >> {folder}/ran\n')
    path.chmod(0o755)
    (folder / "ran").touch()
    return path


def ask_all(gateway: GatewayProcess, path: Path) -> list[Asked]:
    """Ask 200 questions, place after place: in bursts."""
    places = _turns()
    asked = []
    with Client(str(gateway.home / "gateway.sock")) as client:
        for number in range(PROMPTS):
            place = places[number * len(places) // PROMPTS].conversation
            wish = {"argv": [str(path), f"k{number}"], "cwd": str(path.parent), "wait": False}
            told = client.call("exec.run", {**wish, "session": place})
            asked.append(Asked(told["id"], told["code"], place, f"k{number}"))
    return asked


def _turns() -> list[Place]:
    """Return the places in the order in which they ask: Slack first and least, for its rates."""
    others = [*PLACES["telegram"], *PLACES["discord"]]
    return [*PLACES["slack"], *others, *others]


def everywhere(asked: list[Asked]) -> list[Asked]:
    """Return each question once for each place that shows it: its session's and Discord's."""
    common = (replace(one, place=str(CHANNEL)) for one in asked)
    return list(dict.fromkeys([*asked, *common]))


def all_shown(three: dict[str, Chat], asked: list[Asked]) -> bool:
    """Return whether every question is in all its places with its buttons."""
    seen = {(copy.place, approval) for copy in copies(three) for approval in copy.open}
    return all((one.place, one.id) in seen for one in everywhere(asked))


def decide(three: dict[str, Chat], asked: list[Asked], decisions: Decisions) -> None:
    """Press and type while no gateway runs; a third of the questions stays open."""
    shown = copies(three)
    of = {name: _of(asked, name) for name in PLACES}
    for one in _two_thirds(of["telegram"]):
        _press(three["telegram"], shown, one, _reply(one))
        decisions.note(one, f"telegram:{ANA}", _reply(one))
    contested = [
        replace(one, place=str(CHANNEL)) for one in _two_thirds(of["telegram"])[:CONTESTED]
    ]
    for one in contested:
        other = "deny" if _reply(one) == "allow-once" else "allow-once"
        _press(three["discord"], shown, one, other)
        decisions.note(one, f"discord:{ANA}", other)
    for one in _two_thirds(of["discord"]):
        _press(three["discord"], shown, one, _reply(one))
        decisions.note(one, f"discord:{ANA}", _reply(one))
    _in_slack(three["slack"], shown, of["slack"], decisions)


def _in_slack(chat: Chat, shown: list[Copy], asked: list[Asked], decisions: Decisions) -> None:
    """Type decisions, which Slack keeps; presses made in the meantime fail visibly."""
    for one in asked[-REFUSED:]:
        assert _press(chat, shown, one, "allow-once")["failed"]
    chat.control("patience", seconds=[0.5] * 40)
    for one in asked[:TYPED]:
        words = f"approve {one.code} {_reply(one)}"
        chat.control("say", channel=one.place, user=SLACK_ANA, text=words)
        decisions.note(one, f"slack:{SLACK_ANA}", _reply(one))


def _of(asked: list[Asked], name: str) -> list[Asked]:
    here = {place.conversation for place in PLACES[name]}
    return [one for one in asked if one.place in here]


def _two_thirds(asked: list[Asked]) -> list[Asked]:
    return asked[: 2 * len(asked) // 3]


def _reply(one: Asked) -> str:
    return "deny" if int(one.key[1:]) % 4 == 0 else "allow-once"


def _press(chat: Chat, shown: list[Copy], one: Asked, reply: str) -> Any:
    wanted = f"{_LETTERS[reply]}:{one.id}"
    copy, button = next(
        (copy, button)
        for copy in shown
        if copy.place == one.place
        for button in copy.buttons
        if button.endswith(wanted)
    )
    return chat.press(copy, button)


def by_terminal(gateway: GatewayProcess, rest: list[Asked], decisions: Decisions) -> None:
    """Decide the rest from another terminal: some with `sayso approve`, the others as it does."""
    account = f"terminal:uid:{os.getuid()}"
    for one in rest[:BY_COMMAND]:
        done = gateway.cli("approve", one.code, _reply(one), own_session=True)
        assert 0 == done.returncode, done.stdout
        decisions.note(one, account, _reply(one))
    ledger = gateway.home / "decisions"
    ledger.touch()
    words = ["-m", "tests.faults.approver", str(gateway.home / "gateway.sock"), str(ledger)]
    with subprocess.Popen([sys.executable, *words], cwd=ROOT, start_new_session=True) as approver:
        wait_until("the terminal's answers", lambda: not waiting(gateway), pause=_PAUSE_S)
        wait_until("its ledger", lambda: len(_lines(ledger)) == len(rest) - BY_COMMAND)
        approver.kill()
    known = {one.id: one for one in rest}
    for line in _lines(ledger):
        approval, reply = line.split()
        decisions.note(known[approval], account, reply)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def waiting(gateway: GatewayProcess) -> set[str]:
    """Return the ids of the approvals that wait."""
    return {row["id"] for row in _call(gateway, "exec.approval.list", limit=1000)["pending"]}


def all_taken(gateway: GatewayProcess, decisions: Decisions) -> bool:
    """Return whether nothing waits that was decided while no gateway ran."""
    return not waiting(gateway) & decisions.taken.keys()


def open_surfaces(gateway: GatewayProcess) -> int:
    """Return how many copies known to the gateway are not in their final state."""
    return int(_call(gateway, "health.get")["openSurfaces"])


def _call(gateway: GatewayProcess, method: str, **params: int) -> dict[str, Any]:
    with Client(str(gateway.home / "gateway.sock")) as client:
        return client.call(method, params)


def resolved(gateway: GatewayProcess) -> Counter[str]:
    """Count the decisions in the journal, by approval."""
    records = map(json.loads, _lines(gateway.home / "audit.jsonl"))
    return Counter(record["run"] for record in records if record["kind"] == "resolve")


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_two_hundred_prompts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Killed with 200 prompts open: each decision counts once, each copy ends final."""
    home, path = tmp_path / "home", program(tmp_path / "bin")
    gateway = GatewayProcess(home)
    decisions = Decisions()
    with chats() as three:
        common = [{"channel": "discord", "to": str(CHANNEL)}]
        configure(home, three, [f"uid:{os.getuid()}"], mode="both", targets=common)
        remember(home, [place for each in PLACES.values() for place in each])
        gateway.start()
        try:
            asked = ask_all(gateway, path)
            wait_until("every prompt", lambda: all_shown(three, asked), 60, 0.2)
            gateway.kill()
            decide(three, asked, decisions)
            restarted = time.monotonic()
            gateway.start()
            wait_until("what was decided", lambda: all_taken(gateway, decisions), 40, _PAUSE_S)
            by_terminal(gateway, [one for one in asked if one.id not in decisions.taken], decisions)
            wait_until("every run", lambda: all_ended(gateway), 30, _PAUSE_S)
            wait_until("every copy", lambda: not open_surfaces(gateway), 60, _PAUSE_S)
            took = time.monotonic() - restarted
            rows = {row["id"]: row for row in gateway.json("history", "--limit", "1000")}
            found = judge(everywhere(asked), truth(rows), copies(three))
            journal = resolved(gateway)
        finally:
            gateway.stop()

    report(capsys, decisions, took, len(everywhere(asked)))
    assert PROMPTS == len(decisions.taken) == len(rows)
    assert [] == miscounted(decisions, rows)
    assert Counter(rows.keys()) == journal
    assert ([], [], set()) == (found.lost, found.wrong, found.duplicates)
    done = sorted(one.key for one in asked if rows[one.id]["state"] == "done")
    assert done == sorted(_lines(path.parent / "ran"))


def all_ended(gateway: GatewayProcess) -> bool:
    """Return whether nothing runs or waits to run."""
    rows = _call(gateway, "history.list", limit=1000)["history"]
    return {row["state"] for row in rows} <= {"done", "denied"}


def report(
    capsys: pytest.CaptureFixture[str], decisions: Decisions, took: float, shown: int
) -> None:
    """Print the figures."""
    counts = ", ".join(f"{name} {count}" for name, count in decisions.by_channel().items())
    with capsys.disabled():
        print(
            f"\n{PROMPTS} prompts in {shown} copies, killed; decisions taken: {counts} "
            f"({CONTESTED} contested); restart to the last final copy {took:.1f} s"
        )


def test_the_count_finds_a_lost_decision() -> None:
    """Negative control: an end that no one decided is reported, and a decided one is not."""
    decisions = Decisions({"a": [("slack:U1", "deny")], "b": [("slack:U1", "deny")]})
    rows = {
        "a": {"by": "slack:U1", "state": "denied"},
        "b": {"by": "telegram:2", "state": "denied"},
    }

    assert ["b"] == [words.partition(":")[0] for words in miscounted(decisions, rows)]
