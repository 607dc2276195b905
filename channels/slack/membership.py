"""Ask Slack at the click which of the named user groups a person is in; never from memory."""

import asyncio
import logging
from dataclasses import dataclass, replace

from channels.base import Inbound
from channels.commands import Help, Malformed
from channels.slack.settings import GROUP
from channels.slack.web_api import Calls
from core.errors import ChannelError

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Membership:
    """The user groups that the settings name, such as ``group:S012AB3CD``."""

    calls: Calls
    named: tuple[str, ...]

    async def confirmed(self, inbound: Inbound) -> Inbound:
        """Return what a person did, with the groups that they are in now according to Slack.

        A group that cannot be looked up counts as one that the person is not in.
        """
        if not self.named or isinstance(inbound.command, Help | Malformed):
            return inbound
        account = inbound.actor.account
        found = await asyncio.gather(*(self._in(reference, account) for reference in self.named))
        groups = frozenset(
            reference for reference, is_in in zip(self.named, found, strict=True) if is_in
        )
        return replace(inbound, actor=replace(inbound.actor, groups=groups))

    async def _in(self, reference: str, account: str) -> bool:
        try:
            return account in await self.calls.members(reference.removeprefix(GROUP))
        except ChannelError as error:
            words = "%s could not be looked up, so %s does not count as a member now: %s"
            _log.warning(words, reference, account, error)
            return False
