"""Wait for the end of a caller's token: its time by a clock, its revocation by the store's word."""

import logging
from typing import Final

from bot.api.access.authentication import Login
from core.errors import StoreError, Unauthenticated
from core.store import Store
from core.store.engine.clock import wall_ms
from core.store.engine.wakeups import wakeups
from core.store.people import tokens

_log = logging.getLogger(__name__)
_LOOK_AGAIN_S: Final = 1.0
"""Where the store's clock, which decides, is behind ours, or the store cannot be asked now."""


async def token_end(store: Store, login: Login) -> Unauthenticated:
    """Return why a token lets nobody in any more, once it is so; nothing is asked meanwhile."""
    with wakeups(store, tokens.CHANGED) as changed:
        while True:
            try:
                seconds = await _left(login)
            except Unauthenticated as ended:
                return ended
            await changed.wait(seconds)


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
