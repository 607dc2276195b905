"""Open the store that a URL names; nothing else knows which engine it is."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from core.errors import StoreError
from core.store.engine.clock import HighWater, steady_name
from core.store.engine.protocol import Store
from core.store.engine.sqlite.store import open_sqlite

_SQLITE: Final = "sqlite:///"
_POSTGRES: Final = ("postgresql://", "postgres://")


async def open_store(
    url: str,
    clock: Callable[[], int] | None = None,
    journal: str | None = None,
) -> Store:
    """Open ``sqlite:///absolute/path.db`` or ``postgresql://…``, created and migrated as needed.

    ``clock`` (epoch ms) replaces the machine's clocks on SQLite: time is only what it says, but
    still never goes back. PostgreSQL's clock is the database's own. ``journal`` is the id of the
    journal that records what is stored.

    Raises:
        AnotherGateway: a running gateway holds the SQLite file.
        StoreError: the URL is not understood, or the database cannot be used.
        StoreFull: there is no room to create it.
    """
    if url.startswith(_SQLITE):
        time = HighWater(name=steady_name()) if clock is None else HighWater(clock, clock)
        return await open_sqlite(_path(url), time, journal)
    if not url.startswith(_POSTGRES):
        raise StoreError(
            "store.url must begin with sqlite:/// or postgresql://. Fix store.url in the "
            "configuration."
        )
    if clock is not None:
        raise StoreError("PostgreSQL keeps the time itself; omit the clock.")
    from core.store.engine.postgres.store import open_postgres  # noqa: PLC0415 - asyncpg only where it is used

    return await open_postgres(url, journal=journal)


def _path(url: str) -> Path:
    # Three slashes or four: the path is absolute either way, because a gateway has no "here".
    return Path("/" + url.removeprefix(_SQLITE).lstrip("/"))
