"""Record what is stored although its commit failed, once the store says whether it is."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from core.approvals.answer import Answer
from core.errors import CommitInDoubt
from core.gate.journal import ends
from core.gate.journal.deferred import Deferred, Entry
from core.model.approval import Approval
from core.store import Store, approvals

_Entries = Callable[[], Awaitable[list[Entry]]]


@dataclass(frozen=True, slots=True)
class Doubts:
    """What may be stored although its commit failed; it is recorded once the store says so.

    An operation returns what it stored, so what another call or gateway stored is not taken for it.
    """

    store: Store
    deferred: Deferred

    @contextmanager
    def recorded(self, answer: Answer | None = None) -> Iterator[None]:
        """Record later what the block stores, by ``answer`` or without one, if that is in doubt."""
        try:
            yield
        except CommitInDoubt as doubt:
            entries = self._entries_of(doubt.made, answer)
            if entries is not None:
                self.deferred.complete(partial(self._append, entries))
            raise

    def _entries_of(self, made: object, answer: Answer | None) -> _Entries | None:
        match made:
            case approvals.Created(approval=one, fresh=True):
                return lambda: self._asked(one)
            case approvals.StoredAnswer(approval=one) if made.ended_it or made.is_vote:
                return lambda: self._ended(one, answer)
            case approvals.EndState(approval=one, now=True):
                return lambda: self._ended(one, None)
            case approvals.Expired():
                return lambda: self._expired(made)
            case _:
                return None

    async def _append(self, entries: _Entries) -> None:
        for kind, entry in await entries():
            await self.deferred.append(kind, entry)

    async def _asked(self, made: Approval) -> list[Entry]:
        return ends.asked(made) if await self.store.write(approvals.is_asked, made.id) else []

    async def _ended(self, made: Approval, answer: Answer | None) -> list[Entry]:
        one = await self.store.write(approvals.settled, made.id)
        if one is None:
            return []
        if made.resolution is not None:
            return await ends.ends_of(self.store, one) if one.resolution == made.resolution else []
        vote = None if answer is None else ends.vote_of(made, answer.actor)
        return [] if vote is None or vote not in one.votes else [ends.voted(made, vote)]

    async def _expired(self, made: approvals.Expired) -> list[Entry]:
        stored = await self.store.write(approvals.expired_by, made)
        return ends.expired(stored.reasons)
