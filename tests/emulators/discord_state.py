"""Keep what Discord keeps: channels, messages, nonces, commands and interactions."""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from tests.emulators.discord_rules import EPHEMERAL, Refusal

Json = dict[str, Any]
GUILD = 700_000_000_000_000_001
CHANNEL = 700_000_000_000_000_002
THREAD = 700_000_000_000_000_003
OTHER_GUILD = 700_000_000_000_000_004
OTHER_CHANNEL = 700_000_000_000_000_005
BOT = 700_000_000_000_000_009
_DIRECT = 1
_THREAD_TYPE = 11


@dataclass(slots=True)
class Interaction:
    """A press or a slash command, and what the person saw."""

    id: int
    token: str
    payload: Json
    at: float
    answered: bool = False
    loading: bool = False
    late: bool = False
    notes: list[str] = field(default_factory=list)
    ephemeral: bool = True


@dataclass(slots=True)
class DiscordState:
    """One application's world; ids grow over its whole life."""

    token: str = "NzAwMDAwMDAwMDAwMDAwMDA5.GtestX.local-gateway-token-of-the-tests-01"
    privileged: bool = False
    endpoint: str | None = None
    first_answer_seconds: float = 3.0
    token_seconds: float = 900.0
    missing: set[int] = field(default_factory=set)
    forbidden: set[int] = field(default_factory=set)
    blocked: set[int] = field(default_factory=set)
    archived: set[int] = field(default_factory=set)
    guilds: dict[int, list[int]] = field(
        default_factory=lambda: {GUILD: [CHANNEL], OTHER_GUILD: [OTHER_CHANNEL]}
    )
    threads: dict[int, int] = field(default_factory=lambda: {THREAD: CHANNEL})
    direct: dict[int, int] = field(default_factory=dict)
    channels: dict[int, dict[int, Json]] = field(default_factory=dict)
    nonces: dict[tuple[int, str], int] = field(default_factory=dict)
    interactions: dict[str, Interaction] = field(default_factory=dict)
    commands: list[Json] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _ids: Iterator[int] = field(default_factory=lambda: count(710_000_000_000_000_000))

    async def notify(self) -> None:
        """Wake whoever waits for a change."""
        async with self.changed:
            self.changed.notify_all()

    async def until(self, met: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait until something is so.

        Raises:
            TimeoutError: it did not become so in time.
        """
        async with asyncio.timeout(seconds), self.changed:
            await self.changed.wait_for(met)

    def new_id(self) -> int:
        """Return an id that nothing had."""
        return next(self._ids)

    def person(self, number: int) -> Json:
        """Return a user."""
        bot = number == BOT
        name = "sayso" if bot else f"person{number}"
        shown = None if bot else f"Person {number}"
        plain = {"avatar": None, "public_flags": 0, "flags": 0, "discriminator": "0"}
        return {"id": str(number), "username": name, "global_name": shown, "bot": bot, **plain}

    def guild_of(self, channel: int) -> int | None:
        """Return the server of a channel or thread, ``None`` for a direct message."""
        home = self.threads.get(channel, channel)
        return next((guild for guild, known in self.guilds.items() if home in known), None)

    def channel(self, number: int) -> Json:
        """Return a channel object, or refuse."""
        self.reachable(number)
        base = {"id": str(number), "flags": 0, "last_message_id": None}
        guild = self.guild_of(number)
        if guild is None:
            person = next(user for user, direct in self.direct.items() if direct == number)
            return {**base, "type": _DIRECT, "recipients": [self.person(person)]}
        base |= {"guild_id": str(guild), "name": "ops", "rate_limit_per_user": 0}
        if number in self.threads:
            asleep = number in self.archived
            return base | _thread(self.threads[number], archived=asleep)
        return {**base, "type": 0, "position": 0, "permission_overwrites": [], "nsfw": False}

    def guild(self, number: int) -> Json:
        """Return what GUILD_CREATE carries."""
        known = self.guilds[number]
        threads = [self.channel(t) for t, home in self.threads.items() if home in known]
        channels = [self.channel(channel) for channel in known if channel not in self.missing]
        named = {"id": str(number), "name": "Operations", "owner_id": "1", "unavailable": False}
        empty: Json = {"roles": [], "emojis": [], "members": [], "stickers": [], "features": []}
        return {**named, **empty, "channels": channels, "threads": threads, "member_count": 2}

    def direct_channel(self, person: int) -> Json:
        """Open, or find, the direct messages with a person."""
        self.direct.setdefault(person, self.new_id())
        return self.channel(self.direct[person])

    def reachable(self, channel: int) -> None:
        """Refuse to show or write where a bot cannot."""
        known = self.guild_of(channel) is not None or channel in self.direct.values()
        if channel in self.missing or not known:
            raise Refusal(404, 10003, "Unknown Channel")
        if channel in self.forbidden:
            raise Refusal(403, 50001, "Missing Access")
        people = [person for person, direct in self.direct.items() if direct == channel]
        if people and people[0] in self.blocked:
            raise Refusal(403, 50007, "Cannot send messages to this user")

    def messages(self, channel: int) -> list[Json]:
        """Return a channel's messages in order."""
        return list(self.channels.get(channel, {}).values())

    def message(self, channel: int, number: int) -> Json:
        """Return one message, or refuse."""
        found = self.channels.get(channel, {}).get(number)
        if found is None:
            raise Refusal(404, 10008, "Unknown Message")
        return found

    def add_message(self, channel: int, author: int, content: Json) -> Json:
        """Keep a new message."""
        number = self.new_id()
        empty: Json = {"mentions": [], "mention_roles": [], "embeds": [], "attachments": []}
        message: Json = {
            "id": str(number),
            "channel_id": str(channel),
            "author": self.person(author),
            "timestamp": datetime.now(UTC).isoformat(),
            "edited_timestamp": None,
            "type": 0,
            "tts": False,
            "flags": 0,
            "pinned": False,
            "mention_everyone": False,
            "components": [],
            **empty,
            **content,
        }
        self.channels.setdefault(channel, {})[number] = message
        return message

    def interaction(self, channel: int, user: int, kind: int, extra: Json) -> Interaction:
        """Let a person press a button or send a slash command."""
        number = self.new_id()
        token = f"itoken-{number}"
        guild = self.guild_of(channel)
        person = self.person(user)
        base: Json = {
            "id": str(number),
            "application_id": str(BOT),
            "type": kind,
            "token": token,
            "version": 1,
            "channel": self.channel(channel),
            "channel_id": str(channel),
            "attachment_size_limit": 10_485_760,
            "app_permissions": "0",
            "locale": "en-US",
            "entitlements": [],
            "authorizing_integration_owners": {"0": str(guild or 0)},
            "context": 1 if guild is None else 0,
            **extra,
        }
        member = {"user": person, "roles": [], "joined_at": None, "flags": 0, "permissions": "0"}
        where = {"user": person} if guild is None else {"guild_id": str(guild), "member": member}
        made = Interaction(number, token, base | where, time.monotonic())
        self.interactions[token] = made
        return made

    def first_answer(self, number: int, token: str, body: Json) -> None:
        """Take the first answer to an interaction, once and within 3 seconds."""
        found = self.interactions.get(token)
        if found is None or found.id != number:
            raise Refusal(404, 10062, "Unknown interaction")
        if time.monotonic() - found.at > self.first_answer_seconds:
            found.late = True
            raise Refusal(404, 10062, "Unknown interaction")
        if found.answered:
            raise Refusal(400, 40060, "Interaction has already been acknowledged.")
        found.answered = True
        data = body.get("data") or {}
        found.loading = body["type"] == 5
        found.ephemeral = bool(data.get("flags", 0) & EPHEMERAL)
        if body["type"] == 4:
            found.notes.append(data["content"])

    def later_answer(self, token: str, *, first: bool, body: Json) -> None:
        """Take an edit of the first answer, or a further one, for 15 minutes."""
        found = self.interactions.get(token)
        if found is None or time.monotonic() - found.at > self.token_seconds:
            raise Refusal(401, 50027, "Invalid Webhook Token")
        if not found.answered:
            raise Refusal(404, 10015, "Unknown Webhook")
        if first and not (found.notes or found.loading):
            raise Refusal(404, 10008, "Unknown Message")
        if first and found.notes:
            found.notes[0] = body["content"]
        else:
            found.notes.append(body["content"])
        found.loading = False


def _thread(parent: int, *, archived: bool) -> Json:
    metadata = {"archived": archived, "auto_archive_duration": 60, "locked": False}
    metadata["archive_timestamp"] = datetime.now(UTC).isoformat()
    counts = {"message_count": 0, "member_count": 2}
    owner = {"owner_id": "1", "parent_id": str(parent)}
    return {"type": _THREAD_TYPE, **owner, **counts, "thread_metadata": metadata}
