"""Put the steps of a request into words."""

from typing import Any

import pytest

from bot.page.records.story import StoryEvent, _decided, _ran, _read, _shown
from core.store.views.status import RunTimes

COPY = {"channel": "slack", "to": "C1", "state": "sent", "why": ""}
LOOK = {
    "by": "slack:U1",
    "name": "Ana",
    "surface": "answered",
    "channel": "slack",
    "place": "C1",
    "atMs": 3,
}
KNOWN = {
    "votes": [],
    "state": "allowed",
    "decision": "allow-once",
    "by": "ana",
    "note": "",
    "terms": "",
    "atMs": 1500,
    "createdMs": 0,
}


@pytest.mark.parametrize(
    ("copies", "at_ms", "lines"),
    [
        ([], None, ("on this page only",)),
        ([COPY], 7, ("slack C1 was delivered",)),
        (
            [{**COPY, "state": "dropped", "why": "gone"}, {**COPY, "to": ""}],
            None,
            ("slack C1 was not delivered: gone", "slack was delivered"),
        ),
        ([{**COPY, "state": "odd"}], None, ("slack C1 odd",)),
    ],
)
def test_where_it_was_shown(
    copies: list[dict[str, Any]], at_ms: int | None, lines: tuple[str, ...]
) -> None:
    """Each copy, with what became of it; without any it is on the page alone."""
    assert _shown(copies, at_ms) == StoryEvent("Shown", at_ms, lines)


@pytest.mark.parametrize(
    ("looks", "took", "lines"),
    [
        ([], None, None),
        ([{**LOOK, "by": ""}], None, None),
        ([LOOK], None, ("Ana answered in slack C1",)),
        (
            [{**LOOK, "name": "", "surface": "list", "place": ""}],
            1234,
            ("slack:U1 saw it in a list", "decided 1.2 s after it was first shown there"),
        ),
        ([LOOK], 0, ("Ana answered in slack C1", "decided 0.0 s after it was first shown there")),
    ],
)
def test_who_read_it(
    looks: list[dict[str, Any]], took: int | None, lines: tuple[str, ...] | None
) -> None:
    """By name if there is one; copies that nobody is known to have read are no reading."""
    assert _read(looks, took) == ([] if lines is None else [StoryEvent("Read", 3, lines)])


LATE = "1.5 s after it was asked"


@pytest.mark.parametrize(
    ("row", "known", "steps"),
    [
        (
            {"state": "denied", "how": "not listed"},
            None,
            [StoryEvent("Decided by policy", None, ("not listed",), "denied")],
        ),
        (
            {"state": "done", "how": "exit code 0"},
            None,
            [StoryEvent("Decided by policy", None, ("allowed without asking",))],
        ),
        (
            {},
            {"state": "pending", "votes": ["bob"]},
            [
                StoryEvent("Counted", None, ("bob allowed it",)),
                StoryEvent("Waiting for an answer", kind="open"),
            ],
        ),
        ({}, {}, [StoryEvent("Decided: allow-once", 1500, ("by ana", LATE), "allowed")]),
        (
            {},
            {"terms": "for 10 min", "note": "ok"},
            [
                StoryEvent(
                    "Decided: allow-once, for 10 min", 1500, ("by ana", "“ok”", LATE), "allowed"
                )
            ],
        ),
        (
            {},
            {"state": "expired", "decision": None, "by": None},
            [StoryEvent("Decided: expired", 1500, (LATE,), "expired")],
        ),
    ],
)
def test_who_decided(
    row: dict[str, Any], known: dict[str, Any] | None, steps: list[StoryEvent]
) -> None:
    """The policy, or people; silence is named by what it led to."""
    assert _decided(row, None if known is None else {**KNOWN, **known}) == steps


@pytest.mark.parametrize(
    ("times", "code", "steps"),
    [
        (None, None, []),
        (RunTimes(1, None, None), None, [StoryEvent("Queued", 1, kind="open")]),
        (RunTimes(1, 2, None), None, [StoryEvent("Started", 2), StoryEvent("Runs", kind="open")]),
        (RunTimes(1, 2, 3), 0, [StoryEvent("Started", 2), StoryEvent("Ended", 3, ("so",), "done")]),
        (
            RunTimes(1, 2, 3),
            1,
            [StoryEvent("Started", 2), StoryEvent("Ended", 3, ("so",), "failed")],
        ),
        (RunTimes(1, None, 3), None, [StoryEvent("Ended", 3, ("so",), "failed")]),
    ],
)
def test_how_it_ran(times: RunTimes | None, code: int | None, steps: list[StoryEvent]) -> None:
    """A run may have ended without having started."""
    assert _ran({"exitCode": code, "how": "so"}, times) == steps
