"""Run the three platforms as processes of their own, which outlive their gateways."""

import asyncio
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.model.identity import SessionKey, Target
from core.store import open_store
from core.store.sessions import origins
from tests.emulators.discord_objects import CHANNEL, OTHER_CHANNEL, THREAD
from tests.support.gateway_process import ROOT
from tests.support.product_process import start
from tests.support.prompt_copies import Copy, from_discord, from_slack, from_telegram

Json = dict[str, Any]
SLACK_ANA, ANA = "U0ANA0001", 1001
_READERS = {"slack": from_slack, "telegram": from_telegram, "discord": from_discord}


@dataclass(frozen=True, slots=True)
class Place:
    """A place to ask in, and the conversation that its messages are then in."""

    target: Target
    conversation: str


PLACES = {
    "slack": (
        Place(Target("slack", "C0OPS0001"), "C0OPS0001"),
        Place(Target("slack", SLACK_ANA), "D0ANA0001"),
    ),
    "telegram": tuple(Place(Target("telegram", chat), chat) for chat in ("101", "102", "103")),
    "discord": (
        Place(Target("discord", str(CHANNEL)), str(CHANNEL)),
        Place(Target("discord", str(OTHER_CHANNEL)), str(OTHER_CHANNEL)),
        Place(Target("discord", str(CHANNEL), thread=str(THREAD)), str(THREAD)),
    ),
}


@dataclass(frozen=True, slots=True)
class Chat:
    """A platform's server in a process of its own; ``started`` is what it printed."""

    name: str
    started: Json

    def control(self, verb: str, **params: Any) -> Any:
        """Call the server's control endpoint, which plays the people."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.started['port']}/control/{verb}",
            data=json.dumps(params).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def copies(self) -> list[Copy]:
        """Return the messages of all its places."""
        read = _READERS[self.name]
        return [
            read(place.conversation, message)
            for place in PLACES[self.name]
            for message in self._messages(place.conversation)
            if _is_ours(message)
        ]

    def _messages(self, conversation: str) -> list[Json]:
        number: str | int = conversation if self.name == "slack" else int(conversation)
        key = "chat" if self.name == "telegram" else "channel"
        found: list[Json] = self.control("messages", **{key: number})
        return found

    def press(self, copy: Copy, button: str) -> Any:
        """Press a button as Ana, and return the server's answer to the press."""
        match self.name:
            case "slack":
                where: Json = {"channel": copy.place, "ts": copy.id, "user": SLACK_ANA}
            case "telegram":
                where = {"chat": int(copy.place), "message": int(copy.id), "user": ANA}
            case _:
                where = {"channel": int(copy.place), "message": int(copy.id), "user": ANA}
        return self.control("press", **where, button=button)

    def section(self) -> Json:
        """Return the settings of its channel."""
        url = f"http://127.0.0.1:{self.started['port']}"
        match self.name:
            case "slack":
                tokens = {name: self.started[name] for name in ("botToken", "appToken")}
                return tokens | {"apiBaseUrl": f"{url}/api/", "approvers": [SLACK_ANA]}
            case "telegram":
                more: Json = {"approvers": [ANA], "pollTimeout": 2}
            case _:
                more = {"approvers": [str(ANA)]}
                url = f"{url}/api/v10"
        return {"token": self.started["token"], "apiBaseUrl": url} | more


def _is_ours(message: Json) -> bool:
    author = message.get("author") or message.get("from") or {}
    return "bot_id" in message or bool(author.get("bot") or author.get("is_bot"))


@contextmanager
def chats(*names: str) -> Iterator[dict[str, Chat]]:
    """Run the named servers, or all three if none is named, for as long as the block lasts."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(_chat(name)) for name in names or PLACES}


@contextmanager
def _chat(name: str) -> Iterator[Chat]:
    process = start(
        [sys.executable, "-m", f"tests.emulators.{name}", "--port", "0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield Chat(name, json.loads(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def copies(three: dict[str, Chat]) -> list[Copy]:
    """Return every message on every platform."""
    return [copy for chat in three.values() for copy in chat.copies()]


def configure(home: Path, three: dict[str, Chat], terminal: list[str], **exec_: Any) -> None:
    """Write a configuration that asks where a session came from; ``exec_`` adds to it."""
    config = {
        "tools": {"exec": {"host": "gateway", "security": "allowlist"}},
        "approvals": {"exec": {"mode": "session", "timeout": 600, **exec_}},
        "channels": {name: chat.section() for name, chat in three.items()},
    }
    config["channels"]["terminal"] = {"approvers": terminal}
    home.mkdir(mode=0o700)
    (home / "config.json5").write_text(json.dumps(config))
    (home / "config.json5").chmod(0o600)


def remember(home: Path, places: Iterable[Place]) -> None:
    """Record, before a gateway runs, that a session came from each place; it is named after it."""
    asyncio.run(_remember(home, list(places)))


async def _remember(home: Path, places: list[Place]) -> None:
    store = await open_store(f"sqlite:///{home / 'state.db'}")
    for place in places:
        await store.write(origins.remember_origin, SessionKey(place.conversation), place.target)
    await store.close()
