"""Know since when somebody could read what they answered."""

from dataclasses import replace

from core.model.evidence import Showing, Surface, seen_since
from core.model.identity import Actor
from tests.support.tables import rows

ANA = Actor("slack", "U1")
COPY = Showing(
    key="k",
    surface=Surface.MESSAGE,
    channel="slack",
    place="C1",
    message="5",
    account="",
    name="",
    hash="h",
    at_ms=10,
    waiting=True,
)
ANSWER = replace(COPY, surface=Surface.ANSWERED, account="U1", at_ms=20)
LIST = replace(COPY, surface=Surface.LIST, account="U1", place="", message="", at_ms=30)


@rows(
    "showings, since",
    [
        ([], None),
        ([COPY], None),
        ([LIST], 30),
        ([ANSWER], 20),
        ([COPY, ANSWER], 10),
        ([LIST, ANSWER, COPY], 10),
        ([replace(COPY, place="C2"), ANSWER], 20),
        ([replace(COPY, place="C1/7"), replace(ANSWER, place="C1/8")], 10),
        ([replace(ANSWER, message="")], None),
        ([COPY, replace(ANSWER, message="")], 10),
        ([replace(COPY, account="U2"), ANSWER], 20),
        ([COPY, replace(ANSWER, account="U2")], None),
        ([COPY, replace(LIST, place="C1")], 30),
        ([replace(LIST, waiting=False)], None),
        ([replace(LIST, channel="discord")], None),
    ],
)
def test_since_when_it_could_be_read(showings: list[Showing], since: int | None) -> None:
    """A copy counts in the chat of the answer, what one opened oneself anywhere."""
    assert seen_since(showings, ANA) == since
