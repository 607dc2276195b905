"""Model the store in plain Python, and compare the two.

The model knows invariants 5 to 8 and nothing of SQL. The machine draws any order of questions,
answers, sweeps, sends, crashes and clock steps, and compares after every step.
"""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)
from sqlalchemy import Connection

from core.model.approval import ApprovalState
from core.model.decision import DenialReason
from core.model.identity import Actor, ApprovalId
from tests.core.store.platforms import SendingStore
from tests.core.store.reference_model import CLAIM_MS, SENDERS, SESSIONS, Asked
from tests.support.store_records import ALWAYS, DENY, GROUP, ONCE, PAGE, draft, finished


class StoreMachine(SendingStore):
    """Draw what happens to the store, and compare it with the model after every step."""

    ids = Bundle("ids")

    @initialize(target=ids)
    def begin(self) -> Any:
        """Begin with questions, three of them alike, so that every step has something to do."""
        alike = [self.ask("s1", tens, True, (GROUP, PAGE), "same") for tens in (2, 3, 1)]
        return multiple(self.ask("s1", 3, True, (GROUP, PAGE), None), *alike)

    # ---- time

    @rule(steps=st.integers(1, 4), exactly=st.booleans())
    def time_passes(self, steps: int, exactly: bool) -> None:
        """Ten seconds at a time, or to the very millisecond of the next deadline."""
        ahead = steps * 10_000
        if self.exact and exactly:
            due = [one.deadline for one in self.pending() if one.deadline > self.world.now]
            ahead = min(due, default=self.world.now + ahead) - self.db.now()
        self.db.advance(ahead)
        self.world.now = max(self.world.now, self.db.now())

    @precondition(lambda self: self.exact)
    @rule(ms=st.integers(1, 200_000))
    def clock_steps_back(self, ms: int) -> None:
        """The wall clock is set back: for the store no time passes, and none is undone."""
        self.db.run(self.approvals.expire_due, 0)  # the store has seen the time before the step
        self.db.advance(-ms)

    @rule()
    def crash(self) -> None:
        """The gateway dies: its runs become unknown, its claims are reverted.

        A clock that was set back is corrected first: over a restart the mark may be seconds old,
        which another test bounds.
        """
        self.db.advance(max(0, self.world.now - self.db.now()) if self.exact else 0)
        self.db.crash()
        self.count += 1
        self.boot = f"boot-{self.count}"
        self.db.run(self.outbox.reconcile)
        if self.exact:  # PostgreSQL waits for a heartbeat to end; the contract tests show that
            lost = self.db.run(self.recovery.recover, self.boot)
            started = [one for one in self.world.asked.values() if one.run == "started"]
            assert {run.id for run in lost} == {one.id for one in started}
            for asked in sorted(started, key=lambda one: [run.id for run in lost].index(one.id)):
                asked.run = "over"
                self.hear(asked, f"Exec finished (node=gateway, id={asked.id}, code=unknown)")

    # ---- questions and answers

    @rule(
        target=ids,
        session=st.sampled_from(SESSIONS),
        tens=st.integers(1, 5),
        remind=st.booleans(),
        places=st.sampled_from([(), (GROUP,), (GROUP, PAGE)]),
        digest=st.sampled_from([None, "same", "same"]),
    )
    def ask(
        self, session: str, tens: int, remind: bool, places: tuple[Any, ...], digest: str | None
    ) -> ApprovalId:
        """Ask; off the ten-second grid if the clock runs, so that no deadline is a tie."""
        timeout = tens * 10_000 + (0 if self.exact else 4_000)
        question = draft(
            self.next_id(),
            timeout_ms=timeout,
            reminders=(timeout // 2,) if remind else (),
            targets=places,
            session=session,
            digest=f"{digest}-{session}" if digest else None,
        )
        made = self.db.run(self.approvals.create, question)
        assert made.fresh
        same = question.plan.digest
        asked = Asked(question.id, session, timeout, remind, bool(places), same)
        # Two questions of one moment of a stopped clock are told apart by their ids.
        asked.created = (self.world.now, question.id if self.exact else str(self.world.now))
        leader = self.leader_for(same)
        if leader is None:
            self.begin_clock(asked)
        else:
            self.follow(asked, leader)
        self.world.asked[question.id] = asked
        return question.id

    @rule(
        one=ids, reply=st.sampled_from([ONCE, ALWAYS, DENY]), key=st.sampled_from(["a", "b", None])
    )
    def answer(self, one: ApprovalId, reply: Any, key: str | None) -> None:
        """Answer, perhaps late, perhaps a second time, perhaps the same message again."""
        asked = self.world.asked[one]
        ballot = self.approvals.Ballot(one, reply, Actor("t", key or "z"), key)
        got = self.db.run(self.approvals.answer, ballot)
        if key in asked.inbound:
            assert (got.repeated, got.won) == (True, asked.inbound[key])
        else:
            won = asked.state is ApprovalState.PENDING and self.world.now < asked.deadline
            self.end(
                asked,
                ApprovalState.DENIED if reply is DENY else ApprovalState.ALLOWED,
                by=key or "z",
                always=reply is ALWAYS,
            )
            assert (got.repeated, got.won) == (False, won)
            asked.owed |= won and reply is ALWAYS
            if key is not None:
                asked.inbound[key] = won
                again = self.db.run(self.approvals.answer, ballot)
                assert (again.repeated, again.won) == (True, won)
        self.same(asked, got.approval)

    @rule(one=ids)
    def cancel(self, one: ApprovalId) -> None:
        """The agent went away."""
        asked = self.world.asked[one]
        got = self.db.run(self.approvals.cancel, one, "")
        self.end(asked, ApprovalState.CANCELLED)
        self.same(asked, got.approval)

    @rule()
    def sweep(self) -> None:
        """Expire what is due: all of it, nothing else."""
        due = [one for one in self.pending() if one.deadline <= self.world.now]
        behind = [one for leader in due for one in self.behind(leader)]
        ended = self.db.run(self.approvals.expire_due, 100)
        assert set(ended) == {one.id for one in (*due, *behind)}
        for one in ended:
            if self.world.asked[one].state is ApprovalState.PENDING:
                self.finish_one(self.world.asked[one], ApprovalState.EXPIRED, None)

    @rule()
    def remind(self) -> None:
        """Remind what is due, once."""
        due = [
            one for one in self.pending() if (one.remind_at or self.world.now + 1) <= self.world.now
        ]
        assert self.db.run(self.approvals.remind_due, 100) == len(due)
        for one in due:
            one.remind_at = None

    @rule(one=ids)
    def remember(self, one: ApprovalId) -> None:
        """The approvals file has the patterns of every allow-always."""
        owed = {approval.id for approval in self.db.run(self.approvals.unremembered, 100)}
        assert owed == {asked.id for asked in self.world.asked.values() if asked.owed}
        self.db.run(self.approvals.mark_remembered, one)
        self.world.asked[one].owed = False

    # ---- runs

    @rule(one=ids)
    def start(self, one: ApprovalId) -> None:
        """Claim a run: only an approved one, only once."""
        asked = self.world.asked[one]
        assert self.db.run(self.runs.start, one, self.boot) is (asked.run == "queued")
        if asked.run == "queued":
            asked.run = "started"
            self.hear(asked, f"Exec started (node=gateway, id={one})")
        assert self.db.run(self.runs.start, one, self.boot) is False

    @rule(one=ids, refused=st.booleans())
    def finish(self, one: ApprovalId, refused: bool) -> None:
        """End a run, once."""
        asked = self.world.asked[one]
        if refused:
            legal = asked.run in {"queued", "started"}
            got = self.db.run(self.runs.refuse, one, DenialReason.PLAN_DRIFT, "")
            words = f"Exec denied (node=gateway, id={one}, plan_drift)"
        else:
            legal = asked.run == "started"
            got = self.db.run(self.runs.finish, one, finished(one, 0, ""), self.boot)
            words = f"Exec finished (node=gateway, id={one}, code=0)"
        assert got is legal
        if legal:
            asked.run = "over"
            self.hear(asked, words)
        assert self.db.run(self.runs.finish, one, finished(one, 0, ""), self.boot) is False

    @rule(session=st.sampled_from(SESSIONS), seq=st.integers(0, 4))
    def ack(self, session: str, seq: int) -> None:
        """Acknowledge up to a number, known or not, higher or lower."""
        last = len(self.world.told[session])
        expected = max(self.world.acked[session], min(seq, last))
        assert self.db.run(self.events.ack, session, seq) == expected
        self.world.acked[session] = expected

    # ---- comparisons

    @invariant()
    def states_agree(self) -> None:
        """Every approval, its run and its person are what the model says."""
        if not self.exact:  # a clock that runs may reach a deadline on a busy machine
            self.world.now = max(self.world.now, self.db.now())
        seen, queued = self.db.run(self._states)
        for asked in self.world.asked.values():
            self.same(asked, seen[asked.id])
        assert queued == {one.id for one in self.world.asked.values() if one.run == "queued"}

    def _states(self, conn: Connection) -> tuple[dict[str, Any], set[str]]:
        """Read everything in one transaction: one for each would take half of the time."""
        seen = {one: self.approvals.get(conn, one) for one in self.world.asked}
        return seen, {run_id for run_id, _ in self.runs.queued(conn, 100)}

    @invariant()
    def sessions_heard_everything_once_and_in_order(self) -> None:
        """The events above the mark are exactly the model's, numbered without a gap."""
        for session, heard in self.db.run(self._heard).items():
            acked = self.world.acked[session]
            assert [(event.seq, event.text) for event in heard] == [
                (number, text)
                for number, text in enumerate(self.world.told[session], 1)
                if number > acked
            ]

    def _heard(self, conn: Connection) -> dict[str, Any]:
        return {session: self.events.drain(conn, session, 1000) for session in self.world.told}

    def teardown(self) -> None:
        """Let everything end and be sent: each shown copy must then show the final state."""
        try:
            self.quiesce()
        finally:
            self.db.end()

    def quiesce(self) -> None:
        """Run the sweeps and the senders until nothing is left."""
        self.db.advance(300_000 + max(0, self.world.now - self.db.now()))
        self.world.now = max(self.world.now, self.db.now())
        self.sweep()
        for item in self.slow:
            self.report(item, "sent")
        for _ in range(20):
            items = self.db.run(self.outbox.claim, 100, CLAIM_MS, SENDERS)
            for item in items:
                self.report(item, "sent")
        assert set(self.world.shown.values()) <= {"final"}
        assert self.db.run(self.outbox.open_surfaces) == 0
        assert self.db.run(self.outbox.next_due) is None
        assert self.db.run(self.approvals.next_wake) is None
