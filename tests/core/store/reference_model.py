"""Hold what the model knows: invariants 5 to 8 in plain Python, and nothing of SQL."""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine

from core.model.approval import ApprovalState
from core.model.identity import ApprovalId
from tests.core.store.mutants import StoreCode
from tests.core.store.synchronous import Direct
from tests.support.store_records import ALPHABET

SESSIONS = ("s1", "s2")
SENDERS = ("telegram", "terminal")
CLAIM_MS = 7_000


@dataclass
class Asked:
    """What the model knows about one approval."""

    id: ApprovalId
    session: str
    timeout: int
    reminds: bool
    prompted: bool
    digest: str
    created: tuple[int, str] = (0, "")
    deadline: int = 0
    remind_at: int | None = None
    delivered: bool = False
    behind: "Asked | None" = None
    state: ApprovalState = ApprovalState.PENDING
    by: str | None = None
    inbound: dict[str, bool] = field(default_factory=dict)
    run: str = "none"
    owed: bool = False


@dataclass
class ReferenceModel:
    """What the model knows about everything, and what people see on the platforms."""

    now: int = 0
    asked: dict[str, Asked] = field(default_factory=dict)
    told: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in SESSIONS})
    acked: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SESSIONS, 0))
    shown: dict[str, str] = field(default_factory=dict)
    """Message id → ``asked`` or ``final``."""


class ModelledStore(RuleBasedStateMachine):
    """A store next to its model; subclasses say which store, and what is done to both."""

    code: StoreCode
    make: Callable[[], Direct]
    exact = True
    """Whether the clock stops between steps, so that deadlines can be met to the ms."""

    def __init__(self) -> None:
        super().__init__()
        self.db = type(self).make()
        self.world = ReferenceModel(now=self.db.now())
        self.approvals, self.runs, self.recovery, self.outbox, self.events = (
            self.code.module(name)
            for name in ("approvals", "runs.runs", "runs.recovery", "outbox", "sessions.events")
        )
        self.count = 0
        self.boot = "boot-0"
        self.slow: list[Any] = []

    def next_id(self) -> ApprovalId:
        """Return the next question's id: in no order, but the same each time a run is repeated."""
        digest = sha256(f"{len(self.world.asked)}".encode()).digest()
        return ApprovalId("".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:26]))

    # ---- the model's rules

    def pending(self) -> list[Asked]:
        """Return what has not ended yet."""
        return [one for one in self.world.asked.values() if one.state is ApprovalState.PENDING]

    def begin_clock(self, asked: Asked) -> None:
        """Ask now: the time to answer starts at the first copy, or here if there is none."""
        asked.behind = None
        asked.delivered = not asked.prompted
        asked.deadline = self.world.now + asked.timeout
        asked.remind_at = self.half_time(asked) if asked.delivered else None

    def half_time(self, asked: Asked) -> int | None:
        """Return when to remind once if the time to answer starts now."""
        return self.world.now + asked.timeout // 2 if asked.reminds else None

    def follow(self, asked: Asked, leader: Asked) -> None:
        """Wait behind an identical question, with as much time as it can still get."""
        asked.behind, asked.delivered, asked.remind_at = leader, leader.delivered, None
        asked.deadline = leader.deadline + (0 if leader.delivered else leader.timeout)

    def leader_for(self, digest: str) -> Asked | None:
        """Return the identical question that has already been asked."""
        alike = (
            one
            for one in self.pending()
            if one.digest == digest and one.behind is None and one.deadline > self.world.now
        )
        return next(alike, None)

    def deliver(self, asked: Asked) -> None:
        """Start the time to answer at the first copy, also for those that wait behind."""
        late = self.world.now >= asked.deadline
        if asked.state is not ApprovalState.PENDING or asked.delivered or late:
            return
        asked.delivered = True
        asked.deadline = self.world.now + asked.timeout
        asked.remind_at = self.half_time(asked)
        for one in self.behind(asked):
            one.delivered, one.deadline = True, asked.deadline

    def behind(self, asked: Asked) -> list[Asked]:
        """Return the pending questions that wait behind one, the oldest first."""
        waiting = [one for one in self.pending() if one.behind is asked]
        return sorted(waiting, key=lambda one: one.created)

    def end(
        self, asked: Asked, wanted: ApprovalState, by: str | None = None, *, always: bool = False
    ) -> None:
        """End an approval as the rules say: first come, first served, and never late."""
        waits = asked.state is ApprovalState.PENDING
        if not waits:
            return
        late = self.world.now >= asked.deadline
        self.finish_one(asked, ApprovalState.EXPIRED if late else wanted, None if late else by)
        shared = asked.state in {ApprovalState.DENIED, ApprovalState.EXPIRED} or (
            asked.state is ApprovalState.ALLOWED and always
        )
        waiting = self.behind(asked)
        if shared:
            for one in waiting:
                self.finish_one(one, asked.state, asked.by)
        elif waiting:
            self.begin_clock(waiting[0])
            for one in waiting[1:]:
                self.follow(one, waiting[0])

    def finish_one(self, asked: Asked, state: ApprovalState, by: str | None) -> None:
        """Write one end, with what its session is told."""
        asked.state, asked.by = state, by
        if asked.state is ApprovalState.ALLOWED:
            asked.run = "queued"
            return
        reason = {
            ApprovalState.DENIED: "approver_denied",
            ApprovalState.EXPIRED: "approval_timeout" if asked.delivered else "undelivered",
            ApprovalState.CANCELLED: "cancelled",
        }[asked.state]
        self.hear(asked, f"Exec denied (node=gateway, id={asked.id}, {reason})")

    def hear(self, asked: Asked, text: str) -> None:
        """Record what the session must be told."""
        self.world.told[asked.session].append(text)

    def same(self, asked: Asked, got: Any) -> None:
        """Compare one approval."""
        resolution = got.resolution
        state = resolution.state if resolution else ApprovalState.PENDING
        assert state == asked.state
        person = resolution.by.account if resolution and resolution.by else None
        assert person == asked.by
        if asked.state is ApprovalState.PENDING:
            assert got.behind == (asked.behind.id if asked.behind else None)
            assert (got.delivered_ms is not None) is asked.delivered
            assert got.deadline_ms == asked.deadline or not self.exact
