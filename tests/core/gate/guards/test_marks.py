"""Recognise a marked command and nothing that only resembles it."""

from collections.abc import Callable

import pytest

from core.gate.guards.marks import Mark, Marks
from core.model.decision import Decision
from tests.support.gate import request
from tests.support.tables import rows


@rows(
    "vector, found",
    [
        (lambda mark: list(mark.argv), True),
        (lambda mark: mark.argv, True),
        (lambda mark: [*mark.argv, mark.nonce], False),
        (lambda mark: ["/usr/bin/rm", mark.argv[1]], False),
        (lambda mark: [mark.argv[0], f"/elsewhere/{mark.nonce}"], False),
        (lambda mark: [mark.argv[0], "x"], False),
        (lambda mark: [mark.argv[0], 7], False),
        (lambda mark: [mark.argv[0], [mark.nonce]], False),
        (lambda mark: mark.line, False),
        (lambda mark: {"argv": mark.argv}, False),
        (lambda _: [], False),
        (lambda _: None, False),
    ],
)
def test_only_the_exact_vector_is_marked(vector: Callable[[Mark], object], *, found: bool) -> None:
    """Params of a tool may be anything: words, numbers, lists."""
    marks = Marks()
    mark = marks.draw("tool", "/usr/bin/touch", "/home/gate-proof")

    assert marks.of_vector(vector(mark)) is (mark if found else None)


@pytest.mark.parametrize("spelled", ["line", "vector"])
def test_a_request_is_marked_until_it_was_judged(spelled: str) -> None:
    """As a line or as a vector; then its number is anybody's."""
    marks = Marks()
    assert marks.of(request("id")) is None
    mark = marks.draw("socket", "/usr/bin/touch", "/home/gate-proof")
    line = spelled == "line"
    wanted = request(mark.line) if line else request(argv=mark.argv)
    found = marks.of(wanted)
    mark.judged = Decision.ASK

    assert found is mark
    assert marks.of(wanted) is None
    assert marks.of_vector(list(mark.argv)) is None
