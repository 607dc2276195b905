"""Keep what Discord keeps: channels, messages, nonces, commands and interactions."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.emulators.changes import Changes
from tests.emulators.discord_interactions import Interaction
from tests.emulators.discord_objects import (
    BOT,
    CHANNEL,
    DIRECT_TYPE,
    GUILD,
    NEWS_TYPE,
    OTHER_CHANNEL,
    OTHER_GUILD,
    TEXT_TYPE,
    THREAD,
    Json,
    person,
    roles_of,
    thread_of,
)
from tests.emulators.discord_rules import Refusal

_EPOCH_MS = 1_420_070_400_000


@dataclass(slots=True)
class DiscordState(Changes):
    """One application's world; ids only grow."""

    token: str = "NzAwMDAwMDAwMDAwMDAwMDA5.GtestX.local-gateway-token-of-the-tests-01"
    privileged: bool = False
    endpoint: str | None = None
    first_answer_seconds: float = 3.0
    token_seconds: float = 900.0
    missing: set[int] = field(default_factory=set)
    forbidden: set[int] = field(default_factory=set)
    blocked: set[int] = field(default_factory=set)
    archived: set[int] = field(default_factory=set)
    locked: set[int] = field(default_factory=set)
    threadless: set[int] = field(default_factory=set)
    unreadable: set[int] = field(default_factory=set)
    nobody: set[int] = field(default_factory=set)
    roles: dict[int, set[int]] = field(default_factory=dict)
    news: set[int] = field(default_factory=set)
    guilds: dict[int, list[int]] = field(
        default_factory=lambda: {GUILD: [CHANNEL], OTHER_GUILD: [OTHER_CHANNEL]}
    )
    threads: dict[int, int] = field(default_factory=lambda: {THREAD: CHANNEL})
    names: dict[int, str] = field(default_factory=dict)
    direct: dict[int, int] = field(default_factory=dict)
    channels: dict[int, dict[int, Json]] = field(default_factory=dict)
    nonces: dict[tuple[int, str], tuple[int, float]] = field(default_factory=dict)
    nonce_seconds: float = 300.0
    interactions: dict[str, Interaction] = field(default_factory=dict)
    commands: list[Json] = field(default_factory=list)
    _last_id: int = 0

    def new_id(self) -> int:
        """Return an id never used before; it contains its time (API "Snowflakes")."""
        now = (round(time.time() * 1000) - _EPOCH_MS) << 22
        self._last_id = max(self._last_id + 1, now)
        return self._last_id

    def person(self, number: int) -> Json:
        """Return a user."""
        return person(number)

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
            return {**base, "type": DIRECT_TYPE, "recipients": [self.person(person)]}
        base |= {
            "guild_id": str(guild),
            "name": self.names.get(number, "ops"),
            "rate_limit_per_user": 0,
        }
        if number in self.threads:
            asleep = number in self.archived
            return base | thread_of(self.threads[number], archived=asleep)
        kind = NEWS_TYPE if number in self.news else TEXT_TYPE
        return {**base, "type": kind, "position": 0, "permission_overwrites": [], "nsfw": False}

    def guild(self, number: int) -> Json:
        """Return what GUILD_CREATE carries."""
        known = self.guilds[number]
        threads = [self.channel(t) for t, home in self.threads.items() if home in known]
        channels = [self.channel(channel) for channel in known if channel not in self.missing]
        named = {"id": str(number), "name": "Operations", "owner_id": "1", "unavailable": False}
        empty: Json = {
            "roles": roles_of(number),
            "emojis": [],
            "members": [],
            "stickers": [],
            "features": [],
        }
        return {**named, **empty, "channels": channels, "threads": threads, "member_count": 2}

    def direct_channel(self, person: int) -> Json:
        """Find or open the direct messages with a person."""
        self.direct.setdefault(person, self.new_id())
        return self.channel(self.direct[person])

    def reachable(self, channel: int) -> None:
        """Refuse to show or write what a bot may not."""
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

    def known(self, once: tuple[int, str]) -> Json | None:
        """Return the message of an enforced nonce, for some minutes."""
        message, at = self.nonces.get(once, (0, 0.0))
        fresh = time.monotonic() - at < self.nonce_seconds
        return self.channels.get(once[0], {}).get(message) if fresh else None

    def add_message(self, channel: int, author: int, content: Json) -> Json:
        """Keep a new message."""
        message = self.make_message(channel, author, content)
        self.channels.setdefault(channel, {})[int(message["id"])] = message
        return message

    def make_message(self, channel: int, author: int, content: Json) -> Json:
        """Return a new message that the channel does not keep: a private one."""
        empty: Json = {"mentions": [], "mention_roles": [], "embeds": [], "attachments": []}
        return {
            "id": str(self.new_id()),
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

    def held(self, person: int) -> list[str]:
        """Return the roles of a person, as a member carries them."""
        return [str(role) for role in sorted(self.roles.get(person, ()))]

    def open_thread(self, channel: int, name: str, message: int = 0) -> Json:
        """Open a thread in a text channel, of a message if given, or refuse."""
        self.reachable(channel)
        if self.guild_of(channel) is None or channel in self.threads or channel in self.news:
            raise Refusal(400, 50024, "Cannot execute action on this channel type")
        if channel in self.threadless:
            raise Refusal(403, 50013, "Missing Permissions")
        if message in self.threads:
            raise Refusal(400, 160004, "A thread has already been created for this message")
        number = message or self.new_id()
        self.threads[number] = channel
        self.names[number] = name
        return self.channel(number)

    def interaction(
        self, channel: int, user: int, kind: int, extra: Json, source: Json | None = None
    ) -> Interaction:
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
        if source is not None:
            base["message"] = {**source}
        member = {
            "user": person,
            "roles": self.held(user),
            "joined_at": None,
            "flags": 0,
            "permissions": "0",
        }
        where = {"user": person} if guild is None else {"guild_id": str(guild), "member": member}
        made = Interaction(number, token, base | where, self.make_message, source)
        self.interactions[token] = made
        return made

    def first_answer(self, number: int, token: str, body: Json) -> None:
        """Take the first answer to an interaction, once and in time."""
        found = self.interactions.get(token)
        if found is None or found.id != number:
            raise Refusal(404, 10062, "Unknown interaction")
        found.answer_first(body, self.first_answer_seconds)

    def first_message(self, token: str) -> Json:
        """Return the message that the first answer to an interaction made or changed."""
        found = self.interactions.get(token)
        if found is None:
            raise Refusal(401, 50027, "Invalid Webhook Token")
        return found.first_message()

    def later_answer(self, token: str, *, first: bool, body: Json) -> Json:
        """Take an edit of the first answer, or a further one, for 15 minutes."""
        found = self.interactions.get(token)
        if found is None:
            raise Refusal(401, 50027, "Invalid Webhook Token")
        return found.answer_later(body, self.token_seconds, first=first)
