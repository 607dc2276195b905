"""Bring to the journal what the store has decided, however long either of them is away."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from core.errors import JournalError
from core.gate.journal.deferred import Deferred, Entry
from core.ports import Journal


@dataclass(frozen=True, slots=True)
class LastingJournal:
    """The journal, for what is stored already: a record that it refuses is written later.

    Who waits for it gets the error all the same.
    """

    journal: Journal
    deferred: Deferred

    async def append(self, kind: str, record: dict[str, object]) -> None:
        """Append a record, now or when the journal works again.

        Raises:
            JournalError: it does not work now.
        """
        await self.append_all([(kind, record)])

    async def append_all(self, entries: Iterable[Entry]) -> None:
        """Append records in this order; one that is refused keeps no other away.

        Raises:
            JournalError: at least one of them is written later.
        """
        all_of_them = tuple(entries)
        appending = (self.journal.append(kind, record) for kind, record in all_of_them)
        failures = await asyncio.gather(*appending, return_exceptions=True)
        left = [
            (entry, failure)
            for entry, failure in zip(all_of_them, failures, strict=True)
            if failure is not None
        ]
        refusals = [failure for _, failure in left if isinstance(failure, JournalError)]
        if refusals:
            self.deferred.append_later([entry for entry, _ in left], refusals[0])
        for _, failure in left:
            raise failure
