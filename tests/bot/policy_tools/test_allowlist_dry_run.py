"""Test `sayso approvals allowlist add --dry-run`, and idle entries in the other commands."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from bot.doctor.installation import examine
from bot.health.check import Verdict
from core.model.approval import ApprovalReply
from tests.bot.policy_tools.past import home, remember, sayso, write

ONCE, DENY = ApprovalReply.ALLOW_ONCE, ApprovalReply.DENY
CONFIG: dict[str, Any] = {"tools": {"exec": {"host": "gateway", "security": "allowlist"}}}
IDLE = {**CONFIG, "approvals": {"exec": {"allowAlwaysIdle": 30}}}
LISTED = {"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/uname"}]}}}
ADD = ("approvals", "allowlist", "add", "--dry-run")


async def test_an_entry_is_tried_before_it_is_added(tmp_path: Path) -> None:
    """What it would have matched is reported in words and numbers; nothing is written."""
    state = home(tmp_path, CONFIG)
    history = [("rm -rf build", DENY), ("rm -rf build", ONCE), ("rm -rf src", ONCE), ("ls", None)]
    await remember(f"sqlite:///{state}/state.db", tmp_path, history, ("rm -rf build",))

    done = sayso(state, *ADD, "/usr/bin/rm", "--argv", "-rf", "build")
    told = json.loads(sayso(state, *ADD, "--json", "/usr/bin/rm", "--argv", "-rf", "build").stdout)
    never = sayso(state, *ADD, "rm")

    words = "would have matched 3 of the last 5 commands, 1 of them denied: rm -rf build"
    assert f"/usr/bin/rm -rf build exactly {words}; nothing was added\n" == done.stdout
    assert (5, 3, ["rm -rf build"]) == (told["looked"], told["matched"], told["denied"])
    assert 0 != never.returncode
    assert "would not be added" in never.stderr
    assert not (state / "exec-approvals.json").exists()


@pytest.mark.parametrize(("days", "counts"), [(29, True), (31, False)])
def test_idle_entries_are_told(tmp_path: Path, days: int, counts: bool) -> None:
    """`policy explain` and the doctor judge as the gateway does and name what is idle."""
    state = home(tmp_path, IDLE, LISTED)
    at_ms = round(time.time() * 1000) - days * 86_400_000
    seen = {"version": 1, "agents": {"main": {"/usr/bin/uname": at_ms}}}
    write(state / "exec-approvals.seen.json", seen)

    explained = sayso(state, "policy", "explain", "--", "uname").stdout
    told = json.loads(sayso(state, "policy", "explain", "--json", "--", "uname").stdout)
    warned = [
        one.detail
        for one in examine({"SAYSO_HOME": str(state)})
        if one.verdict is Verdict.WARN and "has not been used since" in one.detail
    ]

    assert ("allow" if counts else "ask") == told["decision"]
    assert (0 if counts else 1) == len(told["idle"]) == len(warned)
    assert counts == ("idle entry: '/usr/bin/uname' has not been used since" not in explained)


def test_the_doctor_warns_of_open_paths(tmp_path: Path) -> None:
    """A rule that lets an agent write in any folder is reported."""
    rule = {"match": {"argv": ["touch", "<PATH>"]}, "decide": "allow"}
    state = home(tmp_path, {"tools": {"exec": {"rules": [rule]}}})

    findings = [one for one in examine({"SAYSO_HOME": str(state)}) if one.subject == "rules"]

    assert [Verdict.WARN] == [one.verdict for one in findings]
    assert "tools.exec.roots" in findings[0].detail


@pytest.mark.parametrize("entry", [{"pattern": "/usr/bin/uname"}, {"id": "a"}])
def test_adding_an_idle_entry_lets_it_count_again(tmp_path: Path, entry: dict[str, str]) -> None:
    """Another id reaches the gateway, and `policy explain` knows before the gateway has judged."""
    at_ms = round(time.time() * 1000) - 31 * 86_400_000
    listed = {"pattern": "/usr/bin/uname", "lastUsedAt": at_ms, **entry}
    state = home(tmp_path, IDLE, {"version": 1, "agents": {"main": {"allowlist": [listed]}}})
    seen = {"main": {"/usr/bin/uname": at_ms, "a": at_ms}}
    write(state / "exec-approvals.seen.json", {"version": 1, "agents": seen})

    before = json.loads(sayso(state, "policy", "explain", "--json", "--", "uname").stdout)
    added = sayso(state, "approvals", "allowlist", "add", "--json", "/usr/bin/uname")
    after = json.loads(sayso(state, "policy", "explain", "--json", "--", "uname").stdout)

    assert ["ask", "allow"] == [before["decision"], after["decision"]]
    assert json.loads(added.stdout)["id"] not in {None, "a"}


def test_only_an_idle_entry_that_would_cover_the_command_is_told(tmp_path: Path) -> None:
    """An entry with exact arguments says nothing about others."""
    listed = {"pattern": "/usr/bin/uname", "argv": ["-m"], "id": "a"}
    state = home(tmp_path, IDLE, {"version": 1, "agents": {"main": {"allowlist": [listed]}}})
    write(state / "exec-approvals.seen.json", {"version": 1, "agents": {"main": {"a": 1}}})

    told = [
        json.loads(sayso(state, "policy", "explain", "--json", "--", *words).stdout)["idle"]
        for words in (("uname", "-m"), ("uname", "-r"))
    ]

    assert [1, 0] == [len(one) for one in told]


def test_what_never_counts_is_told_by_the_doctor(tmp_path: Path) -> None:
    """A manual entry that hides what it runs, and a rule that allows such a program."""
    rule = {"match": {"argv": ["sudo", "ls"]}, "decide": "allow"}
    listed = {"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/env"}]}}}
    state = home(tmp_path, {"tools": {"exec": {"rules": [rule]}}}, listed)

    warned = [one.detail for one in examine({"SAYSO_HOME": str(state)}) if one.verdict == "warn"]

    assert 1 == sum("'/usr/bin/env' never counts: env is a wrapper" in one for one in warned)
    assert 1 == sum("tools.exec.rules[0] never takes effect" in one for one in warned)
