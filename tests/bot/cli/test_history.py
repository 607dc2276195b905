"""Show one request in full: what was asked, who decided, and what nobody was asked about."""

from typing import Any

import pytest

from bot.cli.history import _whole, nothing

ROW: dict[str, Any] = {
    "code": "ABCDEF",
    "how": "exit code 0",
    "command": "id",
    "atMs": 0,
    "agent": "main",
    "session": "s",
    "task": None,
    "approval": None,
    "copies": (),
    "evidence": None,
    "state": "done",
    "by": None,
    "terms": "",
    "decision": None,
    "id": "abcdef",
}
ASKED = {"requester": "uid:0", "cwd": "/srv", "votes": [], "resolvedPaths": []}


@pytest.mark.parametrize(
    ("row", "decision"),
    [
        ({}, "by policy alone; nobody was asked"),
        ({"approval": ASKED}, None),
        ({"approval": ASKED, "by": "ana", "decision": "allow-once"}, "allowed once by ana"),
        ({"approval": ASKED, "by": "ana", "terms": "for 10 min"}, "allowed for 10 min by ana"),
        ({"approval": ASKED, "by": "ana", "decision": "odd"}, "decided by ana"),
    ],
)
def test_who_decided(row: dict[str, Any], decision: str | None) -> None:
    """Of what was asked and not answered, nothing is said."""
    text = _whole({**ROW, **row})
    told = [line for line in text.splitlines() if line.split()[:1] == ["decision"]]

    assert [" ".join(line.split()[1:]) for line in told] == ([decision] if decision else [])
    assert text.startswith("ABCDEF  exit code 0\n")


def test_what_a_command_does_beyond_its_words_is_listed() -> None:
    """One line for each; nothing where there is none."""
    told = _whole({**ROW, "approval": {**ASKED, "also": ["it runs a", "it runs b"]}})

    assert "also" not in _whole({**ROW, "approval": {**ASKED, "also": []}})
    assert [one.split()[-1] for one in told.splitlines() if "it runs" in one] == ["a", "b"]


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"limit": 20}, "No requests yet."),
        ({"limit": 20, "agent": "coder"}, "No such requests."),
        ({"limit": 20, "sinceMs": 1}, "No such requests."),
        ({"limit": 20, "state": "finished", "grep": "rm"}, "No such requests."),
    ],
)
def test_nothing_asked_is_told_from_nothing_found(filters: dict[str, object], said: str) -> None:
    """A newcomer has looked for nothing in particular."""
    assert nothing(filters) == f"{said}\n"
