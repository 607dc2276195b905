"""Compare what an export says of a decision with what its journal says."""

from typing import Any

import pytest

from core.audit.verify_export import Export, _decision, _votes, basis_of
from tests.support.tables import rows

Json = dict[str, Any]

SEEN: Json = {
    "key": "k",
    "surface": "prompt",
    "channel": "telegram",
    "place": "telegram:7",
    "message": "5",
    "account": "1",
    "name": "Ana",
    "hash": "h",
    "at_ms": 10,
    "waiting": True,
}
ANSWER: Json = {
    "state": "allowed",
    "reply": "allow-once",
    "by": "telegram:1",
    "digest": "d",
    "note": "",
    "decided_ms": 20,
    "deadline_ms": 30,
    "votes": ["telegram:1"],
}
LATER: Json = {**SEEN, "at_ms": 25}


def problems(
    one: Json, record: Json | None, rows: list[Json], vote: Json | None = None
) -> list[str]:
    """Return what is wrong with an approval, the journal's record of its end and its last vote."""
    export = Export(shown={"r": rows})
    if record is not None:
        export.resolved["r"] = record
    if vote is not None:
        export.voted["r"] = vote
    whole = {"id": "r", **ANSWER, "created_ms": 5, "quorum": 1, **one}
    return [*_decision(export, whole), *_votes(export, whole)]


@rows(
    "one, record, rows, found",
    [
        ({}, {}, [SEEN], []),
        ({}, {"shown": "0"}, [SEEN], ["r: what was shown is not what the journal has the sum of"]),
        (
            {},
            {"seen_ms": 11},
            [SEEN],
            ["r: whoever answered was not shown it when the journal says"],
        ),
        ({}, {"shown": None, "seen_ms": None}, [SEEN], []),
        ({}, {"shown": None}, [], []),
        (
            {},
            {"seen_ms": 25},
            [LATER],
            ["r was shown only after the answer to the person who gave it"],
        ),
        ({"created_ms": 21}, {}, [SEEN], ["r was answered before it was asked"]),
        ({"created_ms": 20}, {}, [SEEN], []),
        (
            {"deadline_ms": 20},
            {"deadline_ms": 20},
            [SEEN],
            ["r was answered after its deadline"],
        ),
        ({"quorum": 2}, {}, [SEEN], ["r needed 2 people, 1 allowed it"]),
        ({"state": "denied", "quorum": 2}, {"state": "denied"}, [SEEN], []),
        ({"state": "expired", "deadline_ms": 9}, {"state": "expired", "deadline_ms": 9}, [], []),
        ({"by": None, "deadline_ms": 9}, {"by": None, "deadline_ms": 9}, [], []),
        ({"votes": []}, {}, [SEEN], ["r: the journal has other votes"]),
        ({"note": "x"}, {}, [SEEN], ["r: the journal has another note"]),
        ({"decided_ms": 21}, {}, [SEEN], ["r: the journal has another decided_ms"]),
        (
            {"deadline_ms": 9, "votes": [], "quorum": 2},
            {"with": "q"},
            [SEEN],
            [],
        ),
        ({"by": "x"}, {"with": "q"}, [SEEN], ["r: the journal has another by"]),
    ],
)
def test_a_decision_is_what_the_journal_has(
    one: Json, record: Json, rows: list[Json], found: list[str]
) -> None:
    """Old journals lack the sum of what was shown; an answer shared with another has its basis."""
    written = {**ANSWER, "shown": basis_of(rows), "seen_ms": 10, **record}

    assert problems(one, written, rows) == found


@pytest.mark.parametrize(
    ("state", "record", "found"),
    [
        ("pending", None, []),
        ("expired", None, ["r is expired, the journal does not say so"]),
        ("expired", {"state": "expired"}, []),
        ("denied", {"state": "expired"}, ["r: the journal has another state"]),
    ],
)
def test_silence_has_a_state_alone(state: str, record: Json | None, found: list[str]) -> None:
    """Nobody answered, so nothing else can be compared."""
    assert problems({"state": state}, record, []) == found


@pytest.mark.parametrize(
    ("vote", "record", "found"),
    [
        ({"quorum": 1, "votes": ["telegram:1"]}, {"state": "allowed"}, []),
        ({"quorum": 1, "votes": []}, {"state": "allowed"}, []),
        ({"quorum": 2, "votes": []}, {"state": "allowed"}, ["r: the journal has another quorum"]),
        (
            {"quorum": 1, "votes": ["x"]},
            {"state": "allowed"},
            ["r: votes of the journal are missing"],
        ),
        ({"quorum": 1, "votes": ["x"]}, {**ANSWER, "shown": None, "seen_ms": None}, []),
    ],
)
def test_before_a_decision_no_vote_is_missing(vote: Json, record: Json, found: list[str]) -> None:
    """One may have been taken back by the decision, and then the decision has those that count."""
    assert problems({}, record, [SEEN], vote) == found
