"""Keep what Telegram keeps: chats, messages, presses, and updates until they are confirmed.

``rates`` makes it refuse what arrives faster than the platform takes it; it takes short bursts.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.emulators.changes import Changes
from tests.emulators.telegram_rates import Rates
from tests.emulators.telegram_rules import MAX_ANSWER, Refusal, bad

Json = dict[str, Any]


@dataclass(slots=True)
class Press:
    """A pressed button and the answer that the person saw."""

    at: float
    text: str | None = None
    alert: bool = False
    answered: bool = False


@dataclass(slots=True)
class Webhook:
    """The address that updates are delivered to, and how the last failure was worded."""

    url: str = ""
    secret: str = ""
    error: str = ""
    error_at: int = 0


@dataclass(slots=True)
class TelegramState(Changes):
    """One bot's world; ids only grow.

    ``local`` is a self-hosted Bot API server, which delivers to any address. ``forums`` are the
    groups with topics: chat to topic to title. ``kinds`` are chats of a type that their id does not
    reveal.
    """

    token: str = "123456789:AAtest-token-of-the-local-bot-api-01"
    username: str = "sayso_test_bot"
    query_seconds: float = 15.0
    local: bool = True
    missing: set[int] = field(default_factory=set)
    blocked: set[int] = field(default_factory=set)
    chats: dict[int, dict[int, Json]] = field(default_factory=dict)
    updates: list[Json] = field(default_factory=list)
    presses: dict[str, Press] = field(default_factory=dict)
    allowed: list[str] = field(default_factory=lambda: ["message", "callback_query"])
    commands: list[Json] = field(default_factory=list)
    kinds: dict[int, str] = field(default_factory=dict)
    forums: dict[int, dict[int, str]] = field(default_factory=dict)
    webhook: Webhook = field(default_factory=Webhook)
    rates: Rates = field(default_factory=Rates)
    _ids: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def bot(self) -> Json:
        """Return the bot's own user."""
        return {
            "id": int(self.token.partition(":")[0]),
            "is_bot": True,
            "first_name": "Sayso",
            "username": self.username,
        }

    def chat(self, chat_id: int) -> Json:
        """Return a chat as messages carry it."""
        if chat_id in self.kinds:
            return {"id": chat_id, "type": self.kinds[chat_id], "title": "Operations"}
        if chat_id < 0:
            forum = {"is_forum": True} if chat_id in self.forums else {}
            return {"id": chat_id, "type": "supergroup", "title": "Operations", **forum}
        return {"id": chat_id, "type": "private", "first_name": "Person"}

    def reachable(self, chat_id: int) -> None:
        """Refuse to write where a bot cannot write."""
        if chat_id in self.missing:
            raise bad("chat not found")
        if chat_id in self.blocked:
            raise Refusal(403, "Forbidden: bot was blocked by the user")

    def topic(self, chat_id: int, topic_id: int) -> None:
        """Refuse to write into a topic that does not exist."""
        if topic_id not in self.forums.get(chat_id, {}):
            raise bad("message thread not found")

    def open_topic(self, chat_id: int, title: str) -> Json:
        """Open a topic in a group that has topics."""
        if chat_id not in self.forums:
            raise bad("the chat is not a forum")
        number = next(self._ids)
        self.forums[chat_id][number] = title
        return {"message_thread_id": number, "name": title, "icon_color": 7322096}

    def messages(self, chat_id: int) -> list[Json]:
        """Return a chat's messages in order."""
        return list(self.chats.get(chat_id, {}).values())

    def message(self, chat_id: int, message_id: int) -> Json:
        """Return one message, or refuse."""
        found = self.chats.get(chat_id, {}).get(message_id)
        if found is None:
            raise bad("message to edit not found")
        return found

    def add_message(self, chat_id: int, sender: Json, content: Json) -> Json:
        """Keep a new message."""
        number = next(self._ids)
        message = {
            "message_id": number,
            "date": int(time.time()),
            "chat": self.chat(chat_id),
            "from": sender,
            **content,
        }
        self.chats.setdefault(chat_id, {})[number] = message
        return message

    def push(self, kind: str, body: Json) -> int:
        """Queue an update, if the bot wants its kind; return its id."""
        number = next(self._ids)
        if kind in self.allowed:
            self.updates.append({"update_id": number, kind: body})
        return number

    def take(self, offset: int, limit: int) -> list[Json]:
        """Forget what an offset confirms and return the rest."""
        if offset > 0:
            self.updates = [update for update in self.updates if update["update_id"] >= offset]
        return self.updates[:limit]

    def say(self, chat_id: int, user_id: int, text: str, extra: Json | None = None) -> Json:
        """Let a person type; ``extra`` overrides fields of the message."""
        content = {"text": text, **(extra or {})}
        reply_to = content.pop("reply_to", None)
        if reply_to is not None:
            content["reply_to_message"] = self.message(chat_id, reply_to)
        message = self.add_message(chat_id, _person(user_id), content)
        self.push("message", message)
        return message

    def press(self, chat_id: int, message_id: int, user_id: int, button: str) -> str:
        """Let a person press a button, named by label or data; return the query id.

        Raises:
            LookupError: the message has no such button.
        """
        message = self.message(chat_id, message_id)
        rows = (message.get("reply_markup") or {}).get("inline_keyboard", [])
        data = [
            one["callback_data"]
            for row in rows
            for one in row
            if "callback_data" in one and button in (one["text"], one["callback_data"])
        ]
        if not data:
            raise LookupError(f"message {message_id} has no button {button!r}")
        return self.press_data(message, user_id, data[0])

    def press_choice(self, chat_id: int, user_id: int, label: str) -> str:
        """Let a person press a choice in the newest message that offers it; return the query id.

        Raises:
            LookupError: no message offers it.
        """
        for message in reversed(self.messages(chat_id)):
            rows = (message.get("reply_markup") or {}).get("inline_keyboard", [])
            if any(label == button["text"] for row in rows for button in row):
                return self.press(chat_id, message["message_id"], user_id, label)
        raise LookupError(f"no message in chat {chat_id} offers {label!r}")

    def press_data(self, message: Json, user_id: int, data: str) -> str:
        """Let a person send callback data, as a client with an old copy of a message can."""
        query_id = f"q{next(self._ids)}"
        self.presses[query_id] = Press(time.monotonic())
        self.push(
            "callback_query",
            {
                "id": query_id,
                "from": _person(user_id),
                "message": message,
                "chat_instance": "1",
                "data": data,
            },
        )
        return query_id

    def answer(self, query_id: str, text: str, *, alert: bool) -> None:
        """Show a person the answer to a press, once and soon."""
        press = self.presses.get(query_id)
        late = press is None or time.monotonic() - press.at > self.query_seconds
        if press is None or late or press.answered:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        if len(text) > MAX_ANSWER:
            raise bad("MESSAGE_TOO_LONG")
        press.text, press.alert, press.answered = text, alert, True


def _person(user_id: int) -> Json:
    return {"id": user_id, "is_bot": False, "first_name": f"Person {user_id}"}
