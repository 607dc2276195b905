"""Play the demo: what is asked, who answers, and when it ends."""

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from bot.app import Gateway, gateway
from bot.client import Client
from bot.demo.chats import PLACES, Chats
from bot.demo.screen import PERSON, Screen, open_to_browsers, screen_of
from bot.demo.signals import Ending
from bot.demo.steps import COUNT_SH, MORE, STEPS, DemoStep
from bot.demo.viewer import Viewer
from bot.factories.channels import Console
from bot.settings import load
from channels.memory import MemoryChannel
from core.errors import StateError
from core.ipc.socket_file import LONGEST_PATH
from core.model.approval import ApprovalReply
from core.model.identity import Actor
from core.store.engine.wakeups import wakeups

_EVENT_S = 0.1  # so that the session's events precede the result that they lead to
_BETWEEN_S = 2.0
"""Seconds between two questions of one agent while the screen is open."""
_NAME, _SOCKET = "sayso-demo-", "gateway.sock"


async def show(answer: str | None, *, json_lines: bool = False) -> int:
    """Play the demo and return the exit code: 0 if each step ended as it should.

    In a terminal the viewer answers, there or on the screen; otherwise ``answer`` is given for
    them, and there is no screen. A signal ends it early; nothing is left behind.

    Raises:
        StateError: there is no place for a temporary home.
    """
    ending = Ending()
    return await ending.of(_shown(answer, ending, json_lines=json_lines))


async def _shown(answer: str | None, ending: Ending, *, json_lines: bool) -> int:
    console = Console.here() if answer is None else None
    with _scratch() as home:
        viewer = Viewer(home, json_lines=json_lines)
        try:
            if console is not None:
                code = await _with_viewer(viewer, console, ending)
            else:
                given = ApprovalReply.ALLOW_ONCE if answer is None else ApprovalReply(answer)
                code = await _alone(viewer, given, by_itself=answer is None)
        finally:
            # What a signal cancels continues in its thread, and would still write to the home.
            await asyncio.get_running_loop().shutdown_default_executor()
    viewer.closing()
    return code


async def _alone(viewer: Viewer, answer: ApprovalReply, *, by_itself: bool) -> int:
    """Play the steps with the answer given for the viewer."""
    memory = MemoryChannel()
    extra = {"memory": memory}
    settings = load(_configured(viewer.home, {"memory": ("here",)}), environ={})
    async with gateway(settings, extra=extra) as running:
        viewer.opening(by_itself=by_itself)
        async with _events(running, viewer), _person_at(memory, answer, viewer):
            ended = await _play(viewer)
    wanted = "denied" if answer is ApprovalReply.DENY else "finished"
    return 0 if ended == ["finished", "denied", wanted] else 1


async def _with_viewer(viewer: Viewer, console: Console, ending: Ending) -> int:
    """Play the steps, and continue for as long as the screen is open."""
    chats = Chats(MemoryChannel(), Actor("memory", _person(), PERSON))
    places = {"terminal": ("here",), "memory": tuple(PLACES)}
    settings = load(_configured(viewer.home, places, page=True), environ={})
    extra = {"memory": chats.memory}
    async with (
        screen_of(chats, viewer.home) as screen,
        gateway(settings, console=console, extra=extra, framed_by=screen.origin) as running,
    ):
        await open_to_browsers(screen, running)
        viewer.opening(by_itself=False, screen=screen.url)
        async with _events(running, viewer):
            ended = await _play(viewer)
            if screen.watching:
                await _go_on(viewer, screen, ending)
    return 0 if ended[:2] == ["finished", "denied"] else 1


async def _play(viewer: Viewer) -> list[str]:
    """Play the steps one after another; return how each ended."""
    ended = []
    for number, step in enumerate(STEPS, 1):
        viewer.asks(number, step)
        result = await asyncio.to_thread(_ask, viewer.home, step)
        await asyncio.sleep(_EVENT_S)
        viewer.ends(result)
        ended.append(str(result["status"]))
    return ended


async def _go_on(viewer: Viewer, screen: Screen, ending: Ending) -> None:
    """Keep asking until the viewer ends it or nobody has the screen open any more."""
    viewer.goes_on()
    with ending.awaited() as ended:
        asking = [asyncio.create_task(_ask_on(viewer, steps)) for steps in MORE]
        over = [asyncio.create_task(screen.left()), asyncio.create_task(ended.wait())]
        try:
            await asyncio.wait([*asking, *over], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*asking, *over):
                task.cancel()
            await asyncio.gather(*asking, *over, return_exceptions=True)


async def _ask_on(viewer: Viewer, steps: Sequence[DemoStep]) -> None:
    number = len(STEPS)
    while True:
        for step in steps:
            await asyncio.sleep(_BETWEEN_S)
            number += 1
            viewer.asks(number, step)
            viewer.ends(await asyncio.to_thread(_ask, viewer.home, step))


def _ask(home: Path, step: DemoStep) -> dict[str, object]:
    """Send a request as an agent does: over gateway.sock."""
    with Client(str(home / "gateway.sock")) as client:
        params = {"command": step.line, "cwd": str(home / "work"), "agent": step.agent}
        answer: dict[str, object] = client.call("exec.run", {**params, "session": "demo"})
        return answer


@contextmanager
def _folder() -> Iterator[Path]:
    """Create a folder whose name leaves room for the paths of sockets; remove it at the end.

    Raises:
        StateError: there is no such folder.
    """
    longest = len(os.fsencode(tempfile.gettempdir())) + len(f"/{_NAME}12345678/{_SOCKET}")
    if longest > LONGEST_PATH:
        raise StateError(
            f"{tempfile.gettempdir()} has too long a name for sockets below it, whose paths have "
            f"{LONGEST_PATH} bytes at most. Set TMPDIR to a shorter path."
        )
    with tempfile.TemporaryDirectory(prefix=_NAME) as folder:
        yield Path(folder)


@contextmanager
def _scratch() -> Iterator[Path]:
    with _folder() as home:
        (home / "work").mkdir()
        (home / "work" / "notes.txt").write_text("Say so, and it runs.\n")
        (home / "work" / "count.sh").write_text(COUNT_SH)
        (home / "work" / "count.sh").chmod(0o700)
        yield home


@asynccontextmanager
async def _person_at(
    memory: MemoryChannel, reply: ApprovalReply, viewer: Viewer
) -> AsyncIterator[None]:
    """Show every prompt that appears and press the chosen button, as a person would."""

    async def watch() -> None:
        while True:
            for shown in list(memory.shown.values()):
                if reply in shown.buttons and shown.prompt is not None:
                    viewer.prompt(shown.prompt, reply)
                    await memory.press(shown.id, reply, Actor("memory", _person(), PERSON))
            await asyncio.sleep(0.05)

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _person() -> str:
    return f"uid:{os.getuid()}"


def _configured(home: Path, places: Mapping[str, tuple[str, ...]], *, page: bool = False) -> Path:
    """Write the settings: prompts go to all places of these channels, whose viewers may answer."""
    targets = [{"channel": name, "to": to} for name, all_ in places.items() for to in all_]
    approvals: dict[str, object] = {"mode": "targets", "targets": targets, "timeout": 300}
    config: dict[str, object] = {
        "tools": {"exec": {"host": "gateway", "security": "allowlist", "ask": "on-miss"}},
        "agents": {"list": [{"id": "intern", "tools": {"exec": {"ask": "off"}}}]},
        "approvals": {"exec": approvals},
        "channels": {name: {"approvers": [_person()]} for name in places},
    }
    if page:
        approvals["approvers"] = [f"person:{PERSON}"]
        config["http"] = {"enabled": True, "listen": "127.0.0.1:0", "accessLog": False}
    _private(home / "config.json5", config)
    allowlist = [{"pattern": "/usr/bin/ls"}]
    _private(
        home / "exec-approvals.json",
        {"version": 1, "agents": {"coder": {"allowlist": allowlist}}},
    )
    return home


def _private(path: Path, content: dict[str, object]) -> None:
    path.touch(mode=0o600)
    path.write_text(json.dumps(content, indent=2))


@asynccontextmanager
async def _events(running: Gateway, viewer: Viewer) -> AsyncIterator[None]:
    """Print the session's events as they happen."""
    seen = 0

    def drain() -> None:
        nonlocal seen
        with Client(str(running.settings.home / "gateway.sock")) as client:
            batch = client.call("events.drain", {"session": "demo", "seq": seen})["events"]
        for event in batch:
            seen = event["seq"]
            viewer.event(event)

    async def follow() -> None:
        with wakeups(running.store, "session:demo") as changed:
            while True:
                await changed.wait()
                await asyncio.to_thread(drain)

    task = asyncio.create_task(follow())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.to_thread(drain)
