"""`sayso run` asks at a companion, whose user answers with one key; everything is real."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from core.approvals.file.file import ApprovalsFile
from tests.e2e.running import SAYSO, read_until
from tests.support.companion import (
    UID,
    asking,
    calm,
    companion_at,
    configure,
    ended,
    gateway_at,
    shown,
)
from tests.support.gateway_process import ROOT, GatewayProcess, bot_api
from tests.support.terminal import terminal
from tests.support.waiting import until


def journal(gateway: GatewayProcess, kind: str) -> list[dict[str, Any]]:
    """Return the records of one kind."""
    lines = (gateway.home / "audit.jsonl").read_text().splitlines()
    return [one for one in map(json.loads, lines) if one.get("kind") == kind]


async def test_a_key_allows_what_was_asked(tmp_path: Path) -> None:
    """The dialog shows the prompt's words; `a` runs it once; the journal says who and where."""
    home = tmp_path / "home"
    configure(home)
    with gateway_at(home) as gateway:
        async with companion_at(home) as (screen, pilot):
            process = asking(gateway, "--cwd", str(tmp_path), "-c", "touch made")
            await calm(screen, pilot)
            words = shown(screen)
            assert not (tmp_path / "made").exists()
            await pilot.press("a")
            code, _, error = await ended(process)
            await until(lambda: not screen.dialogs.waiting)
            (last,) = screen.dialogs.ended
        (resolved,) = journal(gateway, "resolve")

    assert (0, True) == (code, (tmp_path / "made").exists()), error
    for part in ("touch made", str(tmp_path), "main · on gateway", "a  Allow once", "d  Deny"):
        assert part in words
    assert "llowed" in last
    assert f"companion:{UID}" in json.dumps(resolved)


@pytest.mark.parametrize(("key", "code", "again"), [("d", 3, 3), ("A", 0, 0)])
async def test_deny_and_always(tmp_path: Path, key: str, code: int, again: int) -> None:
    """`d` refuses; `A` runs it and lets the same command run without asking from then on."""
    home = tmp_path / "home"
    configure(home)
    with gateway_at(home) as gateway:
        async with companion_at(home) as (screen, pilot):
            process = asking(gateway, "-c", "sha256sum /etc/hostname")
            await calm(screen, pilot)
            await pilot.press(key)
            assert code == (await ended(process))[0]
        second = asking(gateway, "-c", "sha256sum /etc/hostname")
        assert again == (await ended(second))[0]
        assert [] == [one for one in journal(gateway, "finish") if code == 3]


async def test_without_a_companion_the_fallback_decides_at_once(tmp_path: Path) -> None:
    """No companion listens: denied within seconds, and the journal names the companion."""
    home = tmp_path / "home"
    configure(home)
    with gateway_at(home) as gateway:
        began = time.monotonic()
        code, _, error = await ended(asking(gateway, "-c", "touch /tmp/never"))
        took_s = time.monotonic() - began
        (resolved,) = journal(gateway, "resolve")

    assert 3 == code
    assert took_s < 10
    assert "no_route" in error or "nobody could be asked" in error
    assert "exec-approvals.json has no socket.token" in json.dumps(resolved)


async def test_a_fallback_of_full_runs_without_a_companion(tmp_path: Path) -> None:
    """The control: the same request runs if the file's fallback says so."""
    home = tmp_path / "home"
    configure(home, fallback="full")
    with gateway_at(home) as gateway:
        code, _, error = await ended(asking(gateway, "--cwd", str(tmp_path), "-c", "touch made"))

    assert (0, True) == (code, (tmp_path / "made").exists()), error


async def test_a_companion_that_ends_while_it_asks(tmp_path: Path) -> None:
    """The only place is gone: denied at once, not at the timeout; the journal says why."""
    home = tmp_path / "home"
    configure(home)
    with gateway_at(home) as gateway:
        async with companion_at(home) as (screen, pilot):
            process = asking(gateway, "--cwd", str(tmp_path), "-c", "touch made")
            await calm(screen, pilot)
        began = time.monotonic()
        code, _, error = await ended(process)
        (lost,) = journal(gateway, "unreachable")

    assert (3, False) == (code, (tmp_path / "made").exists()), error
    assert time.monotonic() - began < 10
    assert "companion" in json.dumps(lost)


async def test_a_chat_goes_on_when_the_companion_ends(tmp_path: Path) -> None:
    """Asked in Telegram as well, the question stays open there, and its answer counts."""
    home = tmp_path / "home"
    with bot_api() as api:
        configure(home, api=api)
        with gateway_at(home) as gateway:
            async with companion_at(home) as (screen, pilot):
                process = asking(gateway, "--cwd", str(tmp_path), "-c", "touch made")
                await calm(screen, pilot)
                prompt = api.prompt("touch made")
            await until(lambda: journal(gateway, "unreachable") != [])
            assert process.poll() is None
            api.press(prompt, "Allow once")
            code, _, error = await ended(process)

    assert (0, True) == (code, (tmp_path / "made").exists()), error


async def test_an_answer_in_a_chat_closes_the_dialog(tmp_path: Path) -> None:
    """The first answer decides; the companion says who gave it."""
    home = tmp_path / "home"
    with bot_api() as api:
        configure(home, api=api)
        with gateway_at(home) as gateway:
            async with companion_at(home) as (screen, pilot):
                process = asking(gateway, "-c", "touch /tmp/never")
                await calm(screen, pilot)
                api.press(api.prompt("touch"), "Deny")
                assert 3 == (await ended(process))[0]
                await until(lambda: not screen.dialogs.waiting)
                assert "enied" in screen.dialogs.ended[-1]


async def test_who_is_no_approver_is_told_so(tmp_path: Path) -> None:
    """Listed in the chat only: the companion is not asked."""
    home = tmp_path / "home"
    configure(home, approvers=("uid:4294967",))
    with gateway_at(home) as gateway:
        async with companion_at(home) as (screen, pilot):
            process = asking(gateway, "--cwd", str(tmp_path), "-c", "touch made")
            await calm(screen, pilot)
            await pilot.press("a")
            await until(lambda: "not" in shown(screen).split("v  Details")[-1])
            assert process.poll() is None
            words = shown(screen)
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGINT)
            await ended(process)

    assert not (tmp_path / "made").exists()
    assert "approver" in words


async def test_the_session_that_asks_is_not_asked(tmp_path: Path) -> None:
    """A request from the companion's own kernel session is not put to it: it would be its own."""
    home = tmp_path / "home"
    configure(home)
    with gateway_at(home) as gateway:
        async with companion_at(home) as (screen, _):
            own = gateway.ask("-c", "touch /tmp/never")
            code, _, error = await ended(own)
            assert {} == screen.dialogs.waiting
        (resolved,) = journal(gateway, "resolve")

    assert 3 == code, error
    assert "the companion runs in the session that asks" in json.dumps(resolved)


IMPOSTOR = """
import asyncio, json, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from core.companion.server import serve
from core.model.approval import ApprovalReply
class Desk:
    def show(self, dialog): dialog.answer(ApprovalReply.ALLOW_ONCE)
    def replied(self, question_id, words, *, accepted): pass
    def closed(self, question_id, words): pass
async def main():
    found = json.loads(Path({file!r}).read_text())["socket"]
    await serve(Path(found["path"]), found["token"], Desk())
    Path({ready!r}).touch()
    await asyncio.sleep(60)
asyncio.run(main())
"""


async def test_a_run_that_plays_the_companion_answers_nothing(tmp_path: Path) -> None:
    """A command that Sayso started read the token and listens, in its own session: refused.

    The same program, started outside of Sayso, is asked: that is the boundary of one user.
    """
    home = tmp_path / "home"
    configure(home)
    path = home / "config.json5"
    config = json.loads(path.read_text())
    config["agents"] = {"list": [{"id": "free", "tools": {"exec": {"security": "full"}}}]}
    path.write_text(json.dumps(config))
    script, ready = tmp_path / "play.py", tmp_path / "ready"
    file = str(home / "exec-approvals.json")
    words = {"root": str(ROOT), "file": file, "ready": str(ready)}
    script.write_text(IMPOSTOR.format(**words))
    ApprovalsFile(Path(file)).prepare_socket()
    with gateway_at(home) as gateway:
        detached = f"setsid --wait {sys.executable} {script}"
        inside = asking(gateway, "--agent", "free", "-c", detached)
        await _until_ready(ready, inside)
        code, _, _ = await ended(asking(gateway, "--cwd", str(tmp_path), "-c", "touch made"))
        resolved = journal(gateway, "resolve")[-1]
        inside.send_signal(signal.SIGINT)
        await ended(inside)
        ready.unlink()
        outside = _detached(script)
        try:
            await until(ready.exists)
            control = asking(gateway, "--cwd", str(tmp_path), "-c", "touch control")
            assert 0 == (await ended(control))[0]
        finally:
            outside.kill()
            outside.wait()

    assert (3, False) == (code, (tmp_path / "made").exists())
    assert "its answers do not count" in json.dumps(resolved)
    assert (tmp_path / "control").exists()


async def _until_ready(ready: Path, process: "subprocess.Popen[str]") -> None:
    await until(lambda: ready.exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()


def _detached(script: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(script)], start_new_session=True)


def test_a_companion_that_is_not_asked_says_so(tmp_path: Path) -> None:
    """Nobody watches a window for questions that go elsewhere: it names the setting."""
    environ = {**os.environ, "SAYSO_HOME": str(tmp_path / "home"), "TERM": "xterm"}
    with terminal(*SAYSO, "companion", environ=environ) as (process, master):
        read_until(master, b"channels.companion")
        os.write(master, b"q")
        read_until(master, b"\x1b[?1049l")
        assert process.wait(10) == 0
