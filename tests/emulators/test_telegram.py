"""The local Bot API server refuses what the platform refuses, and forgets what it forgets."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.emulators.faults import Fault, FaultKind
from tests.emulators.telegram import TelegramServer


class Bot:
    """A bare client of the Bot API."""

    def __init__(self, url: str, token: str, session: aiohttp.ClientSession) -> None:
        self._base = f"{url}/bot{token}/"
        self._session = session

    async def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method and return its whole answer."""
        plain = {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in parameters.items()
        }
        async with self._session.post(self._base + method, data=plain) as response:
            answer: dict[str, Any] = await response.json()
            assert response.status == answer.get("error_code", 200)
            return answer


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    """Open an HTTP client."""
    async with aiohttp.ClientSession() as opened:
        yield opened


@pytest.fixture
async def server() -> AsyncIterator[TelegramServer]:
    """Run a server."""
    async with TelegramServer() as running:
        yield running


@pytest.fixture
def bot(server: TelegramServer, session: aiohttp.ClientSession) -> Bot:
    """Return a client with the right token."""
    return Bot(server.url, server.state.token, session)


_BUTTONS = {"inline_keyboard": [[{"text": "Deny", "callback_data": "a1|d|x"}]]}


@pytest.mark.parametrize(
    ("method", "parameters", "code", "words"),
    [
        ("getPie", {}, 404, "Not Found"),
        ("sendMessage", {"chat_id": 1, "text": "x" * 4097}, 400, "message is too long"),
        ("sendMessage", {"chat_id": 1, "text": "\U0001f600" * 2049}, 400, "message is too long"),
        ("sendMessage", {"chat_id": 1, "text": "  "}, 400, "text is empty"),
        ("sendMessage", {"text": "x"}, 400, "chat_id is empty"),
        ("sendMessage", {"chat_id": 404, "text": "x"}, 400, "chat not found"),
        ("sendMessage", {"chat_id": 403, "text": "x"}, 403, "blocked by the user"),
        ("sendMessage", {"chat_id": 1, "text": "x", "colour": "red"}, 400, "unknown parameters"),
        (
            "sendMessage",
            {"chat_id": 1, "text": "x", "entities": [{"type": "pre", "offset": 0, "length": 2}]},
            400,
            "ENTITY_BOUNDS_INVALID",
        ),
        (
            "sendMessage",
            {
                "chat_id": 1,
                "text": "\U0001f600",
                "entities": [{"type": "pre", "offset": 1, "length": 1}],
            },
            400,
            "cuts a character",
        ),
        (
            "sendMessage",
            {
                "chat_id": 1,
                "text": "x",
                "reply_markup": {"inline_keyboard": [[{"text": "x", "callback_data": "y" * 65}]]},
            },
            400,
            "BUTTON_DATA_INVALID",
        ),
        ("editMessageText", {"chat_id": 1, "message_id": 9, "text": "x"}, 400, "edit not found"),
        ("answerCallbackQuery", {"callback_query_id": "q9"}, 400, "query is too old"),
    ],
)
async def test_what_is_refused(
    server: TelegramServer,
    bot: Bot,
    method: str,
    parameters: dict[str, object],
    code: int,
    words: str,
) -> None:
    """Each limit answers with the platform's status and words."""
    server.state.missing.add(404)
    server.state.blocked.add(403)

    answer = await bot.call(method, **parameters)

    assert (answer["ok"], answer["error_code"]) == (False, code)
    assert words in answer["description"]


async def test_a_wrong_token_is_401(server: TelegramServer, session: aiohttp.ClientSession) -> None:
    """A well-formed token of nobody."""
    answer = await Bot(server.url, "1:wrong", session).call("getMe")

    assert answer["error_code"] == 401


async def test_an_edit_without_a_change_is_refused_and_one_without_markup_takes_buttons_away(
    server: TelegramServer, bot: Bot
) -> None:
    """As the platform does."""
    sent = (await bot.call("sendMessage", chat_id=1, text="x", reply_markup=_BUTTONS))["result"]
    same = {"chat_id": 1, "message_id": sent["message_id"], "text": "x"}

    again = await bot.call("editMessageText", **same, reply_markup=_BUTTONS)
    assert "message is not modified" in again["description"]

    assert (await bot.call("editMessageText", **same))["ok"]
    with pytest.raises(LookupError, match="no button"):
        await server.press(1, sent["message_id"], 42, "Deny")


async def test_updates_stay_until_an_offset_confirms_them(server: TelegramServer, bot: Bot) -> None:
    """The same update comes until a later one is asked for."""
    await server.say(1, 42, "hello")

    first = (await bot.call("getUpdates"))["result"]
    second = (await bot.call("getUpdates", offset=first[0]["update_id"]))["result"]
    third = (await bot.call("getUpdates", offset=first[0]["update_id"] + 1))["result"]

    assert first == second
    assert third == []


async def test_a_second_poll_ends_the_first_with_409(server: TelegramServer, bot: Bot) -> None:
    """Two programs on one token hear of each other."""
    first = asyncio.create_task(bot.call("getUpdates", timeout=10))
    await server.until(lambda: server._poll is not None)
    second = asyncio.create_task(bot.call("getUpdates", timeout=10))

    assert (await first)["error_code"] == 409
    await server.say(1, 42, "hello")
    assert len((await second)["result"]) == 1


async def test_a_press_is_answered_once_and_soon(server: TelegramServer, bot: Bot) -> None:
    """A second or late answer is refused, a long one too."""
    sent = (await bot.call("sendMessage", chat_id=1, text="x", reply_markup=_BUTTONS))["result"]
    query = await server.press(1, sent["message_id"], 42, "a1|d|x")

    long = await bot.call("answerCallbackQuery", callback_query_id=query, text="x" * 201)
    first = await bot.call("answerCallbackQuery", callback_query_id=query, text="done")
    second = await bot.call("answerCallbackQuery", callback_query_id=query)
    server.state.query_seconds = 0
    late = await server.press(1, sent["message_id"], 42, "Deny")
    third = await bot.call("answerCallbackQuery", callback_query_id=late)

    assert [long["ok"], first["ok"], second["ok"], third["ok"]] == [False, True, False, False]
    assert server.state.presses[query].text == "done"


async def test_faults_strike_once_each_in_order(server: TelegramServer, bot: Bot) -> None:
    """429 tells how long to wait; a lost answer was carried out all the same."""
    server.faults.add(Fault(FaultKind.STATUS, "sendMessage", 429, retry_after=3))
    server.faults.add(Fault(FaultKind.LOSE, "sendMessage"))

    refused = await bot.call("sendMessage", chat_id=1, text="x")
    assert refused["parameters"] == {"retry_after": 3}
    assert server.messages(1) == []
    with pytest.raises(aiohttp.ClientError):
        await bot.call("sendMessage", chat_id=1, text="x")
    assert len(server.messages(1)) == 1
    assert (await bot.call("sendMessage", chat_id=1, text="y"))["ok"]


async def test_it_runs_as_a_process_of_its_own(session: aiohttp.ClientSession) -> None:
    """Other processes drive it over HTTP, and it outlives its clients."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.emulators.telegram", "--port", "0",
        stdout=asyncio.subprocess.PIPE, env=dict(os.environ),
    )  # fmt: skip
    assert process.stdout is not None
    started = json.loads(await process.stdout.readline())
    url = f"http://127.0.0.1:{started['port']}"

    async def control(action: str, **body: object) -> Any:
        async with session.post(f"{url}/control/{action}", json=body) as response:
            assert response.status == 200, await response.text()
            return await response.json()

    bot = Bot(url, started["token"], session)
    sent = (await bot.call("sendMessage", chat_id=1, text="x", reply_markup=_BUTTONS))["result"]
    query = await control("press", chat=1, message=sent["message_id"], user=42, button="Deny")
    await control("say", chat=1, user=42, text="/pending", reply_to=sent["message_id"])
    assert len(await control("updates")) == 2
    assert [one["text"] for one in await control("messages", chat=1)] == ["x", "/pending"]
    assert (await control("presses", query=query))["answered"] is False
    await control("fault", kind="status", method="getMe", status=500, times=2)
    assert [(await bot.call("getMe"))["ok"] for _ in range(3)] == [False, False, True]
    assert len(await control("calls")) == 4
    process.terminate()
    await process.wait()
