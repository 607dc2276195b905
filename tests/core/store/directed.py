"""Steer the machine to where bugs live: to what is open, to deadlines, to copies that come apart.

Rules that draw any question at any time mostly meet one that is over. These draw among those that
can still move, and put together what a bug needs; the free rules stay, for what nobody thought of.
"""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.core.store.making import ALWAYS, DENY, ONCE
from tests.core.store.model import StoreMachine
from tests.core.store.world import Asked

_ANY = st.integers(0, 7)


class DirectedMachine(StoreMachine):
    """The machine with rules that seldom do nothing."""

    @precondition(lambda self: self.pending())
    @rule(
        number=_ANY, reply=st.sampled_from([ONCE, ALWAYS, DENY]), key=st.sampled_from(["a", "b"])
    )
    def answer_what_waits(self, number: int, reply: Any, key: str) -> None:
        """Answer one of those that nobody has answered."""
        self.answer(_one_of(self.pending(), number).id, reply, key)

    @precondition(lambda self: self.with_run("queued"))
    @rule(number=_ANY)
    def start_what_is_allowed(self, number: int) -> None:
        """Claim a run that may start."""
        self.start(_one_of(self.with_run("queued"), number).id)

    @precondition(lambda self: self.with_run("started"))
    @rule(number=_ANY)
    def finish_what_runs(self, number: int) -> None:
        """End a run that started."""
        self.finish(_one_of(self.with_run("started"), number).id, refused=False)

    @precondition(lambda self: self.exact and self.not_due())
    @rule(
        number=_ANY,
        early=st.integers(0, 1),
        then=st.sampled_from(["answer", "sweep"]),
        reply=st.sampled_from([ONCE, ALWAYS, DENY]),
    )
    def meet_a_deadline(self, number: int, early: int, then: str, reply: Any) -> None:
        """Answer or sweep at the very millisecond of a deadline, or one before it."""
        asked = _one_of(self.not_due(), number)
        self.pass_ms(asked.deadline - early - self.db.now())
        if then == "answer":
            self.answer(asked.id, reply, None)
        else:
            self.sweep()

    @rule(seconds=st.integers(1, 9), copies=st.integers(2, 4))
    def copies_arrive_apart(self, seconds: int, copies: int) -> None:
        """The copies of a question arrive one after another, with time between them."""
        for _ in range(copies):
            self.send(["sent"])
            self.pass_ms(seconds * 1000)

    def not_due(self) -> list[Asked]:
        """Return what can still be answered."""
        return [one for one in self.pending() if one.deadline > self.world.now]

    def with_run(self, state: str) -> list[Asked]:
        """Return the questions whose runs are in this state."""
        return [one for one in self.world.asked.values() if one.run == state]

    def pass_ms(self, ms: int) -> None:
        """Let time pass."""
        self.db.advance(ms)
        self.world.now = max(self.world.now, self.db.now())


def _one_of(some: list[Asked], number: int) -> Asked:
    return some[number % len(some)]
