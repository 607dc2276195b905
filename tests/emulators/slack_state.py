"""Keep what Slack keeps: members, conversations, messages and who may do what."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from tests.emulators.changes import Changes
from tests.emulators.slack_answers import AnswerAddresses
from tests.emulators.slack_rules import Json, Refusal, buttons, escaped, linked

SCOPES = frozenset(("chat:write", "commands", "im:write", "im:history", "app_mentions:read")) | {
    "channels:history",
    "groups:history",
    "users:read",
    "usergroups:read",
}
COMMANDS = (
    "approve",
    "pending",
    "history",
    "run",
    "login",
    "tail",
    "stop",
    "exec",
    "elevated",
    "node",
    "pair",
    "agent",
)
_BURST = 4


@dataclass(slots=True)
class Rate:
    """What is left of a method's calls, over the whole workspace."""

    per_minute: int
    left: float
    filled: float

    def spend(self, now: float) -> None:
        """Count one call, or refuse."""
        per_second = self.per_minute / 60
        self.left = min(self.per_minute, self.left + (now - self.filled) * per_second)
        self.filled = now
        if self.left < 1:
            wait = math.ceil((1 - self.left) / per_second)
            raise Refusal("ratelimited", 429, retry_after=wait)
        self.left -= 1


@dataclass(slots=True)
class Place:
    """A conversation, its members and its messages by timestamp."""

    id: str
    members: set[str]
    messages: dict[str, Json] = field(default_factory=dict)
    archived: bool = False
    tokens: float = _BURST
    filled: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class SlackState(Changes):
    """One workspace with one app; timestamps only grow."""

    bot_token: str = "xoxb-1111111111-2222222222-LocalBotTokenOfTheTests"
    app_token: str = "xapp-1-A0SAYSO01-3333333333-localapptokenofthetests"
    signing_secret: str = "8f742231b10e8888abcd99yyyzzz85a5"
    team: str = "T0TEAM001"
    app: str = "A0SAYSO01"
    bot_user: str = "U0SAYSO01"
    bot: str = "B0SAYSO01"
    name: str = "sayso"
    scopes: set[str] = field(default_factory=lambda: set(SCOPES))
    commands: set[str] = field(default_factory=lambda: {f"/{name}" for name in (*COMMANDS, "help")})
    members: set[str] = field(default_factory=lambda: {"U0ANA0001", "U0BOB0001"})
    deactivated: set[str] = field(default_factory=set)
    user_groups: dict[str, set[str]] = field(default_factory=lambda: {"S0LEADS01": {"U0BOB0001"}})
    places: dict[str, Place] = field(default_factory=dict)
    dms: dict[str, str] = field(default_factory=dict)
    answers: AnswerAddresses = field(default_factory=AnswerAddresses)
    clock: Callable[[], float] = time.monotonic
    _rates: dict[str, Rate] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        members = {*self.members, self.bot_user}
        self.places["C0OPS0001"] = Place("C0OPS0001", members)
        self.places["C0OTHER01"] = Place("C0OTHER01", set(self.members))

    @property
    def whispers(self) -> list[Json]:
        """Return what only single members were shown, oldest first."""
        return self.answers.whispers

    def number(self) -> int:
        """Return the next number."""
        return next(self._numbers)

    def new_ts(self) -> str:
        """Return the next timestamp."""
        return f"{int(time.time())}.{self.number():06d}"

    def rate(self, method: str, per_minute: int) -> None:
        """Count a call against its method's tier, or refuse."""
        now = self.clock()
        self._rates.setdefault(method, Rate(per_minute, per_minute, now)).spend(now)

    def place(self, channel: str) -> Place:
        """Return a conversation, or refuse."""
        found = self.places.get(channel)
        if found is None:
            raise Refusal("channel_not_found")
        return found

    def writable(self, channel: str) -> Place:
        """Return a conversation that the bot may write to, or refuse."""
        found = self.place(channel)
        if found.archived:
            raise Refusal("is_archived")
        if self.bot_user not in found.members:
            raise Refusal("not_in_channel")
        return found

    def dm(self, member: str) -> Place:
        """Return the direct messages of a member with the bot, or refuse."""
        if member not in self.members:
            raise Refusal("user_not_found")
        if member not in self.dms:
            self.dms[member] = f"D{member[1:]}"
            self.places[self.dms[member]] = Place(self.dms[member], {member, self.bot_user})
        return self.places[self.dms[member]]

    def message(self, channel: str, ts: str) -> Json:
        """Return one message, or refuse."""
        found = self.place(channel).messages.get(ts)
        if found is None:
            raise Refusal("message_not_found")
        return found

    def button(self, channel: str, ts: str, name: str) -> Json:
        """Return a button of a message, by label or action id.

        Raises:
            LookupError: the message has no such button.
        """
        return named_button(self.message(channel, ts), name)

    def spend(self, place: Place) -> None:
        """Count one message against a channel's rate: one a second, in short bursts."""
        now = self.clock()
        place.tokens = min(_BURST, place.tokens + now - place.filled)
        place.filled = now
        if place.tokens < 1:
            raise Refusal("ratelimited", 429, retry_after=1)
        place.tokens -= 1

    def add(self, place: Place, user: str, content: Json) -> Json:
        """Keep a new message."""
        ts = self.new_ts()
        message = {"type": "message", "user": user, "ts": ts, **content}
        parent = place.messages.get(str(content.get("thread_ts", "")))
        if "thread_ts" in content and parent is None:
            raise Refusal("thread_not_found")
        if parent is not None:
            message["parent_user_id"] = parent["user"]
            parent["thread_ts"] = parent["ts"]
        place.messages[ts] = message
        return message

    def typed(self, channel: str, user: str, text: str, thread: str = "") -> Json:
        """Store what a member types; a mention of the bot becomes its id, the rest is escaped."""
        place = self.place(channel)
        if user not in place.members:
            raise LookupError(f"{user} is not in {channel}")
        kept = linked(escaped(text)).replace(f"@{self.name}", f"<@{self.bot_user}>")
        more = {"thread_ts": thread} if thread else {}
        return self.add(place, user, {"text": kept, "client_msg_id": str(self.number()), **more})


def named_button(message: Json, name: str) -> Json:
    """Return a message's button, by label or action id.

    Raises:
        LookupError: the message has no such button.
    """
    for button in buttons(message.get("blocks", [])):
        if name in (button["text"]["text"], button["action_id"]):
            return button
    raise LookupError(f"message {message.get('ts', '')} has no button {name!r}")
