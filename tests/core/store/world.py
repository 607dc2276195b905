"""What the model knows: the rules of DESIGN §1 (5 to 8) in plain Python, and nothing of SQL."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine

from core.model.approval import ApprovalState
from core.model.identity import ApprovalId
from tests.core.store.direct import Direct
from tests.core.store.mutants import StoreCode

SESSIONS = ("s1", "s2")
SENDERS = ("telegram", "terminal")
CLAIM_MS = 7_000


@dataclass
class Asked:
    """What the model knows about one approval."""

    id: ApprovalId
    session: str
    deadline: int
    remind_at: int | None
    state: ApprovalState = ApprovalState.PENDING
    by: str | None = None
    inbound: dict[str, bool] = field(default_factory=dict)
    run: str = "none"
    owed: bool = False


@dataclass
class World:
    """What the model knows about everything, and what people see on the platforms."""

    now: int = 0
    asked: dict[str, Asked] = field(default_factory=dict)
    told: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in SESSIONS})
    acked: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SESSIONS, 0))
    shown: dict[str, str] = field(default_factory=dict)
    """Message id → ``asked`` or ``final``."""


class ModelledStore(RuleBasedStateMachine):
    """A store beside its model; subclasses say which store, and what is done to both."""

    code: StoreCode
    make: Callable[[], Direct]
    exact = True
    """Whether the clock stands still between steps, so that deadlines can be met to the ms."""

    def __init__(self) -> None:
        super().__init__()
        self.db = type(self).make()
        self.world = World(now=self.db.now())
        self.approvals, self.runs, self.outbox, self.events = (
            self.code.module(name) for name in ("approvals", "runs", "outbox", "events")
        )
        self.count = 0
        self.boot = "boot-0"
        self.slow: list[Any] = []

    # ---- the model's rules

    def pending(self) -> list[Asked]:
        """Return what nobody has ended yet."""
        return [one for one in self.world.asked.values() if one.state is ApprovalState.PENDING]

    def end(self, asked: Asked, wanted: ApprovalState, by: str | None = None) -> None:
        """End an approval as the rules say: first come, first served, and never late."""
        if asked.state is not ApprovalState.PENDING:
            return
        late = self.world.now >= asked.deadline
        asked.state = ApprovalState.EXPIRED if late else wanted
        asked.by = None if late else by
        if asked.state is ApprovalState.ALLOWED:
            asked.run = "queued"
            return
        reason = {
            ApprovalState.DENIED: "approver_denied",
            ApprovalState.EXPIRED: "approval_timeout",
            ApprovalState.CANCELLED: "cancelled",
        }[asked.state]
        self.hear(asked, f"Exec denied (node=gateway, id={asked.id}, {reason})")

    def hear(self, asked: Asked, text: str) -> None:
        """Note what the session must hear."""
        self.world.told[asked.session].append(text)

    def same(self, asked: Asked, got: Any) -> None:
        """Compare one approval."""
        resolution = got.resolution
        state = resolution.state if resolution else ApprovalState.PENDING
        assert state == asked.state
        person = resolution.by.account if resolution and resolution.by else None
        assert person == asked.by
