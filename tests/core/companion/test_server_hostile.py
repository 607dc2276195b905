"""Send malformed and hostile requests: no dialog, no hang; afterwards a valid client gets one."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.companion.limits import RateLimit
from tests.core.companion.desks import TOKEN, RecordingDesk, companion, question, run_order
from tests.support.page_client import PageClient, now_ms, request, sign

Attack = Callable[[PageClient], None]
PATIENT_S = 3.0
"""Seconds in which a companion whose challenge counts for a second has ended any connection."""


def _line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _signed(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Attack:
    """Send a valid request for a valid question, changed after it was signed."""

    def attack(client: PageClient) -> None:
        client.send(change(request(TOKEN, client.challenge(), now_ms(), question())))

    return attack


def _asking(body: dict[str, Any] | str) -> Attack:
    """Sign and send what is not a valid question."""

    def attack(client: PageClient) -> None:
        client.send(request(TOKEN, client.challenge(), now_ms(), body))

    return attack


def _raw(data: bytes) -> Attack:
    """Send bytes in answer to the challenge."""

    def attack(client: PageClient) -> None:
        client.challenge()
        client.raw(data)

    return attack


def _at(ts: int) -> Attack:
    """Sign a request of another time, off by this many ms."""

    def attack(client: PageClient) -> None:
        client.send(request(TOKEN, client.challenge(), now_ms() + ts, question()))

    return attack


def _with_token(token: str) -> Attack:
    def attack(client: PageClient) -> None:
        client.send(request(token, client.challenge(), now_ms(), question()))

    return attack


def _with_nonce(nonce: str) -> Attack:
    def attack(client: PageClient) -> None:
        client.challenge()
        client.send(request(TOKEN, nonce, now_ms(), question()))

    return attack


def _before_the_challenge(client: PageClient) -> None:
    client.send(request(TOKEN, "0" * 32, now_ms(), question()))


def _purpose(client: PageClient) -> None:
    """Sign a request with the signature of another purpose."""
    nonce = client.challenge()
    found = request(TOKEN, nonce, now_ms(), question())
    client.send(found | {"hmac": sign(TOKEN, "ready", nonce)})


def _oversized(client: PageClient) -> None:
    client.challenge()
    client.raw(b'{"type":"request","requestJson":"' + b"a" * 300_000)


def _oversized_and_whole(client: PageClient) -> None:
    body = question(command="a" * 256_000)
    client.send(request(TOKEN, client.challenge(), now_ms(), body))


def _half_and_silent(client: PageClient) -> None:
    frame = _line(request(TOKEN, client.challenge(), now_ms(), question()))
    client.raw(frame[: len(frame) // 2])


def _half_and_gone(client: PageClient) -> None:
    _half_and_silent(client)
    client.socket.shutdown(socket.SHUT_WR)


def _without_line_end(client: PageClient) -> None:
    client.raw(_line(request(TOKEN, client.challenge(), now_ms(), question()))[:-1])


def _changed(**changes: object) -> Attack:
    return _signed(lambda found: found | changes)


def _other_command(found: dict[str, Any]) -> dict[str, Any]:
    return found | {"requestJson": json.dumps(question(command="rm -rf /"))}


def _without(key: str) -> Attack:
    return _signed(lambda found: {name: one for name, one in found.items() if name != key})


def _twice(client: PageClient) -> None:
    """Send an object that has a key twice, the second of which is another question."""
    found = json.dumps(request(TOKEN, client.challenge(), now_ms(), question()))
    client.raw(f'{found[:-1]},"requestJson":"{{}}"}}\n'.encode())


ATTACKS: dict[str, tuple[Attack, str | None]] = {
    "silence": (lambda client: None, "timed_out"),
    "an empty line": (_raw(b"\n"), "bad_frame"),
    "no JSON": (_raw(b"allow-once please\n"), "bad_frame"),
    "HTTP": (_raw(b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "bad_frame"),
    "no UTF-8": (_raw(b"\xff\xfe\xfd\n"), "bad_frame"),
    "a list": (_raw(b"[]\n"), "bad_frame"),
    "a number": (_raw(b"1\n"), "bad_frame"),
    "nested deeply": (_raw(b'{"a":' + b"[" * 5_000 + b"]" * 5_000 + b"}\n"), "bad_frame"),
    "NaN": (_raw(b'{"type":"request","version":1,"ts":NaN}\n'), "bad_frame"),
    "an empty object": (_raw(b"{}\n"), "bad_frame"),
    "an answer": (_raw(_line({"type": "answer", "decision": "allow-once"})), "bad_frame"),
    "half a frame, then silence": (_half_and_silent, "timed_out"),
    "half a frame, then the end": (_half_and_gone, "bad_frame"),
    "a frame without its end": (_without_line_end, "timed_out"),
    "oversized without an end": (_oversized, "too_large"),
    "oversized": (_oversized_and_whole, "too_large"),
    "another token": (_with_token("another token"), "unauthenticated"),
    "an empty token": (_with_token(""), "unauthenticated"),
    "a token in capitals": (_with_token(TOKEN.upper()), "unauthenticated"),
    "a signature of zeros": (_changed(hmac="0" * 64), "unauthenticated"),
    "a signature of another purpose": (_purpose, "unauthenticated"),
    "a short signature": (_changed(hmac="00"), "bad_frame"),
    "a signature in capitals": (_changed(hmac="A" * 64), "bad_frame"),
    "no signature": (_without("hmac"), "bad_frame"),
    "no nonce": (_without("nonce"), "bad_frame"),
    "no time": (_without("ts"), "bad_frame"),
    "another command after signing": (_signed(_other_command), "unauthenticated"),
    "another time after signing": (
        _signed(lambda found: found | {"ts": found["ts"] + 1}),
        "unauthenticated",
    ),
    "11 s old": (_at(-11_000), "stale"),
    "11 s ahead": (_at(11_000), "stale"),
    "the time 0": (_at(-now_ms()), "stale"),
    "a nonce of one's own": (_with_nonce("0" * 32), "stale"),
    "a request before the challenge": (_before_the_challenge, "stale"),
    "another version": (_changed(version=2), "bad_frame"),
    "a version as text": (_changed(version="1"), "bad_frame"),
    "a time as text": (_changed(ts=str(now_ms())), "bad_frame"),
    "a key more": (_changed(decision="allow-once"), "bad_frame"),
    "a key twice": (_twice, "bad_frame"),
    "no question": (_asking("{}"), "bad_frame"),
    "a question of text": (_asking("rm -rf /"), "bad_frame"),
    "another kind": (_asking({"kind": "exec", "argv": ["rm"]}), "bad_frame"),
    "a run where nothing runs": (_asking(run_order()), "no_runs"),
    "a run without a plan": (_asking({**run_order(), "plan": None}), "bad_frame"),
    "a run that somebody else allowed": (_asking({**run_order(), "by": "root"}), "bad_frame"),
    "a run with a key more": (_asking({**run_order(), "uid": 0}), "bad_frame"),
    "no answers": (_asking(question(answers=[])), "bad_frame"),
    "an unknown answer": (_asking(question(answers=["allow-all"])), "bad_frame"),
    "a digest of another form": (_asking(question(digest="x")), "bad_frame"),
    "a question with a key more": (_asking(question(approved=True)), "bad_frame"),
    "half a character": (_asking(question(command="\ud800")), "bad_frame"),
    "NUL": (_asking(question(command="ls\0-l")), "bad_frame"),
}


def _attacked(path: Path, attack: Attack) -> dict[str, Any] | None:
    client = PageClient(path, TOKEN, PATIENT_S)
    try:
        attack(client)
        said = client.read()
        if said is not None and said["type"] == "challenge":
            said = client.read()
        return said
    finally:
        client.close()


def _asked_rightly(path: Path) -> dict[str, Any] | None:
    client = PageClient(path, TOKEN, PATIENT_S)
    try:
        return client.ask(question())
    finally:
        client.close()


@pytest.mark.parametrize("kind", ATTACKS)
async def test_a_hostile_client_gets_no_dialog(kind: str) -> None:
    """It is refused with its reason and nothing is shown; a valid client then gets a dialog."""
    attack, reason = ATTACKS[kind]
    dialogs = RecordingDesk()
    # A clock of a second for silent clients; one that says it is 11 s old is so either way.
    silent = reason == "timed_out"
    async with companion(dialogs, ttl_ms=1_000 if silent else 10_000) as server:
        said = await asyncio.to_thread(_attacked, server.path, attack)
        shown = len(dialogs.shown)
        control = await asyncio.to_thread(_asked_rightly, server.path)

    assert ("refused", reason) == ((said or {}).get("type"), (said or {}).get("reason"))
    assert 0 == shown
    assert "shown" == (control or {})["type"]
    assert 1 == len(dialogs.shown)


def test_there_are_forty_kinds() -> None:
    """The issue asks for at least forty."""
    assert len(ATTACKS) >= 40


@pytest.mark.parametrize("again", ["on another connection", "on the same", "after a restart"])
async def test_a_request_that_was_recorded_is_refused(again: str) -> None:
    """The bytes that opened a dialog open none again, although they are not ten seconds old."""
    dialogs = RecordingDesk()
    async with companion(dialogs) as server:
        first = PageClient(server.path, TOKEN)
        nonce = await asyncio.to_thread(first.challenge)
        recorded = _line(request(TOKEN, nonce, now_ms(), question()))
        first.raw(recorded)
        assert "shown" == ((await asyncio.to_thread(first.read)) or {})["type"]
        if again == "on the same":
            first.raw(recorded)
            assert await asyncio.to_thread(first.read) is None
            first.close()
        elif again == "on another connection":
            first.close()
            said = await asyncio.to_thread(_attacked, server.path, _raw(recorded))
            assert "stale" == (said or {})["reason"]
        else:
            first.close()
            await server.close()
            await server.start()
            said = await asyncio.to_thread(_attacked, server.path, _raw(recorded))
            assert "stale" == (said or {})["reason"]

    assert 1 == len(dialogs.shown)


async def test_a_question_that_is_open_is_not_opened_twice() -> None:
    """A second request for the same approval is refused while the first is on the screen."""
    dialogs = RecordingDesk()
    async with companion(dialogs) as server:
        first = PageClient(server.path, TOKEN)
        assert "shown" == ((await asyncio.to_thread(first.ask, question())) or {})["type"]
        said = await asyncio.to_thread(_asked_rightly, server.path)
        first.close()

    assert "already_shown" == (said or {})["reason"]
    assert 1 == len(dialogs.shown)


@pytest.mark.parametrize(
    "said", [b"{}\n", b"x\n", b"y" * 300_000, _line({"type": "ended", "id": "0" * 26, "words": ""})]
)
async def test_nonsense_after_the_request_closes_the_dialog(said: bytes) -> None:
    """A client that was admitted and then talks nonsense loses its dialog and its connection."""
    dialogs = RecordingDesk()
    async with companion(dialogs) as server:
        client = PageClient(server.path, TOKEN)
        assert "shown" == ((await asyncio.to_thread(client.ask, question())) or {})["type"]
        await asyncio.to_thread(client.raw, said)
        assert await asyncio.to_thread(client.read) is None
        client.close()

    assert 1 == len(dialogs.ended)


async def test_a_flood_opens_nothing_and_another_process_gets_through() -> None:
    """Of 200 connections of one process most are refused; another process gets its dialog."""
    dialogs = RecordingDesk()
    async with companion(dialogs, rate=RateLimit(burst=10, a_second=1)) as server:
        said = [
            await asyncio.to_thread(_attacked, server.path, lambda one: one.raw(b"{}\n"))
            for _ in range(200)
        ]
        reasons = [(one or {})["reason"] for one in said]
        other = await asyncio.to_thread(_in_another_process, server.path)

    assert reasons.count("rate_limited") >= 150
    assert {"rate_limited", "bad_frame"} == set(reasons)
    assert "shown" == other
    assert 1 == len(dialogs.shown)


def _in_another_process(path: Path, user: int | None = None) -> str:
    """Ask correctly from another process, perhaps of another user; return the replies."""
    program = (
        "import json, os, sys; sys.path.insert(0, sys.argv[1]); import page_client as page\n"
        "if sys.argv[5]:\n"
        "    os.setgroups([]); os.setgid(int(sys.argv[5])); os.setuid(int(sys.argv[5]))\n"
        "client = page.PageClient(sys.argv[2], sys.argv[3])\n"
        "try:\n"
        "    found = client.ask(json.loads(sys.argv[4]))\n"
        "except AssertionError:\n"
        "    found = {'type': 'closed'}\n"
        "print(found['type'])\n"
    )
    support = Path(__file__).parents[2] / "support"
    words = [sys.executable, "-c", program, str(support), str(path), TOKEN]
    done = subprocess.run(
        [*words, json.dumps(question()), str(user or "")],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip().rpartition("\n")[2]


async def test_another_unix_user_is_refused_by_mode_and_by_the_kernels_word() -> None:
    """User nobody cannot open the socket; with the modes open, it is disconnected by its uid."""
    dialogs, nobody = RecordingDesk(), 65534
    async with companion(dialogs) as server:
        by_mode = await asyncio.to_thread(_in_another_process, server.path, nobody)
        server.path.parent.chmod(0o755)
        server.path.chmod(0o666)
        by_uid = await asyncio.to_thread(_in_another_process, server.path, nobody)
        assert 0 == len(dialogs.shown)
        own = await asyncio.to_thread(_in_another_process, server.path)

    assert "Permission denied" in by_mode
    assert ("closed", "shown") == (by_uid, own)
