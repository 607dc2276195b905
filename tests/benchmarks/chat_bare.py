"""Be the minimal bot of each library: a message with a button, edited when it is pressed.

``python -m tests.benchmarks.chat_bare slack|telegram|discord HELLO``, HELLO being what the platform
said; ``post`` posts ``count`` messages, ``places`` in turn. What it decides, it forgets; with a
path as third word it first writes one row to a SQLite file there, as durably as Sayso does.
"""

import asyncio
import json
import re
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import discord
import yarl
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient
from telegram import InlineKeyboardButton, InlineKeyboardMarkup, Update
from telegram.ext import Application, CallbackQueryHandler

from tests.benchmarks.chat_programs import Json, serve

Post = Callable[[str], Awaitable[object]]
_ASK, _DONE = "May I?", "Allowed."


class Rows:
    """One durable row a press, or none without a path."""

    def __init__(self, path: str) -> None:
        self._raw: sqlite3.Connection | None = None
        if path:
            self._raw = sqlite3.connect(path, isolation_level=None)
            self._raw.execute("PRAGMA journal_mode = WAL")
            self._raw.execute("PRAGMA synchronous = FULL")
            self._raw.execute("CREATE TABLE IF NOT EXISTS t (words TEXT)")

    def commit(self) -> None:
        """Write one row and wait for the disk."""
        if self._raw is not None:
            self._raw.execute("INSERT INTO t VALUES (?)", ("x" * 400,))


async def slack(hello: Json, rows: Rows) -> None:
    """Run the smallest slack-bolt app in Socket Mode."""
    client = AsyncWebClient(token=hello["tokens"]["botToken"], base_url=hello["url"])
    app = AsyncApp(client=client)

    @app.action(re.compile(".+"))  # type: ignore[untyped-decorator] # the SDK's
    async def pressed(ack: Any, body: Json, client: AsyncWebClient) -> None:
        await ack()
        rows.commit()
        message = body["container"]
        await client.chat_update(
            channel=message["channel_id"], ts=message["message_ts"], text=_DONE, blocks=[]
        )

    async def post(place: str) -> object:
        button = {"type": "button", "text": {"type": "plain_text", "text": "Yes"}, "action_id": "y"}
        said = {"type": "section", "text": {"type": "plain_text", "text": _ASK}}
        blocks = [said, {"type": "actions", "block_id": "b", "elements": [button]}]
        return await client.chat_postMessage(channel=place, text=_ASK, blocks=blocks)

    handler = AsyncSocketModeHandler(app, hello["tokens"]["appToken"], web_client=client)
    await handler.connect_async()  # type: ignore[no-untyped-call] # the SDK's
    await _serve(hello, post)


async def telegram(hello: Json, rows: Rows) -> None:
    """Run the smallest python-telegram-bot application that polls."""
    app = Application.builder().token(hello["tokens"]["token"])
    bot = app.base_url(f"{hello['url']}/bot").build()

    async def pressed(update: Update, context: object) -> None:
        query = update.callback_query
        assert query is not None
        await query.answer()
        rows.commit()
        await query.edit_message_text(_DONE)

    async def post(place: str) -> object:
        keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="y")]])
        return await bot.bot.send_message(int(place), _ASK, reply_markup=keyboard)

    bot.add_handler(CallbackQueryHandler(pressed))
    async with bot:
        await bot.start()
        assert bot.updater is not None
        await bot.updater.start_polling()
        await _serve(hello, post)
        await bot.updater.stop()
        await bot.stop()


async def discord_(hello: Json, rows: Rows) -> None:
    """Run the smallest discord.py client."""
    discord.http.Route.BASE = hello["url"]
    gateway = hello["url"].replace("http:", "ws:").partition("/api")[0] + "/gateway"
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)
    client = discord.Client(intents=discord.Intents.none())
    ready = asyncio.Event()

    @client.event
    async def on_ready() -> None:
        ready.set()

    @client.event
    async def on_interaction(interaction: discord.Interaction) -> None:
        rows.commit()
        await interaction.response.edit_message(content=_DONE, view=None)

    async def post(place: str) -> object:
        view = discord.ui.View(timeout=None)
        view.add_item(discord.ui.Button(label="Yes", custom_id="y"))
        view.stop()
        return await client.get_partial_messageable(int(place)).send(_ASK, view=view)

    async with client:
        running = asyncio.create_task(client.start(hello["tokens"]["token"]))
        await ready.wait()
        await _serve(hello, post)
        await client.close()
        await running


async def _serve(hello: Json, post: Post) -> None:
    async def handle(asked: Json) -> object:
        for number in range(int(asked["count"])):
            await post(hello["places"][number % len(hello["places"])])
        return True

    await serve({}, handle)


BOTS = {"slack": slack, "telegram": telegram, "discord": discord_}

if __name__ == "__main__":
    asyncio.run(BOTS[sys.argv[1]](json.loads(sys.argv[2]), Rows(*sys.argv[3:] or [""])))
