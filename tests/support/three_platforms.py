"""Run a gateway over the three platforms' local servers, configured as in production."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.app import Gateway, gateway
from bot.settings import load
from core.model.command import ExecRequest
from core.model.identity import Intake, Requester, SessionKey
from core.store import outbox
from tests.channels.discord import guild as discord
from tests.channels.slack import workspace as slack
from tests.channels.telegram import bot_and_user as telegram
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_objects import CHANNEL
from tests.emulators.slack import SlackServer
from tests.emulators.slack_rules import Json, buttons, seen
from tests.emulators.telegram import TelegramServer


@dataclass
class ThreePlatforms:
    """A gateway that asks in three places, and the three platforms."""

    running: Gateway
    slack: SlackServer
    discord: DiscordServer
    telegram: TelegramServer

    def shown(self) -> dict[str, Json]:
        """Return the first message of each place that has one."""
        places = {
            "slack": list(self.slack.state.place(slack.CHANNEL).messages.values()),
            "discord": self.discord.messages(CHANNEL),
            "telegram": self.telegram.messages(telegram.CHAT),
        }
        return {name: messages[0] for name, messages in places.items() if messages}

    def open(self) -> set[str]:
        """Return the places whose message still has buttons."""
        shown = self.shown()
        has = {
            "slack": lambda one: bool(buttons(one["blocks"])),
            "discord": lambda one: bool(one["components"]),
            "telegram": lambda one: bool(one.get("reply_markup")),
        }
        return {name for name, message in shown.items() if has[name](message)}

    def texts(self) -> list[str]:
        """Return what the three messages say."""
        shown = self.shown()
        return [
            seen(shown["slack"]["blocks"]),
            shown["discord"]["content"],
            shown["telegram"]["text"],
        ]

    async def press(self, place: str, label: str) -> None:
        """Press a button in one place."""
        message = self.shown()[place]
        match place:
            case "slack":
                await self.slack.people.press(slack.CHANNEL, message["ts"], slack.ANA, label)
            case "discord":
                await self.discord.press(CHANNEL, int(message["id"]), discord.ANA, label)
            case _:
                await self.telegram.press(telegram.CHAT, message["message_id"], telegram.ANA, label)


@asynccontextmanager
async def three_platforms(
    home: Path,
    sections: Json | None = None,
    *,
    senders: bool = False,
    channels: dict[str, Json] | None = None,
    servers: AsyncExitStack | None = None,
    **exec_: Any,
) -> AsyncIterator[ThreePlatforms]:
    """Run the platforms and a gateway; ``exec_`` are further keys of ``approvals.exec``.

    ``sections`` are further sections of the configuration, ``channels`` further keys of each
    channel; ``senders``: Ana may send commands.
    The platforms end with ``servers``, where they are given.
    """
    async with AsyncExitStack() as stack:
        chats = (SlackServer(), DiscordServer(), TelegramServer())
        holder = servers or stack
        run = [await holder.enter_async_context(server) for server in chats]
        configure(home, *run, **exec_)  # type: ignore[arg-type]
        path = home / "config.json5"
        config = json.loads(path.read_text()) | (sections or {})
        for name, keys in (channels or {}).items():
            config["channels"][name] |= keys
        for section in config["channels"].values() if senders else ():
            section["senders"] = section["approvers"]
        path.write_text(json.dumps(config))
        running = await stack.enter_async_context(gateway(load(home, environ={})))
        yield ThreePlatforms(running, *run)  # type: ignore[arg-type]


def configure(
    home: Path,
    slacks: SlackServer,
    discords: DiscordServer,
    telegrams: TelegramServer,
    **exec_: Any,
) -> None:
    """Write a configuration that differs from production in its URLs only."""
    config = {
        "tools": {"exec": {"host": "gateway", "security": "allowlist"}},
        "approvals": {
            "exec": {
                "mode": "targets",
                "targets": [
                    {"channel": "slack", "to": slack.CHANNEL},
                    {"channel": "discord", "to": str(CHANNEL)},
                    {"channel": "telegram", "to": str(telegram.CHAT)},
                ],
                **exec_,
            }
        },
        "channels": {
            "slack": {
                "botToken": slacks.state.bot_token,
                "appToken": slacks.state.app_token,
                "apiBaseUrl": slacks.url,
                "approvers": [slack.ANA],
            },
            "discord": {
                "token": discords.state.token,
                "apiBaseUrl": discords.url,
                "approvers": [str(discord.ANA)],
            },
            "telegram": {
                "token": telegrams.state.token,
                "apiBaseUrl": telegrams.url,
                "approvers": [telegram.ANA],
            },
        },
    }
    home.chmod(0o700)
    (home / "config.json5").write_text(json.dumps(config))
    (home / "config.json5").chmod(0o600)


def wish(cwd: Path) -> ExecRequest:
    """Return the agent's request."""
    return ExecRequest(
        requester=Requester(Intake.SOCKET, "uid:0", (1, 2)),
        session=SessionKey("main"),
        cwd=str(cwd),
        line="echo ran >> ledger",
    )


async def settled(at: ThreePlatforms) -> None:
    """Wait until every copy of every ended prompt is in its final state."""
    async with asyncio.timeout(20):
        # A platform shows an edit a moment before the gateway has recorded it.
        while await at.running.store.read(outbox.open_surfaces):
            await asyncio.sleep(0.02)
