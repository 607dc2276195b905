"""The local workspace refuses what Slack refuses, and fails what Slack fails."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack import SlackServer

CHANNEL, ANA = "C0OPS0001", "U0ANA0001"
_PLAIN = {"type": "plain_text", "text": "x", "emoji": False}
_BUTTON = {"type": "button", "action_id": "a", "text": _PLAIN, "value": "v"}


def section(text: str) -> dict[str, Any]:
    """Return a paragraph."""
    return {"type": "section", "text": {"type": "plain_text", "text": text}}


def actions(**button: object) -> dict[str, Any]:
    """Return a row with one button."""
    return {"type": "actions", "elements": [_BUTTON | button]}


class Bot:
    """A bare client of the Web API."""

    def __init__(self, server: SlackServer, session: aiohttp.ClientSession) -> None:
        self._server = server
        self.session = session

    async def call(self, method: str, token: str = "", **body: Any) -> dict[str, Any]:
        """Call a method and return its whole answer."""
        headers = {"Authorization": f"Bearer {token or self._server.state.bot_token}"}
        url = self._server.url + method
        async with self.session.post(url, json=body, headers=headers) as response:
            answer: dict[str, Any] = await response.json()
            return answer | {"status": response.status}

    async def post(self, **body: Any) -> dict[str, Any]:
        """Post to the channel."""
        return await self.call("chat.postMessage", channel=CHANNEL, text="x", **body)

    async def link(self) -> aiohttp.ClientWebSocketResponse:
        """Connect a socket."""
        opened = await self.call("apps.connections.open", self._server.state.app_token)
        socket = await self.session.ws_connect(opened["url"])
        assert (await socket.receive_json())["type"] == "hello"
        return socket


@pytest.fixture
async def server() -> AsyncIterator[SlackServer]:
    """Run a workspace."""
    async with SlackServer() as running:
        running.delivery.ack_seconds = 0.1
        yield running


@pytest.fixture
async def bot(server: SlackServer) -> AsyncIterator[Bot]:
    """Yield a client with the right token."""
    async with aiohttp.ClientSession() as session:
        yield Bot(server, session)


@pytest.mark.parametrize(
    "blocks",
    [
        [section("x" * 3001)],
        [section("&" * 601)],
        [section("\U0001f600" * 1501)],
        [section("")],
        [section("x")] * 51,
        [{"type": "header", "text": _PLAIN | {"text": "x" * 151}}],
        [{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}],
        [{"type": "section", "fields": [_PLAIN] * 11}],
        [{"type": "section", "fields": [_PLAIN | {"text": "x" * 2001}]}],
        [{"type": "section"}],
        [section("x") | {"colour": "red"}],
        [{"type": "marquee"}],
        [actions(text=_PLAIN | {"text": "x" * 76})],
        [actions(value="x" * 2001)],
        [actions(action_id="x" * 256)],
        [actions(style="green")],
        [actions(confirm={"title": _PLAIN, "text": _PLAIN, "confirm": _PLAIN})],
        [{"type": "actions", "elements": [_BUTTON, _BUTTON]}],
        [{"type": "actions", "elements": [_BUTTON | {"action_id": str(n)} for n in range(26)]}],
        [section("x") | {"block_id": "b"}, section("y") | {"block_id": "b"}],
        [section("x") | {"block_id": "b" * 256}],
    ],
)
async def test_blocks_beyond_a_limit_are_refused(bot: Bot, blocks: list[object]) -> None:
    """Each limit of Block Kit, counted after escaping in UTF-16 units."""
    assert (await bot.post(blocks=blocks))["error"] == "invalid_blocks"


async def test_blocks_at_the_limits_are_taken(bot: Bot) -> None:
    """One less than too much is fine."""
    good = [section("x" * 3000), section("&" * 600), actions(value="x" * 2000)]
    assert (await bot.post(blocks=good))["ok"]


async def test_too_many_blocks_together_are_refused(bot: Bot) -> None:
    """Slack counts about 13,200 characters over all blocks."""
    answer = await bot.post(blocks=[section("x" * 2900)] * 5)
    assert answer["error"] == "msg_blocks_too_long"


@pytest.mark.parametrize(
    ("method", "body", "error"),
    [
        ("chat.postMessage", {"channel": CHANNEL}, "no_text"),
        ("chat.postMessage", {"channel": "C0NOWHERE", "text": "x"}, "channel_not_found"),
        ("chat.postMessage", {"channel": "C0OTHER01", "text": "x"}, "not_in_channel"),
        ("chat.postMessage", {"channel": CHANNEL, "text": "x", "colour": 1}, "invalid_arguments"),
        ("chat.postMessage", {"channel": CHANNEL, "text": "x" * 40_001}, "msg_too_long"),
        ("chat.update", {"channel": CHANNEL, "ts": "1.1", "text": "x"}, "message_not_found"),
        ("chat.postEphemeral", {"channel": CHANNEL, "user": "U0X", "text": "x"}, "user_not_in"),
        ("conversations.open", {"users": "U0NOBODY1"}, "user_not_found"),
        ("chat.delete", {}, "unknown_method"),
    ],
)
async def test_a_call_that_cannot_be_carried_out_is_refused(
    bot: Bot, method: str, body: dict[str, Any], error: str
) -> None:
    """Unknown places, members, methods and arguments, and empty or over-long text."""
    assert (await bot.call(method, **body))["error"].startswith(error)


async def test_tokens_and_scopes_are_checked(server: SlackServer, bot: Bot) -> None:
    """A wrong token, the other kind of token, and a missing scope."""
    assert (await bot.call("auth.test", "xoxb-wrong"))["error"] == "invalid_auth"
    assert (await bot.call("apps.connections.open"))["error"] == "invalid_auth"
    server.state.scopes.discard("chat:write")
    answer = await bot.post()
    assert (answer["error"], answer["needed"]) == ("missing_scope", "chat:write")


async def test_a_message_of_a_member_cannot_be_edited(server: SlackServer, bot: Bot) -> None:
    """A bot edits its own messages only."""
    ts = server.state.typed(CHANNEL, ANA, "mine")["ts"]
    answer = await bot.call("chat.update", channel=CHANNEL, ts=ts, text="x")
    assert answer["error"] == "cant_update_message"


async def test_a_channel_takes_a_burst_and_then_one_a_second(server: SlackServer, bot: Bot) -> None:
    """The fifth message at once is refused with how long to wait; a second later, one is taken."""
    now = time.monotonic()
    server.state.clock = lambda: now
    answers = [await bot.post() for _ in range(5)]
    assert [answer["ok"] for answer in answers] == [True] * 4 + [False]
    assert (answers[-1]["error"], answers[-1]["status"]) == ("ratelimited", 429)
    now += 1
    assert (await bot.post())["ok"]


async def test_metadata_is_returned_only_where_asked_for(bot: Bot) -> None:
    """History has the payload with ``include_all_metadata``; bad metadata is refused."""
    good = {"event_type": "asked", "event_payload": {"id": "7"}}
    assert (await bot.post(metadata=good))["ok"]
    assert (await bot.post(metadata={"event_type": "asked"}))["error"] == "invalid_metadata_format"
    with_it = await bot.call("conversations.history", channel=CHANNEL, include_all_metadata="1")
    without = await bot.call("conversations.history", channel=CHANNEL)
    assert with_it["messages"][0]["metadata"] == good
    assert "metadata" not in without["messages"][0]


async def test_a_ticket_opens_one_socket(server: SlackServer, bot: Bot) -> None:
    """A used ticket is refused."""
    opened = await bot.call("apps.connections.open", server.state.app_token)
    socket = await bot.session.ws_connect(opened["url"])
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await bot.session.ws_connect(opened["url"])
    await socket.close()


async def test_a_press_that_nobody_acknowledges_fails(server: SlackServer, bot: Bot) -> None:
    """Without a socket at once, with a silent one after the deadline; there is no repetition."""
    ts = (await bot.post(blocks=[actions()]))["ts"]
    unheard = await server.people.press(CHANNEL, ts, ANA, "a")
    socket = await bot.link()
    await server.until(lambda: bool(server.delivery.sockets))
    silent = await server.people.press(CHANNEL, ts, ANA, "a")
    await socket.close()

    assert (unheard.failed, unheard.attempts) == (True, 0)
    assert (silent.failed, silent.attempts) == (True, 1)


async def test_an_acknowledged_press_does_not_fail(server: SlackServer, bot: Bot) -> None:
    """The envelope's id, sent back in time, is enough."""
    server.delivery.ack_seconds = 3
    ts = (await bot.post(blocks=[actions()]))["ts"]
    socket = await bot.link()
    await server.until(lambda: bool(server.delivery.sockets))
    pressing = asyncio.create_task(server.people.press(CHANNEL, ts, ANA, "a"))
    envelope = await socket.receive_json()
    await socket.send_json({"envelope_id": envelope["envelope_id"]})
    press = await pressing
    await socket.close()

    assert press.acked
    assert envelope["payload"]["actions"][0]["value"] == "v"


async def test_an_unacknowledged_event_comes_three_times_more(
    server: SlackServer, bot: Bot
) -> None:
    """The same envelope, with the number of the attempt; then it is dropped."""
    server.delivery.retry_delays = (0.0, 0.0, 0.0)
    socket = await bot.link()
    await server.until(lambda: bool(server.delivery.sockets))
    (event,) = await server.people.say(CHANNEL, ANA, "hello <you> & me")
    envelopes = [await socket.receive_json() for _ in range(4)]
    await server.until(lambda: event.failed)
    await socket.close()

    assert [one["retry_attempt"] for one in envelopes] == [0, 1, 2, 3]
    assert len({one["envelope_id"] for one in envelopes}) == 1
    assert envelopes[0]["payload"]["event"]["text"] == "hello &lt;you&gt; &amp; me"


@pytest.mark.parametrize(("line", "thread"), [("/nonsense", ""), ("/approve x deny", "1.1")])
async def test_a_client_refuses_slash_commands(server: SlackServer, line: str, thread: str) -> None:
    """Unregistered ones, and all of them in threads."""
    with pytest.raises(LookupError):
        await server.people.slash(CHANNEL, ANA, line, thread)


async def test_an_answer_address_is_good_for_five_uses(server: SlackServer, bot: Bot) -> None:
    """The sixth answer to one command is refused."""
    command = await server.people.slash(CHANNEL, ANA, "/pending")
    url = command.payload["response_url"]
    statuses = []
    for _ in range(6):
        async with bot.session.post(url, json={"text": "x"}) as answer:
            statuses.append(answer.status)
    assert statuses == [200] * 5 + [404]


async def test_a_press_on_a_private_reply_is_known_by_its_container(
    server: SlackServer, bot: Bot
) -> None:
    """It is not sent along; its answer replaces it, and may delete it."""
    alone = {"channel": CHANNEL, "user": ANA, "text": "x"}
    await bot.call("chat.postEphemeral", **alone, blocks=[actions()])
    press = await server.people.press_choice(ANA, "x")
    (note,) = server.state.whispers
    assert "message" not in press.payload
    assert press.payload["container"]["is_ephemeral"]
    assert press.payload["container"]["message_ts"] == note["message_ts"]
    with pytest.raises(LookupError):
        await server.people.press_choice("U0BOB0001", "x")

    async def respond(**body: object) -> int:
        async with bot.session.post(press.payload["response_url"], json=body) as answer:
            return answer.status

    assert await respond(replace_original=True, colour="red") == 400
    assert await respond(replace_original=True, text="y", blocks=[section("x" * 3001)]) == 400
    assert await respond(replace_original=True, text="y", blocks=[section("y")]) == 200
    assert server.state.whispers == [note]
    assert note["blocks"] == [section("y")]
    assert await respond(delete_original=True) == 200
    assert server.state.whispers == []


async def test_a_command_has_no_message_to_replace(server: SlackServer, bot: Bot) -> None:
    """Only the pressed message can be replaced."""
    command = await server.people.slash(CHANNEL, ANA, "/pending")
    body = {"replace_original": True, "text": "x"}
    async with bot.session.post(command.payload["response_url"], json=body) as answer:
        assert answer.status == 404


async def test_members_and_user_groups_can_be_looked_up(server: SlackServer, bot: Bot) -> None:
    """With their scopes, and only existing ones; each answer names the scopes."""
    server.state.deactivated.add("U0BOB0001")
    assert not (await bot.call("users.info", user=ANA))["user"]["deleted"]
    assert (await bot.call("users.info", user="U0BOB0001"))["user"]["deleted"]
    assert (await bot.call("users.info", user="U0NOBODY1"))["error"] == "user_not_found"
    group = await bot.call("usergroups.users.list", usergroup="S0LEADS01")
    assert group["users"] == ["U0BOB0001"]
    unknown = await bot.call("usergroups.users.list", usergroup="S0GONE001")
    assert unknown["error"] == "no_such_subteam"
    server.state.scopes -= {"users:read", "usergroups:read"}
    for method in ("users.info", "usergroups.users.list"):
        assert (await bot.call(method))["error"] == "missing_scope"


async def test_a_methods_tier_is_kept(server: SlackServer, bot: Bot) -> None:
    """Twenty lookups a minute over the whole workspace; the next one says how long to wait."""
    now = time.monotonic()
    server.state.clock = lambda: now
    answers = [await bot.call("usergroups.users.list", usergroup="S0LEADS01") for _ in range(21)]
    assert [answer["ok"] for answer in answers] == [True] * 20 + [False]
    assert (answers[-1]["error"], answers[-1]["status"]) == ("ratelimited", 429)


async def test_a_typed_address_comes_as_a_link(server: SlackServer) -> None:
    """Slack turns it into a link, with its ampersands as entities."""
    kept = server.state.typed(CHANNEL, ANA, "see http://a.example/?x=1&y <b>")["text"]
    assert kept == "see <http://a.example/?x=1&amp;y> &lt;b&gt;"


async def test_faults_strike_in_order(server: SlackServer, bot: Bot) -> None:
    """A status, a wait, and a message that is accepted while its answer is lost."""
    server.faults.add(Fault(FaultKind.STATUS, "auth.test", 503))
    server.faults.add(Fault(FaultKind.STATUS, "chat.postMessage", 429, retry_after=7))
    server.faults.add(Fault(FaultKind.LOSE, "chat.postMessage"))
    assert (await bot.call("auth.test"))["status"] == 503
    assert (await bot.post())["error"] == "ratelimited"
    with pytest.raises(aiohttp.ClientError):
        await bot.post()
    assert len(server.state.places[CHANNEL].messages) == 1


async def test_it_runs_as_a_process_and_is_played_from_outside() -> None:
    """The first line has port and tokens; ``/control`` plays members and causes faults."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.emulators.slack", "--port", "0"),
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"]},
    )
    try:
        assert process.stdout is not None
        told = json.loads(await process.stdout.readline())
        base = f"http://127.0.0.1:{told['port']}"
        async with aiohttp.ClientSession() as session:

            async def control(action: str, **body: object) -> Any:
                async with session.post(f"{base}/control/{action}", json=body) as answer:
                    return await answer.json()

            slash = await control("slash", channel=CHANNEL, user=ANA, line="/pending")
            bearer = {"Authorization": f"Bearer {told['botToken']}"}
            alone = {"channel": CHANNEL, "user": ANA, "text": "x", "blocks": [actions()]}
            await session.post(f"{base}/api/chat.postEphemeral", json=alone, headers=bearer)
            chosen = await control("press_choice", user=ANA, label="x")
            await control("group", group="S0LEADS01", members=[ANA])
            await control("say", channel=CHANNEL, user=ANA, text="hello")
            await control("fault", kind="status", method="auth.test", status=500)
            (message,) = await control("messages", channel=CHANNEL)
            async with session.post(f"{base}/api/auth.test", headers=bearer) as answer:
                assert answer.status == 500
            method, _, error = (await control("calls"))[-1]
    finally:
        process.terminate()
        await process.wait()

    assert slash["failed"]
    assert (chosen["kind"], chosen["failed"]) == ("interactive", True)
    assert message["text"] == "hello"
    assert (method, error) == ("auth.test", "internal_error")
