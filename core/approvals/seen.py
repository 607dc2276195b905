"""Remember who looked at which question, until it is on record; a look waits for no disk.

What a person looked at is recorded with their answer, in its transaction; what others looked at,
soon after. A look is lost only where the gateway is killed within that second.
"""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field

from core.errors import StoreError
from core.model.evidence import View
from core.model.identity import Actor, ApprovalId
from core.store import Store
from core.store.outbox import showings

_log = logging.getLogger(__name__)
_PAUSE_S = 1.0
_MOST_WAITING = 4_096
_MOST_KNOWN = 65_536
_BATCH = 256
_Known = tuple[ApprovalId, str]


@dataclass(slots=True)
class Seen:
    """The looks that are not on record yet, each of a person at a question once."""

    store: Store
    _waiting: OrderedDict[_Known, View] = field(default_factory=OrderedDict)
    _known: OrderedDict[_Known, None] = field(default_factory=OrderedDict)

    def note(self, *views: View) -> None:
        """Remember that people are shown these now; what was noted before is not noted again."""
        for view in views:
            known = (view.approval_id, view.key)
            if known in self._known:
                continue
            self._known[known] = None
            self._waiting[known] = view
            if len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
            if len(self._waiting) > _MOST_WAITING:
                self._waiting.popitem(last=False)

    def has(self, approval_id: ApprovalId, key: str) -> bool:
        """Return whether such a look was noted before."""
        return (approval_id, key) in self._known

    def of(self, actor: Actor) -> tuple[View, ...]:
        """Return what a person looked at that is not on record yet."""
        return tuple(one for one in self._waiting.values() if one.actor.ref == actor.ref)

    async def run(self) -> None:
        """Record what was noted, for as long as the task lives."""
        try:
            while True:
                await asyncio.sleep(_PAUSE_S)
                await self.flush()
        finally:
            await self.flush()

    async def flush(self) -> None:
        """Record what was noted; where the store is away it is tried again."""
        while self._waiting:
            batch = dict(list(self._waiting.items())[:_BATCH])
            try:
                await self.store.write(showings.record_views, tuple(batch.values()))
            except StoreError as failure:
                _log.warning("who viewed what is not on record yet: %s", failure)
                return
            for known in batch:
                self._waiting.pop(known, None)
