"""Connect to Discord, retry as long as that may help, and report why there is no connection."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from discord.http import Route

from channels.base import failure_of
from channels.discord.connection_status import Status
from channels.discord.errors import FAILURES, translate
from channels.discord.settings import DiscordSettings
from channels.discord.transport import GatewayClient
from core.errors import ChannelError

_log = logging.getLogger(__name__)
_FIRST_RETRY_S = 1.0
_LONGEST_RETRY_S = 30.0
_REFUSED_RETRY_S = 300.0
"""Discord resets a token that identifies more than 1,000 times a day; this makes 288."""


@dataclass(slots=True)
class Connection:
    """One client at a time; a new one for each attempt, since the library's cannot log in twice."""

    settings: DiscordSettings
    make: Callable[[], GatewayClient]
    status: Status
    client: GatewayClient

    @property
    def is_open(self) -> bool:
        """Return whether the client can make calls."""
        return self.client.application_id is not None and not self.client.is_closed()

    async def run(self) -> None:
        """Stay connected for as long as the task runs."""
        wait = _FIRST_RETRY_S
        while True:
            error = await self._live()
            if not self.status.problem:
                wait = _FIRST_RETRY_S
            self.status.fails(str(error), permanent=error.permanent)
            pause = _REFUSED_RETRY_S if error.permanent else wait
            _log.warning("%s Trying again in %.0f s.", error, pause)
            await asyncio.sleep(pause)
            wait = min(2 * wait, _LONGEST_RETRY_S)
            self.client = self.make()

    async def _live(self) -> ChannelError:
        # Route.BASE is the library's only way to another server, and global to the process: it is
        # set before each login, so that two channels in turn (tests) each reach their own.
        # DEFAULT_GATEWAY stays as it is: the client gets its gateway explicitly.
        Route.BASE = self.settings.api_base_url
        try:
            await self.client.start(self.settings.token.get_secret_value())
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the channel
            failure = failure_of(error, "The Discord client", FAILURES, translate)
        else:
            failure = ChannelError("The Discord client stopped.")
        await self.client.leave()
        return failure
