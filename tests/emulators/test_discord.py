"""The local Discord refuses what the platform refuses, seen over plain HTTP and WebSocket."""

import asyncio
import json
import sys
from typing import Any

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse

from tests.emulators.discord import DiscordServer
from tests.emulators.discord_gateway import GUILD_MESSAGES, MESSAGE_CONTENT
from tests.emulators.discord_objects import BOT, CHANNEL, GUILD, THREAD, Json
from tests.emulators.discord_rules import (
    Refusal,
    check_commands,
    check_message,
    inside_code,
    markup,
)
from tests.emulators.faults import Fault, FaultKind
from tests.support.tables import rows

_POST = f"/channels/{CHANNEL}/messages"


async def _call(
    server: DiscordServer, verb: str, path: str, body: object = None, token: str = ""
) -> tuple[int, Any, dict[str, str]]:
    headers = {
        "Authorization": f"Bot {token or server.state.token}",
        "Content-Type": "application/json",
    }
    data = None if body is None else json.dumps(body)
    async with (
        ClientSession() as session,
        session.request(verb, server.url + path, data=data, headers=headers) as answer,
    ):
        return answer.status, await answer.json(), dict(answer.headers)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"content": "x" * 2001}, 50035),
        ({"content": "\U0001f600" * 1001}, 50035),
        ({"content": " "}, 50006),
        ({"content": "x", "blocks": []}, 50035),
        ({"content": "x", "nonce": "n" * 26}, 50035),
        ({"content": "x", "flags": 1}, 50035),
        ({"content": "x", "allowed_mentions": {"parse": ["all"]}}, 50035),
        ({"content": "x", "embeds": [{"description": "y" * 6001}]}, 50035),
        ({"content": "x", "components": [{"type": 1, "components": []}]}, 50035),
    ],
)
async def test_bodies_that_discord_refuses(body: Json, code: int) -> None:
    """Lengths in UTF-16 units, emptiness, unknown fields and values: 400 with Discord's code."""
    async with DiscordServer() as server:
        status, answer, _ = await _call(server, "POST", _POST, body)

    assert (status, answer["code"]) == (400, code)


@pytest.mark.parametrize(
    "change",
    [{"label": "l" * 81}, {"label": ""}, {"custom_id": "c" * 101}, {"style": 5}, {"type": 3}],
)
def test_buttons_that_discord_refuses(change: Json) -> None:
    """Labels of 80, ids of 100, known styles; the unchanged button passes."""
    button: Json = {"type": 2, "style": 1, "label": "Go", "custom_id": "a"}
    good = {"content": "x", "components": [{"type": 1, "components": [button]}]}
    check_message(good, 0)

    bad = {"content": "x", "components": [{"type": 1, "components": [button | change]}]}
    with pytest.raises(Refusal):
        check_message(bad, 0)
    twice = {"content": "x", "components": [{"type": 1, "components": [button, button]}]}
    with pytest.raises(Refusal):
        check_message(twice, 0)


async def test_answers_have_the_exact_type_and_a_429_names_its_proxy() -> None:
    """A charset, or a missing Via, would make the library take it for something else."""
    async with DiscordServer() as server:
        _, _, headers = await _call(server, "GET", "/users/@me")
        server.faults.add(Fault(FaultKind.STATUS, "getMe", 429, retry_after=2))
        status, answer, limited = await _call(server, "GET", "/users/@me")
        refused, _, _ = await _call(server, "GET", "/users/@me", token="wrong")

    assert headers["Content-Type"] == "application/json"
    assert (status, answer["retry_after"], limited["Via"]) == (429, 2, "1.1 local")
    assert refused == 401


async def test_a_nonce_is_enforced_only_when_asked() -> None:
    """The same nonce returns the same message; without enforcement it posts again."""
    async with DiscordServer() as server:
        body = {"content": "x", "nonce": "1", "enforce_nonce": True}
        first = await _call(server, "POST", _POST, body)
        again = await _call(server, "POST", _POST, body)
        other = await _call(server, "POST", _POST, {"content": "x", "nonce": "1"})

    assert first[1]["id"] == again[1]["id"] != other[1]["id"]


async def test_an_interaction_is_answered_once_in_time_and_only_with_its_token() -> None:
    """Late, repeated and foreign first answers are refused, and so are expired tokens."""
    async with DiscordServer() as server:
        made = await server.interact(CHANNEL, 42, 3, {"data": {}})
        path = f"/interactions/{made.id}/{made.token}/callback"
        answer = {"type": 4, "data": {"content": "x", "flags": 64}}
        first, _, _ = await _call(server, "POST", path, answer)
        _, again, _ = await _call(server, "POST", path, answer)
        _, foreign, _ = await _call(server, "POST", path.replace(made.token, "no"), answer)
        server.state.token_seconds = 0
        webhook = f"/webhooks/{BOT}/{made.token}/messages/@original"
        _, old, _ = await _call(server, "PATCH", webhook, {"content": "y"})
        server.state.first_answer_seconds = 0
        late = await server.interact(CHANNEL, 42, 3, {"data": {}})
        path = f"/interactions/{late.id}/{late.token}/callback"
        _, too_late, _ = await _call(server, "POST", path, answer)

    assert first == 200
    assert (again["code"], foreign["code"], old["code"]) == (40060, 10062, 50027)
    assert too_late["code"] == 10062
    assert late.late


async def test_only_a_press_can_change_the_message_that_was_pressed() -> None:
    """Type 7 edits the pressed message, a private one too; a slash command has none to edit."""
    button: Json = {"type": 2, "style": 2, "label": "Go", "custom_id": "a"}
    shown = {"content": "x", "components": [{"type": 1, "components": [button]}], "flags": 64}
    async with DiscordServer() as server:
        typed = await server.interact(CHANNEL, 42, 2, {"data": {}})
        path = f"/interactions/{typed.id}/{typed.token}/callback"
        _, refused, _ = await _call(server, "POST", path, {"type": 7, "data": {"content": "y"}})
        await _call(server, "POST", path, {"type": 4, "data": shown})
        with pytest.raises(LookupError):
            await server.choose(66, "Go")
        pressed = await server.choose(42, "Go")
        path = f"/interactions/{pressed.id}/{pressed.token}/callback"
        done = {"type": 7, "data": {"content": "y", "components": []}}
        status, _, _ = await _call(server, "POST", path, done)

    assert (refused["code"], status) == (50035, 200)
    assert pressed.payload["message"]["flags"] == 64
    assert typed.notes == ["y"]
    assert typed.replies[0]["components"] == []


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({}, 200, None),
        ({"name": ""}, 400, 50035),
        ({"name": "n" * 101}, 400, 50035),
        ({"type": 0}, 400, 50035),
        ({"auto_archive_duration": 61}, 400, 50035),
    ],
)
async def test_threads_that_discord_refuses(change: Json, status: int, code: int | None) -> None:
    """Names of 1 to 100 units, known types and durations."""
    body = {"name": "session", "type": 11, "auto_archive_duration": 60, **change}
    async with DiscordServer() as server:
        got, answer, _ = await _call(server, "POST", f"/channels/{CHANNEL}/threads", body)
        inside = await _call(server, "POST", f"/channels/{THREAD}/threads", body | {"name": "n"})

    assert (got, answer.get("code")) == (status, code)
    assert inside[1]["code"] in (50024, 50035)


@rows(
    "option",
    [
        {"type": 3, "name": "Big", "description": "x"},
        {"type": 3, "name": "a", "description": "x" * 101},
        {"type": 3, "name": "a", "description": "x", "max_value": 5},
        {"type": 4, "name": "a", "description": "x", "max_length": 5},
        {"type": 3, "name": "a", "description": "x", "max_length": 6001},
        {"type": 3, "name": "a", "description": "x", "choices": [{"name": "", "value": "v"}]},
        {"type": 3, "name": "a", "description": "x", "hint": "y"},
        {"type": 99, "name": "a", "description": "x"},
    ],
)
def test_commands_that_discord_refuses(option: Json) -> None:
    """Names, descriptions, bounds of the right type, choices with names, known fields."""
    command = {"name": "run", "description": "x", "type": 1}
    good = {"type": 3, "name": "a", "description": "x", "max_length": 6000}
    check_commands([{**command, "options": [good]}])

    with pytest.raises(Refusal):
        check_commands([{**command, "options": [option]}])
    with pytest.raises(Refusal):
        check_commands([command, command])


async def test_people_and_servers_are_looked_up() -> None:
    """A user, a server with its roles, and the refusals for those that do not exist."""
    async with DiscordServer() as server:
        server.state.nobody.add(404)
        _, ana, _ = await _call(server, "GET", "/users/42")
        _, nobody, _ = await _call(server, "GET", "/users/404")
        _, guild, _ = await _call(server, "GET", f"/guilds/{GUILD}")
        _, other, _ = await _call(server, "GET", "/guilds/5")

    assert (ana["id"], nobody["code"], other["code"]) == ("42", 10013, 10004)
    assert [role["name"] for role in guild["roles"]] == ["@everyone", "deployers"]


async def _hello(session: ClientSession, server: DiscordServer) -> ClientWebSocketResponse:
    socket = await session.ws_connect(server.gateway.url)
    assert (await socket.receive_json())["op"] == 10
    return socket


def _identify(server: DiscordServer, intents: int, token: str = "") -> Json:
    return {"op": 2, "d": {"token": token or server.state.token, "intents": intents}}


@pytest.mark.parametrize(
    ("intents", "token", "code"),
    [(1, "wrong", 4004), (1 << 30, "", 4013), (MESSAGE_CONTENT, "", 4014)],
)
async def test_identify_is_refused_with_discords_codes(intents: int, token: str, code: int) -> None:
    """A wrong token, unknown intents, an intent that was not granted."""
    async with DiscordServer() as server, ClientSession() as session:
        socket = await _hello(session, server)
        await socket.send_json(_identify(server, intents, token))
        await socket.receive()

        assert socket.close_code == code


async def test_a_resumed_session_gets_what_it_missed_and_an_ended_one_is_invalid() -> None:
    """Replay begins after the given number; a session that the client ended is gone."""
    async with DiscordServer() as server, ClientSession() as session:
        socket = await _hello(session, server)
        await socket.send_json(_identify(server, GUILD_MESSAGES))
        ready = (await socket.receive_json())["d"]
        await socket.close(code=4000)
        await server.until(lambda: not server.gateway.live)
        await server.say(CHANNEL, 42, "hidden words")
        await server.say(CHANNEL, 42, f"<@{BOT}> open words")

        resume = {"token": server.state.token, "session_id": ready["session_id"], "seq": 1}
        socket = await _hello(session, server)
        await socket.send_json({"op": 6, "d": resume})
        events = [await socket.receive_json() for _ in range(3)]
        assert [event["t"] for event in events] == ["MESSAGE_CREATE", "MESSAGE_CREATE", "RESUMED"]
        assert [event["d"].get("content") for event in events[:2]] == ["", f"<@{BOT}> open words"]

        await socket.close(code=1000)
        await server.until(lambda: not server.gateway.sessions)
        socket = await _hello(session, server)
        await socket.send_json({"op": 6, "d": resume})
        assert await socket.receive_json() == {"op": 9, "d": False}


def test_markup_is_what_a_client_makes_live() -> None:
    """Code hides; everything else that Discord renders is found."""
    kinds = [
        ("<@1> @everyone", "mention"),
        ("[a](https://x.example)", "masked link"),
        ("https://x.example", "link"),
        ("||x||", "spoiler"),
        ("<t:1:R>", "timestamp"),
        ("</approve:1>", "command"),
        ("# x", "heading"),
        ("> x", "quote"),
        ("~~x~~", "strike"),
    ]
    for text, kind in kinds:
        assert kind in {found for found, _ in markup(text)}
        assert markup(f"```\n{text}\n```") == []
        assert markup(f"`{text}`") == []
    assert inside_code("a ```\nb\n``` c `d`") == ["b", "d"]


async def test_it_runs_as_a_process_of_its_own() -> None:
    """Another process can drive it: say, messages, sessions, faults, calls."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.emulators.discord", "--port", "0"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    told = json.loads(await process.stdout.readline())
    base = f"http://127.0.0.1:{told['port']}/control/"
    async with ClientSession() as session:
        said = {"channel": CHANNEL, "user": 42, "text": "hello"}
        async with session.post(base + "say", json=said) as answer:
            assert answer.status == 200
        async with session.post(base + "messages", json={"channel": CHANNEL}) as answer:
            assert [one["content"] for one in await answer.json()] == ["hello"]
        choice = {"user": 42, "label": "Always"}
        async with session.post(base + "choose", json=choice) as answer:
            assert answer.status == 404  # no message offers it
        async with session.post(base + "sessions", json={}) as answer:
            assert await answer.json() == {"live": 0, "identifies": 0, "resumes": 0}
        async with session.post(base + "nothing", json={}) as answer:
            assert answer.status == 404
    process.terminate()
    await process.wait()
