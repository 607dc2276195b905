"""The local Bot API server refuses what the platform refuses, and forgets what it forgets."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.emulators.faults import Fault, FaultKind
from tests.emulators.telegram import TelegramServer
from tests.emulators.telegram_delivery import SECRET_HEADER
from tests.emulators.telegram_rates import Rates
from tests.emulators.telegram_rules import Refusal


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
        (
            "sendMessage",
            {
                "chat_id": 1,
                "text": "x",
                "reply_markup": {"inline_keyboard": [[{"text": "x", "callback_data": "y"}]] * 101},
            },
            400,
            "REPLY_MARKUP_TOO_LONG",
        ),
        (
            "sendMessage",
            {
                "chat_id": 1,
                "text": "x",
                "reply_markup": {"inline_keyboard": [[{"text": "x", "callback_data": "y"}] * 9]},
            },
            400,
            "REPLY_MARKUP_TOO_LONG",
        ),
        (
            "sendMessage",
            {"chat_id": -5, "text": "x", "message_thread_id": 7},
            400,
            "message thread not found",
        ),
        (
            "sendMessage",
            {"chat_id": 1, "text": "x", "reply_parameters": {"message_id": 77}},
            400,
            "message to be replied not found",
        ),
        ("createForumTopic", {"chat_id": -5, "name": "x"}, 400, "the chat is not a forum"),
        ("createForumTopic", {"chat_id": -6, "name": "x" * 129}, 400, "TOPIC_NAME_INVALID"),
        ("createForumTopic", {"chat_id": -6, "name": ""}, 400, "TOPIC_NAME_INVALID"),
        ("getChat", {"chat_id": 404}, 400, "chat not found"),
        (
            "setMyCommands",
            {"commands": [{"command": "Run!", "description": "x"}]},
            400,
            "BOT_COMMAND_INVALID",
        ),
        (
            "setMyCommands",
            {"commands": [{"command": "run", "description": ""}]},
            400,
            "BOT_COMMAND_DESCRIPTION_INVALID",
        ),
        (
            "setMyCommands",
            {"commands": [{"command": "run", "description": "x"}] * 101},
            400,
            "BOT_COMMANDS_TOO_MUCH",
        ),
        ("setWebhook", {"url": "no-url"}, 400, "An HTTPS URL must be provided"),
        (
            "setWebhook",
            {"url": "https://x.example/", "secret_token": "not allowed"},
            400,
            "unallowed characters",
        ),
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
    server.state.forums[-6] = {}

    answer = await bot.call(method, **parameters)

    assert (answer["ok"], answer["error_code"]) == (False, code)
    assert words in answer["description"]


async def test_a_wrong_token_is_401(server: TelegramServer, session: aiohttp.ClientSession) -> None:
    """A well-formed token that belongs to no bot."""
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
    """The same update is sent until a later one is asked for."""
    await server.say(1, 42, "hello")

    first = (await bot.call("getUpdates"))["result"]
    second = (await bot.call("getUpdates", offset=first[0]["update_id"]))["result"]
    third = (await bot.call("getUpdates", offset=first[0]["update_id"] + 1))["result"]

    assert first == second
    assert third == []


async def test_a_second_poll_ends_the_first_with_409(server: TelegramServer, bot: Bot) -> None:
    """Each of two programs on one token is told of the other by an error."""
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
    """429 says how long to wait; a call whose answer is lost was still carried out."""
    server.faults.add(Fault(FaultKind.STATUS, "sendMessage", 429, retry_after=3))
    server.faults.add(Fault(FaultKind.LOSE, "sendMessage"))

    refused = await bot.call("sendMessage", chat_id=1, text="x")
    assert refused["parameters"] == {"retry_after": 3}
    assert server.messages(1) == []
    with pytest.raises(aiohttp.ClientError):
        await bot.call("sendMessage", chat_id=1, text="x")
    assert len(server.messages(1)) == 1
    assert (await bot.call("sendMessage", chat_id=1, text="y"))["ok"]


@pytest.mark.parametrize(
    ("url", "words"),
    [("http://x.example/", "An HTTPS URL"), ("https://x.example:9000/", "only on ports 80, 88")],
)
async def test_the_public_server_delivers_to_https_on_four_ports(
    server: TelegramServer, bot: Bot, url: str, words: str
) -> None:
    """A self-hosted server takes what the public one refuses."""
    assert (await bot.call("setWebhook", url=url))["ok"]
    server.state.local = False

    answer = await bot.call("setWebhook", url=url)

    assert 400 == answer["error_code"]
    assert words in answer["description"]


class Hook:
    """A webhook that answers with the given statuses in turn, and with 200 after them."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.got: list[tuple[int, str]] = []

    async def take(self, request: web.Request) -> web.Response:
        """Record an update and its secret."""
        secret = request.headers.get(SECRET_HEADER, "")
        self.got.append(((await request.json())["update_id"], secret))
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200)


async def test_a_webhook_is_asked_until_it_answers_with_2xx(
    server: TelegramServer, bot: Bot
) -> None:
    """Each failure delays one update and not the others; getWebhookInfo reports the error."""
    hook = Hook(500, 404)
    app = web.Application()
    app.router.add_post("/hook", hook.take)
    async with TestServer(app) as at:
        await bot.call("setWebhook", url=str(at.make_url("/hook")), secret_token="s-1")
        await server.say(1, 42, "one")
        await server.until(lambda: server.state.updates == [])
        info = (await bot.call("getWebhookInfo"))["result"]
        await server.say(1, 42, "two")
        await server.until(lambda: server.state.updates == [])

    first, second = hook.got[0][0], hook.got[-1][0]
    assert [(first, "s-1")] * 3 + [(second, "s-1")] == hook.got
    assert "Wrong response from the webhook: 404" == info["last_error_message"]
    assert 0 == info["pending_update_count"]


async def test_polls_are_refused_while_a_webhook_is_set(server: TelegramServer, bot: Bot) -> None:
    """One or the other; waiting updates are kept unless dropped."""
    await bot.call("setWebhook", url="http://127.0.0.1:9/nobody")
    await server.say(1, 42, "one")
    refused = await bot.call("getUpdates")
    assert (409, True) == (refused["error_code"], "webhook is active" in refused["description"])

    await bot.call("deleteWebhook")
    assert 1 == len((await bot.call("getUpdates"))["result"])
    await bot.call("deleteWebhook", drop_pending_updates=True)
    assert [] == (await bot.call("getUpdates"))["result"]


@pytest.mark.parametrize(
    ("chats", "pause", "refused", "first_wait"),
    [([1], 0.0, 31, 5), ([1], 1.0, 0, 0), ([-1], 1.5, 20, 30), (list(range(1, 41)), 0.01, 10, 1)],
    ids=["burst", "slow", "group", "all"],
)
def test_what_comes_too_fast_is_refused_and_counted(
    chats: list[int], pause: float, refused: int, first_wait: int
) -> None:
    """This many of forty messages are refused, and the first says how long to wait in s."""
    at = [1_000.0]
    rates = Rates(clock=lambda: at[0])
    waits: list[int] = []
    for chat in chats * (40 // len(chats)):
        try:
            rates.take(chat)
        except Refusal as refusal:
            waits.append(refusal.retry_after)
        at[0] += pause

    assert refused == len(waits) == rates.violations
    assert waits[:1] == ([first_wait] if refused else [])


async def test_too_many_requests_tell_how_long_to_wait(server: TelegramServer, bot: Bot) -> None:
    """429 with ``retry_after``, as the platform words it; an edit is not counted."""
    server.state.rates.clock = lambda: 0.0
    for _ in range(9):
        sent = await bot.call("sendMessage", chat_id=1, text="x")
    refused = await bot.call("sendMessage", chat_id=1, text="x")
    edited = await bot.call(
        "editMessageText", chat_id=1, message_id=sent["result"]["message_id"], text="y"
    )

    assert (429, True) == (refused["error_code"], edited["ok"])
    assert 1 <= refused["parameters"]["retry_after"] <= 5
    assert 1 == server.state.rates.violations


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
    query = await control("press_choice", chat=1, user=42, label="Deny")
    assert (await control("presses", query=query))["answered"] is False
    old = await control("press_old", chat=1, message=sent["message_id"], user=42, data="a1|d|x")
    assert old != query
    await control("forum", chat=-7)
    assert (await bot.call("createForumTopic", chat_id=-7, name="main"))["ok"]
    assert (await control("webhook")) == {"url": "", "error": "", "attempts": {}}
    await control("fault", kind="status", method="getMe", status=500, times=2)
    assert [(await bot.call("getMe"))["ok"] for _ in range(3)] == [False, False, True]
    assert len(await control("calls")) == 5
    process.terminate()
    await process.wait()
