"""Record what may be stored although its commit failed, once the store says whether it is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from core.approvals.answer import Answer
from core.errors import StoreError
from core.gate.journal import journal_records
from core.gate.journal.deferred import Deferred
from core.gate.journal.ends import ends_of
from core.model.approval import Approval, ApprovalState
from core.model.identity import Actor, ApprovalId
from core.store import Store, approvals

_LOOKS = 3
"""How often a question that is not there is looked for again: together, more than a second."""


@dataclass(frozen=True, slots=True)
class Doubts:
    """What may be stored although its commit failed; it is recorded once the store says so."""

    store: Store
    deferred: Deferred

    @contextmanager
    def asking(self) -> Iterator[Callable[[ApprovalId], None]]:
        """Take the ids that a question gets, and record it later if its commit is in doubt."""
        drawn: list[ApprovalId] = []
        try:
            yield drawn.append
        except StoreError:
            for run_id in drawn:
                self.deferred.complete(partial(self._asked, run_id, iter(range(_LOOKS))))
            raise

    @contextmanager
    def answering(self, answer: Answer) -> Iterator[Callable[[ApprovalId], None]]:
        """Take what an answer decides, and record it later if its commit is in doubt."""
        decided: list[ApprovalId] = []
        try:
            yield decided.append
        except StoreError:
            for run_id in set(decided):
                self.deferred.complete(partial(self._answered, run_id, answer))
            raise

    def ended(self, run_id: ApprovalId, state: ApprovalState) -> None:
        """Record the end of a question, if it ended in this state."""
        self.deferred.complete(lambda: self._ended(run_id, lambda one: _state(one) is state))

    async def _asked(self, run_id: ApprovalId, again: Iterator[int]) -> None:
        one = await self.store.read(approvals.get, run_id)
        if one is None:
            if next(again, None) is not None:
                raise StoreError("Its COMMIT may still be under way.")
            return
        ends = await ends_of(self.store, one) if _is_unrouted(one) else []
        asked = journal_records.decided(one.id, one.requester, one.plan, one.evaluation)
        for kind, entry in (("ask", asked), *ends):
            await self.deferred.append(kind, entry)

    async def _answered(self, run_id: ApprovalId, answer: Answer) -> None:
        one = await self._ended(run_id, lambda one: _by(one) == answer.actor)
        if one is not None and answer.actor in {vote.by for vote in one.votes}:
            await self.deferred.append("vote", journal_records.voted(one, answer))

    async def _ended(
        self, run_id: ApprovalId, is_ours: Callable[[Approval], bool]
    ) -> Approval | None:
        """Record an end if it is the one in doubt; return what is still open."""
        one = await self.store.write(approvals.settled, run_id)
        if one is not None and is_ours(one):
            for kind, entry in await ends_of(self.store, one):
                await self.deferred.append(kind, entry)
        return one if one is not None and one.resolution is None else None


def _by(approval: Approval) -> Actor | None:
    return None if approval.resolution is None else approval.resolution.by


def _state(approval: Approval) -> ApprovalState | None:
    return None if approval.resolution is None else approval.resolution.state


def _is_unrouted(approval: Approval) -> bool:
    """Return whether the ask fallback ended a question at the moment it was made."""
    end = approval.resolution
    return end is not None and end.by is None and end.at_ms == approval.created_ms
