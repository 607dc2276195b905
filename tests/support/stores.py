"""Open stores on both engines, with a clock that a test can move."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from core.model.identity import ApprovalId
from core.store import Store, approvals, open_store, outbox
from core.store.approvals import grants
from core.store.schema.records import ApprovalDraft, OutboxItem
from tests.support.postgres import PostgresServer
from tests.support.store_records import draft

START_MS = 1_800_000_000_000
MOVABLE_CLOCK = (
    """
CREATE FUNCTION move_clock(ms bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE clock SET offset_ms = offset_ms + ms, high_ms = GREATEST(high_ms,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint + offset_ms + ms)
  WHERE id = 1
$$
""",
)
"""Statements that give a PostgreSQL store a clock that ``move_clock(ms)`` moves forward.

The mark moves along, as if others had marked the time while this gateway's machine was stopped.
"""


@dataclass(slots=True)
class ManualClock:
    """A wall clock that stops until it is set."""

    ms: int = START_MS

    def __call__(self) -> int:
        """Return the time as epoch ms."""
        return self.ms


@dataclass(slots=True)
class OpenStore:
    """A store under test, and what a test may do to it."""

    engine: str
    url: str
    store: Store
    advance: Callable[[int], Awaitable[None]]
    again: Callable[[], Awaitable[Store]]
    notes: list[str] = field(default_factory=list)

    async def use_grant(self, grant: ApprovalId) -> bool:
        """Use a grant once; return ``False`` if it is spent."""
        try:
            await self.store.write(grants.use, (grant,))
        except grants.GrantSpent:
            return False
        return True

    async def ask(self, question: ApprovalDraft | None = None) -> ApprovalId:
        """Create an approval; return its id."""
        question = question or draft()
        await self.store.write(approvals.create, question)
        return question.id

    async def send_all(self, message: str = "m") -> list[OutboxItem]:
        """Claim everything that is due, mark it as sent, and return it."""
        items = await self.store.write(outbox.claim, 100, 5_000, ("telegram", "terminal"))
        for item in items:
            await self.store.write(outbox.sent, item.id, f"{message}{item.id}")
        return list(items)


_MEMORY = "/dev/shm"


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Yield a folder whose files are in memory, if the machine has such a place.

    No power failure happens here either: what a store writes before it answers need not reach a
    disk. On a disk each fsync takes 4 ms, and making a store takes some dozens of them.
    """
    place = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="sayso-store-", dir=place) as folder:
        yield Path(folder)


async def sqlite_bench(folder: Path) -> AsyncIterator[OpenStore]:
    """Yield a bench on a SQLite file."""
    clock, url = ManualClock(), f"sqlite:///{folder}/state.db"
    store = await open_store(url, clock=clock)

    async def advance(ms: int) -> None:
        clock.ms += ms

    async def again() -> Store:
        await bench.store.close()
        bench.store = await open_store(url, clock=clock)
        return bench.store

    bench = OpenStore("sqlite", url, store, advance, again)
    store.subscribe(bench.notes.append)
    yield bench
    await bench.store.close()


async def postgres_bench(server: PostgresServer, url: str) -> AsyncIterator[OpenStore]:
    """Yield a bench on a PostgreSQL database whose clock is moved by a table."""
    store = await open_store(url)

    async def run(statement: str) -> None:
        await asyncio.to_thread(server.run, statement, url)

    for statement in MOVABLE_CLOCK:
        await run(statement)

    async def advance(ms: int) -> None:
        await run(f"SELECT move_clock({int(ms)})")

    async def again() -> Store:
        await bench.store.close()
        bench.store = await open_store(url)
        return bench.store

    bench = OpenStore("postgres", url, store, advance, again)
    store.subscribe(bench.notes.append)
    yield bench
    await bench.store.close()
