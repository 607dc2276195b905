"""Build the channel that pushes to browsers, and keep what it needs in the store."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.settings import Settings
from channels.base import Channel
from channels.cards.card import PromptCard
from core.errors import StateError
from core.model.decision import Tier
from core.model.identity import PUSH_CHANNEL
from core.store import Store, approvals
from core.store.people import push
from core.store.people.push import Answerable
from core.trust.sealing import Seals
from core.trust.vapid import VAPID_USE, new_key

if TYPE_CHECKING:  # loads the push library
    from channels.push.channel import Browser

_LOST = "The key of web push cannot be opened. Restore store.key from a backup."


@dataclass(slots=True)
class PushKeys:
    """The key that signs what is pushed: sealed in the store, created on first use."""

    store: Store
    seals: Seals
    _known: str = field(default="", repr=False)

    async def get(self) -> str:
        """Return the private key.

        Raises:
            StateError: it cannot be opened, or the sealing key cannot be read or created.
        """
        if not self._known:
            sealed = await self.store.read(push.key)
            if sealed is None:
                made = self.seals.seal(new_key(), VAPID_USE)
                sealed = await self.store.write(push.keep_key, made)
            found = self.seals.opened(sealed, VAPID_USE)
            if found is None:
                raise StateError(_LOST)
            self._known = found
        return self._known


@dataclass(frozen=True, slots=True)
class StoredBrowsers:
    """The browsers in the store, for the channel."""

    store: Store
    seals: Seals
    keys: PushKeys

    async def browser(self, place: str) -> "Browser | None":
        """Return a browser whose session is signed in; ``None`` if none has this id."""
        from channels.push.channel import Browser  # noqa: PLC0415 - loaded where it is wanted only

        found = await self.store.read(push.get, place)
        if found is None:
            return None
        text = self.seals.opened(found.sealed, push.use_of(place))
        return None if text is None else Browser(**json.loads(text))

    async def answer(self, place: str, card: PromptCard) -> str:
        """Create the token that a notification answers with; empty if a press is not enough."""
        found = await self.store.read(approvals.get, card.id)
        if found is None or found.step_up or found.evaluation.tier is not Tier.ROUTINE:
            return ""
        about = Answerable(place, card.id, found.plan.digest)
        # The time to answer starts with the first copy, so the deadline may move by as much again;
        # after it the approval itself accepts no answer.
        until_ms = card.expires_at_ms + card.answer_within_ms
        return await self.store.write(push.draw, about, until_ms)

    async def forget(self, place: str) -> None:
        """Forget a browser."""
        await self.store.write(push.remove, place)

    async def key(self) -> str:
        """Return the private key that signs what is pushed."""
        return await self.keys.get()


def push_of(settings: Settings, store: Store) -> Mapping[str, Channel]:
    """Return the channel by its name; nothing if the page or push is off."""
    if not settings.http.enabled or not settings.http.push.enabled:
        return {}
    from channels.push.channel import PushChannel  # noqa: PLC0415 - as above

    keys = PushKeys(store, settings.seals)
    browsers = StoredBrowsers(store, settings.seals, keys)
    channel = PushChannel(browsers, settings.http.push, settings.http.url or "")
    return {PUSH_CHANNEL: channel}
