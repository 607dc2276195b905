"""Claim a run durably, once, before anything is spawned (invariant 6)."""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from core.gate.journal import journal_records
from core.model.command import ExecPlan
from core.model.decision import AllowedBy, Basis, DenialReason, Evaluation
from core.model.identity import ApprovalId
from core.ports import Journal
from core.store import Store, approvals
from core.store.approvals import proofs
from core.store.runs import runs
from core.store.schema.records import RunDraft


class Claim(Protocol):
    """The one right to start a run.

    ``asked``: the store was asked for it; an error after that leaves it in doubt.
    """

    asked: bool

    async def take(self) -> bool:
        """Take it; ``False`` if it is already gone. Raises ``StoreError`` or ``JournalError``."""

    async def give_up(self, reason: DenialReason, why: str) -> bool:
        """End the run without a process, and notify its session; ``False`` if it is another's."""

    async def basis(self) -> Basis:
        """Return what let the run start. Raises ``StoreError``."""


@dataclass(slots=True)
class NewRun:
    """A run that policy allowed: its row is written as started, along with the journal's record."""

    store: Store
    journal: Journal
    draft: RunDraft
    evaluation: Evaluation
    taken: bool = False
    asked: bool = False

    async def take(self) -> bool:
        """Write the decision to the journal and the run to the store, both before any spawn."""
        self.asked = True
        decided = journal_records.decided(
            self.draft.id, self.draft.requester, self.draft.plan, self.evaluation
        )
        # Both have ended when either fails, so that nothing is claimed after it is given up.
        written, taken = await asyncio.gather(
            self.journal.append("decision", decided),
            self.store.write(runs.begin, self.draft),
            return_exceptions=True,
        )
        for failure in (written, taken):
            if isinstance(failure, BaseException):
                raise failure
        self.taken = taken is True
        return self.taken

    async def give_up(self, reason: DenialReason, why: str) -> bool:
        """Record that nothing ran."""
        if self.taken:
            owner = self.draft.owner
            return await self.store.write(runs.refuse, self.draft.id, reason, why, owner)
        return await self.store.write(runs.record_denied, self.draft, reason, why)

    async def basis(self) -> Basis:
        """Return that policy allowed it."""
        return Basis()


@dataclass(slots=True)
class QueuedRun:
    """A run that people allowed: its row turns from queued to started, once across all gateways."""

    store: Store
    journal: Journal
    id: ApprovalId
    plan: ExecPlan
    owner: str
    asked: bool = False

    async def take(self) -> bool:
        """Write the start to the journal, then turn the row."""
        await self.journal.append("start", {"run": self.id, "digest": self.plan.digest})
        self.asked = True
        return await self.store.write(runs.start, self.id, self.owner)

    async def give_up(self, reason: DenialReason, why: str) -> bool:
        """Record that nothing ran; ``False`` if another gateway has started it."""
        return await self.store.write(runs.refuse, self.id, reason, why, self.owner)

    async def basis(self) -> Basis:
        """Return the people who allowed it, or that nobody could be asked."""
        asked = await self.store.read(approvals.get, self.id)
        if asked is None or asked.resolution is None:
            return Basis()
        last = asked.resolution.by
        who = [vote.by.ref for vote in asked.votes] + ([] if last is None else [last.ref])
        people = tuple(dict.fromkeys(who))
        if not people:
            return Basis(AllowedBy.FALLBACK)
        kept = await self.store.read(proofs.of_approval, self.id)
        signed = tuple(one.passkey for one in kept if one.passkey is not None)
        return Basis(AllowedBy.PEOPLE, people, signed)
