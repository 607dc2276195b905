"""Steer the machine to where bugs are: what is open, deadlines, copies that diverge or are late.

Rules that draw any question at any time mostly meet one that is over. These draw among those that
can still move, and combine what a bug needs; the free rules stay, for what no one thought of.
"""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.core.store.model_machine import StoreMachine
from tests.core.store.reference_model import SESSIONS, Asked
from tests.support.store_records import ALWAYS, DENY, ONCE

_ANY = st.integers(0, 7)
_REPLIES = st.sampled_from([ONCE, ALWAYS, DENY])


class DirectedMachine(StoreMachine):
    """The machine with rules that seldom do nothing."""

    # ---- answers

    @precondition(lambda self: self.pending())
    @rule(number=_ANY, reply=_REPLIES, key=st.sampled_from(["a", "b"]))
    def answer_what_waits(self, number: int, reply: Any, key: str) -> None:
        """Answer a question that has no answer yet."""
        self.answer(_one_of(self.pending(), number).id, reply, key)

    @precondition(lambda self: self.leaders())
    @rule(number=_ANY, reply=_REPLIES)
    def answer_what_others_wait_for(self, number: int, reply: Any) -> None:
        """Answer a question with identical ones waiting behind it."""
        self.answer(_one_of(self.leaders(), number).id, reply, None)

    @precondition(lambda self: self.exact and self.not_due())
    @rule(number=_ANY, early=st.sampled_from([0, 0, 1]), reply=_REPLIES)
    def answer_at_the_deadline(self, number: int, early: int, reply: Any) -> None:
        """Answer at the very millisecond of the deadline, or one before it."""
        asked = _one_of(self.not_due(), number)
        self.wait_until(asked.deadline - early)
        self.answer(asked.id, reply, None)

    # ---- time

    @precondition(lambda self: self.exact and self.not_due())
    @rule(number=_ANY, early=st.sampled_from([0, 0, 1]))
    def sweep_at_the_deadline(self, number: int, early: int) -> None:
        """Expire at the very millisecond of a deadline, or one before it."""
        self.wait_until(_one_of(self.not_due(), number).deadline - early)
        self.sweep()

    @precondition(lambda self: self.exact and self.reminding())
    @rule(number=_ANY, shown=st.booleans())
    def remind_at_half_time(self, number: int, shown: bool) -> None:
        """Remind at half time, twice: once if people see the question, never if they do not."""
        asked = _one_of(self.reminding(), number)
        if shown:
            self.send(["sent"] * 6)
        self.wait_until(asked.remind_at or self.world.now + asked.timeout // 2)
        self.remind()
        self.remind()

    @precondition(lambda self: self.exact)
    @rule(ms=st.integers(1, 60_000))
    def sweep_while_the_clock_is_back(self, ms: int) -> None:
        """Sweep before and after the wall clock is set back, and when it has half caught up."""
        self.clock_steps_back(ms)
        self.sweep()
        self.wait_until(self.db.now() + ms // 2)
        self.sweep()

    # ---- runs and sessions

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

    @rule(session=st.sampled_from(SESSIONS), less=st.integers(1, 3))
    def ack_up_and_down(self, session: str, less: int) -> None:
        """Acknowledge everything, then less, then beyond."""
        last = len(self.world.told[session])
        for seq in (last, max(0, last - less), last + less):
            self.ack(session, seq)

    # ---- copies

    @rule(seconds=st.integers(1, 9), copies=st.integers(2, 4))
    def copies_arrive_apart(self, seconds: int, copies: int) -> None:
        """The copies of a question arrive one after another, with time between them."""
        for _ in range(copies):
            self.send(["sent"])
            self.wait_until(self.db.now() + seconds * 1000)

    @rule(reply=st.sampled_from([ONCE, ALWAYS, DENY, None]))
    def a_copy_arrives_too_late(self, reply: Any) -> None:
        """Before the platform takes it, another one brought an answer, or the time was up."""
        self.send(["late"])
        if not self.slow:
            return
        asked = self.world.asked[self.slow[0].approval_id]
        if reply is not None:
            self.answer(asked.id, reply, None)
        elif self.exact:
            self.wait_until(asked.deadline)
        self.slow_platform_answers(sent=True)

    # ---- what can still move

    def not_due(self) -> list[Asked]:
        """Return what can still be answered."""
        return [one for one in self.pending() if one.deadline > self.world.now]

    def leaders(self) -> list[Asked]:
        """Return the pending questions with others waiting behind them."""
        return [one for one in self.not_due() if self.behind(one)]

    def reminding(self) -> list[Asked]:
        """Return what is due for a reminder, now or once it is shown."""
        return [one for one in self.pending() if one.reminds and one.behind is None]

    def with_run(self, state: str) -> list[Asked]:
        """Return the questions whose runs are in this state."""
        return [one for one in self.world.asked.values() if one.run == state]

    def wait_until(self, ms: int) -> None:
        """Let time pass until a moment of the wall clock; none passes if it is over."""
        self.db.advance(max(0, ms - self.db.now()))
        self.world.now = max(self.world.now, self.db.now())


def _one_of(some: list[Asked], number: int) -> Asked:
    return some[number % len(some)]
