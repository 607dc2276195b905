"""Check before each spawn: nothing runs while locked down, and no marked command ever.

A marked command that comes this far was let through by a broken gate. It is not run, and the whole
gateway is locked down before anything else runs.
"""

import logging
from dataclasses import dataclass, field

from core.errors import LockedDown
from core.gate.guards.lockdown import Lockdown
from core.gate.guards.marks import Mark, Marks
from core.model.command import ExecPlan, ExecRequest

_log = logging.getLogger(__name__)
PROVER = "gate proof"


@dataclass(frozen=True, slots=True)
class Guard:
    """The lock and the marks of one gateway; gate, execution and runner share it."""

    lockdown: Lockdown = field(default_factory=Lockdown)
    marks: Marks = field(default_factory=Marks)

    def mark_of(self, request: ExecRequest) -> Mark | None:
        """Return the mark of a request of our own; ``None`` for everybody else's."""
        return self.marks.of(request)

    def check(self, plan: ExecPlan) -> None:
        """Let a plan run, or refuse it at the last moment.

        Raises:
            LockedDown: nothing may run; the message says why.
        """
        mark = self.marks.started_by(plan)
        if mark is not None:
            self.trip(mark)
        locked = self.lockdown.state()
        if locked is not None:
            raise LockedDown(locked.sentence)

    def trip(self, mark: Mark) -> None:
        """Lock down because a marked command ran or was about to."""
        mark.started = True
        at = f"at the entry point {mark.entry_point!r}"
        why = f"the gate had to hold a command and let it through, {at}."
        _log.critical("locked down: %s", why)
        self.lockdown.engage(why, by=PROVER, entry_point=mark.entry_point)
