"""Offer what allow-always would store if it would suffice, and only then."""

import pytest

from core.model.command import PlannedCommand
from core.model.decision import Decision, Promise
from core.policy.judge.evaluate import evaluate
from tests.support.plans import LISTED, command, listed, plan_of, wrapped


@pytest.mark.parametrize(
    ("asked", "promise"),
    [
        (wrapped("timeout", "5", "cal"), (Promise("/usr/bin/cal"),)),
        (wrapped("xargs", "cal"), (Promise("/usr/bin/cal"),)),
        (wrapped("xargs", "git", "log"), ()),
        (wrapped("xargs", "sh", "x.sh"), ()),
        (command("/srv/app/t*l"), ()),
        (command("/srv/app/tool"), (Promise("/srv/app/tool", None, ()),)),
    ],
    ids=lambda one: " ".join(one.argv) if isinstance(one, PlannedCommand) else "",
)
def test_what_is_offered_suffices(asked: PlannedCommand, promise: tuple[Promise, ...]) -> None:
    """Not for a name that would be read as a pattern, nor if further words may be code."""
    found = evaluate(plan_of(asked), LISTED, listed())

    assert (found.decision, found.promise) == (Decision.ASK, promise)
    if promise:
        assert evaluate(plan_of(asked), LISTED, listed(*promise)).decision is Decision.ALLOW
