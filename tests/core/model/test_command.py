"""Find in a planned command what runs."""

from dataclasses import replace

import pytest

from core.model.command import UNROUTED, AgentPart, AgentPartKind, ErrorTo, Routing
from core.model.identity import ApprovalId
from core.model.policy import ExecPolicy
from core.model.result import Finished, Output, Stream
from tests.support.plans import command

LS = command("/usr/bin/ls", "-l")
INNER = replace(LS, inner=(replace(LS, argv=("a",)), replace(LS, argv=("b",), inner=(LS,))))


def test_what_runs_is_what_was_bound() -> None:
    """By its path for a wrapper, where the program was found."""
    bound = replace(LS, bound=("ls", "x"))

    assert (LS.vector, bound.vector) == (("/usr/bin/ls", "-l"), ("ls", "x"))
    assert bound.by_path == ("/usr/bin/ls", "x")
    assert replace(bound, executable=None).by_path == ("ls", "x")


def test_what_a_wrapper_does_is_what_is_in_it() -> None:
    """The innermost do the work, and all are there."""
    assert LS.effective == LS.all_of_it == (LS,)
    assert INNER.effective == (INNER.inner[0], LS)
    assert INNER.all_of_it == (INNER, INNER.inner[0], INNER.inner[1], LS)


@pytest.mark.parametrize("kind", AgentPartKind)
def test_a_terminal_is_for_a_person(kind: AgentPartKind) -> None:
    """Nobody opens one unasked unless the configuration says so."""
    part = AgentPart(kind)

    assert part.opens_terminal is (kind is AgentPartKind.TERMINAL)
    assert not part.unasked


def test_nothing_is_set_that_was_not_said() -> None:
    """Neither for streams, nor for an end, nor against asking."""
    assert UNROUTED == Routing(null_input=False, null_output=False, error=ErrorTo.RUN)
    assert not Output().truncated
    done = Finished(ApprovalId("1" * 32), 0, None, Output(), 1)
    assert not done.timed_out
    assert not done.cancelled
    assert not ExecPolicy().skip_approvals
    assert ExecPolicy(sources={"ask": "x"}) == ExecPolicy()
    assert [Stream(b"ab", total).truncated for total in (2, 3)] == [False, True]
