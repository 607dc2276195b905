"""Stand before a real store as a network stands before a server: hold calls, or refuse them."""

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

    ``holds``: it is not called before ``free``. ``fails``: it is not called.
    """

    store: Store
    holds: Callable[[Op], bool] = _never
    fails: Callable[[Op], bool] = _never
    free: asyncio.Event = field(default_factory=asyncio.Event)
    calls: Counter[Op] = field(default_factory=Counter)

    async def write(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation, unless a fault is in its way."""
        self.calls[op] += 1
        if self.holds(op):
            await self.free.wait()
        if self.fails(op):
            raise StoreAway("The connection broke before a commit.")
        return await self.store.write(op, *args, **kwargs)

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

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Subscribe to the store itself."""
        return self.store.subscribe(listener)

    async def close(self) -> None:
        """Close the store."""
        await self.store.close()
