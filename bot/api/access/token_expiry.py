"""Wait for the end of a caller's token: its time by a clock, its revocation by the store's word."""

import asyncio
import logging
from contextlib import suppress
from typing import Final

from bot.api.access.authentication import Login
from core.errors import StoreError, Unauthenticated
from core.store import Store
from core.store.engine.clock import wall_ms
from core.store.engine.notifications import RESYNC
from core.store.people import tokens

_log = logging.getLogger(__name__)
_LOOK_AGAIN_S: Final = 1.0
"""Where the store's clock, which decides, is behind ours, or the store cannot be asked now."""


async def token_end(store: Store, login: Login) -> Unauthenticated:
    """Return why a token lets nobody in any more, once it is so; nothing is asked meanwhile."""
    told = asyncio.Event()
    unsubscribe = store.subscribe(
        lambda note: told.set() if note in {tokens.CHANGED, RESYNC} else None
    )
    try:
        while True:
            told.clear()
            seconds = await _left(login)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await told.wait()
    except Unauthenticated as ended:
        return ended
    finally:
        unsubscribe()


async def _left(login: Login) -> float | None:
    """Return the seconds until a token has to be looked at again, ``None`` without an end."""
    try:
        until_ms = (await login.caller()).until_ms
    except StoreError as failure:
        _log.warning("whether a token still stands cannot be told now: %s", failure)
        return _LOOK_AGAIN_S
    if until_ms is None:
        return None
    left = (until_ms - wall_ms()) / 1000
    return left if left > 0 else _LOOK_AGAIN_S
