"""Name a person the same whichever way they answer; Slack omits the name for typed messages."""

import asyncio
import logging
from dataclasses import dataclass, field, replace

from channels.slack.web_api import Calls
from core.errors import ChannelError
from core.model.identity import Actor

_log = logging.getLogger(__name__)
_PATIENCE_S = 1.0
"""How long an answer waits for the person's name."""


@dataclass(slots=True)
class PersonNames:
    """The names that presses and commands come with, or that Slack returns on request (users:read).

    They are the member's ``name``: ``username`` of a press, ``user_name`` of a command.
    """

    calls: Calls
    _known: dict[str, str] = field(default_factory=dict)

    async def named(self, actor: Actor) -> Actor:
        """Return a person with a name, or without one if Slack returns none in time."""
        account = actor.account
        if actor.name:
            self._known[account] = actor.name
        elif account not in self._known:
            await self._ask(account)
        return replace(actor, name=self._known.get(account, ""))

    async def _ask(self, account: str) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                member = await self.calls.member(account)
            self._known[account] = str(member.get("name") or "")
        except (ChannelError, TimeoutError) as error:
            _log.info("The name of %s cannot be looked up: %s", account, error)
            if isinstance(error, ChannelError) and error.permanent:
                self._known[account] = ""
