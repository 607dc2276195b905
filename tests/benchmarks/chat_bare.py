"""Run the minimal bot of each library: a message with a button, edited when it is pressed.

``python -m tests.benchmarks.chat_bare slack|telegram|discord HELLO``, HELLO being what the platform
said; ``post`` posts ``count`` questions to its places in turn, and a copy of each to every place of
``copies``. What it decides, it forgets; with a path as third word it first writes one row to a
SQLite file there, as durably as Sayso does.
"""

import asyncio
import json
import re
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import discord
import yarl
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient
from telegram import InlineKeyboardButton, InlineKeyboardMarkup, Update
from telegram.ext import Application, CallbackQueryHandler

from tests.benchmarks.chat_programs import Json, serve

Copies = dict[str, list[Any]]
"""Where each question was posted, by what its button sends; in the library's terms."""
Post = Callable[[str, str], Awaitable[Any]]
_A_PLACE_TAKES_ONE_S = 1.1
_ASK, _DONE = "May I?", "Allowed."


class Rows:
    """One durable row per press, or none without a path."""

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
    copies: Copies = {}

    @app.action(re.compile(".+"))
    async def pressed(ack: Any, body: Json, client: AsyncWebClient) -> None:
        await ack()
        rows.commit()
        at = body["container"]
        own = (at["channel_id"], at["message_ts"])
        others = [one for one in copies[body["actions"][0]["action_id"]] if one != own]
        await asyncio.gather(
            *(
                client.chat_update(channel=channel, ts=ts, text=_DONE, blocks=[])
                for channel, ts in (own, *others)
            )
        )

    async def post(place: str, name: str) -> Any:
        words = {"type": "plain_text", "text": "Yes"}
        button = {"type": "button", "text": words, "action_id": name}
        said = {"type": "section", "text": {"type": "plain_text", "text": _ASK}}
        blocks: list[Json] = [said, {"type": "actions", "block_id": "b", "elements": [button]}]
        sent = await client.chat_postMessage(channel=place, text=_ASK, blocks=blocks)
        return sent["channel"], sent["ts"]

    handler = AsyncSocketModeHandler(app, hello["tokens"]["appToken"], web_client=client)
    await handler.connect_async()  # type: ignore[no-untyped-call] # the SDK's
    await _serve(hello, post, copies)


async def telegram(hello: Json, rows: Rows) -> None:
    """Run the smallest python-telegram-bot application that polls."""
    app = Application.builder().token(hello["tokens"]["token"])
    bot = app.base_url(f"{hello['url']}/bot").build()
    copies: Copies = {}

    async def pressed(update: Update, context: object) -> None:
        query = update.callback_query
        assert query is not None
        await query.answer()
        rows.commit()
        assert query.message is not None
        own = (query.message.chat.id, query.message.message_id)
        others = [one for one in copies[str(query.data)] if one != own]
        await asyncio.gather(
            query.edit_message_text(_DONE),
            *(
                bot.bot.edit_message_text(_DONE, chat_id=chat, message_id=number)
                for chat, number in others
            ),
        )

    async def post(place: str, name: str) -> Any:
        keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data=name)]])
        sent = await bot.bot.send_message(int(place), _ASK, reply_markup=keyboard)
        return sent.chat.id, sent.message_id

    bot.add_handler(CallbackQueryHandler(pressed))
    async with bot:
        await bot.start()
        assert bot.updater is not None
        await bot.updater.start_polling()
        await _serve(hello, post, copies)
        await bot.updater.stop()
        await bot.stop()


async def discord_(hello: Json, rows: Rows) -> None:
    """Run the smallest discord.py client."""
    discord.http.Route.BASE = hello["url"]
    gateway = hello["url"].replace("http:", "ws:").partition("/api")[0] + "/gateway"
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)
    client = discord.Client(intents=discord.Intents.none())
    ready = asyncio.Event()
    copies: Copies = {}

    @client.event
    async def on_ready() -> None:
        ready.set()

    @client.event
    async def on_interaction(interaction: discord.Interaction) -> None:
        rows.commit()
        pressed = interaction.message
        data: Mapping[str, object] = interaction.data or {}
        sent = copies[str(data.get("custom_id"))]
        await asyncio.gather(
            interaction.response.edit_message(content=_DONE, view=None),
            *(
                one.edit(content=_DONE, view=None)
                for one in sent
                if pressed is not None and one.id != pressed.id
            ),
        )

    async def post(place: str, name: str) -> Any:
        view = discord.ui.View(timeout=None)
        view.add_item(discord.ui.Button(label="Yes", custom_id=name))
        view.stop()
        return await client.get_partial_messageable(int(place)).send(_ASK, view=view)

    async with client:
        running = asyncio.create_task(client.start(hello["tokens"]["token"]))
        await ready.wait()
        await _serve(hello, post, copies)
        await client.close()
        await running


async def _serve(hello: Json, post: Post, copies: Copies) -> None:
    async def handle(asked: Json) -> object:
        places = hello["places"]
        for number in range(int(asked["count"])):
            name, where = f"y{number}", [places[number % len(places)], *asked.get("copies", ())]
            copies[name] = [await post(place, name) for place in where]
            if len(where) > 1:
                await asyncio.sleep(_A_PLACE_TAKES_ONE_S)
        return True

    await serve({}, handle)


BOTS = {"slack": slack, "telegram": telegram, "discord": discord_}

if __name__ == "__main__":
    asyncio.run(BOTS[sys.argv[1]](json.loads(sys.argv[2]), Rows(*sys.argv[3:] or [""])))
