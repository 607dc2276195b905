"""Stand before a real store as a network stands before a server: lose answers, hold calls."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from core.errors import StoreAway
from core.store import Store

P = ParamSpec("P")
T = TypeVar("T")
Op = Callable[..., object]


def _never(_op: Op) -> bool:
    return False


@dataclass
class StoreLink:
    """The way to a store; each fault is chosen by the operation that is called.

    ``loses``: it commits, and the connection breaks before the answer. ``undoes``: the connection
    breaks before the COMMIT. ``holds``: it is not called before ``free``. ``delays``: the
    connection breaks, and the COMMIT takes effect once it is ``free``. ``fails``: it is not called.
    """

    store: Store
    loses: Callable[[Op], bool] = _never
    undoes: Callable[[Op], bool] = _never
    holds: Callable[[Op], bool] = _never
    delays: Callable[[Op], bool] = _never
    fails: Callable[[Op], bool] = _never
    free: asyncio.Event = field(default_factory=asyncio.Event)
    calls: Counter[Op] = field(default_factory=Counter)
    late: "asyncio.Task[object] | None" = None

    async def write(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation, unless a fault is in its way."""
        self.calls[op] += 1
        if self.holds(op):
            await self.free.wait()
        if self.undoes(op):
            await self.store.read(op, *args, **kwargs)
        if self.delays(op):
            self.late = asyncio.create_task(self._later(lambda conn: op(conn, *args, **kwargs)))
        if self.undoes(op) or self.delays(op) or self.fails(op):
            raise StoreAway("The connection broke before a commit.")
        done = await self.store.write(op, *args, **kwargs)
        if self.loses(op):
            raise StoreAway("The connection broke during a commit.")
        return done

    async def read(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation that reads."""
        self.calls[op] += 1
        return await self.store.read(op, *args, **kwargs)

    async def read_beside(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation that reads for long."""
        return await self.store.read_beside(op, *args, **kwargs)

    async def _later(self, op: Callable[[Connection], object]) -> object:
        await self.free.wait()
        return await self.store.write(op)

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Subscribe to the store itself."""
        return self.store.subscribe(listener)

    async def close(self) -> None:
        """Close the store."""
        await self.store.close()
