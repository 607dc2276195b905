"""Show the whole product in a scratch home: a gateway, an agent that asks, a person, real runs.

Everything is real but the agent's wits: the embedded store, gateway.sock, the policy, the prompt,
the children. Nothing of the user's own home is touched.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bot.app import Gateway, gateway
from bot.client import Client
from bot.documentation import document
from bot.factories.channels import Console
from bot.settings import load
from channels.base import Channel
from channels.cards import PromptCard
from channels.memory import MemoryChannel
from channels.terminal.card import Page, prompt_lines
from core.model.approval import ApprovalReply
from core.model.identity import Actor
from core.store.engine.wakeups import wakeups
from core.text.render import redact

_WIDTH = 76
_EVENT_S = 0.1  # so that the session's events stand before the result that they lead to


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that the agent asks, and what the viewer should know before."""

    agent: str
    line: str
    about: str


STEPS = (
    Step("coder", "ls -l notes.txt", "the coder's allowlist has /usr/bin/ls: it runs at once"),
    Step("intern", "rm -rf notes.txt", "the intern may never ask (ask: off): it is refused"),
    Step("coder", "sha256sum notes.txt", "no entry allows sha256sum: a person is asked"),
)


async def show(answer: str | None, *, json_lines: bool = False) -> int:
    """Play the three steps and return the exit code: 0 when each ended as it should."""
    console = Console.here() if answer is None else None
    by_itself = answer is None and console is None
    if by_itself:
        answer = ApprovalReply.ALLOW_ONCE
    with _scratch() as home:
        memory = MemoryChannel()
        extra: Mapping[str, Channel] = {} if console else {"memory": memory}
        target = "terminal" if console else "memory"
        settings = load(_configured(home, target), environ={})
        async with gateway(settings, console=console, extra=extra) as running:
            viewer = Viewer(home, json_lines=json_lines)
            viewer.opening(by_itself=by_itself)
            async with _events(running, viewer), _person_at(memory, answer, viewer):
                return await _play(viewer, home, answer)


async def _play(viewer: "Viewer", home: Path, answer: str | None) -> int:
    ended = []
    for number, step in enumerate(STEPS, 1):
        viewer.asks(number, step)
        result = await asyncio.to_thread(_ask, home, step)
        await asyncio.sleep(_EVENT_S)
        viewer.ends(result)
        ended.append(str(result["status"]))
    viewer.closing()
    wanted = "denied" if answer == "deny" else "finished"
    expected = ["finished", "denied", wanted if answer is not None else ended[-1]]
    return 0 if ended == expected else 1


def _ask(home: Path, step: Step) -> dict[str, object]:
    """Ask as an agent does: over gateway.sock."""
    with Client(str(home / "gateway.sock")) as client:
        params = {"command": step.line, "cwd": str(home / "work"), "agent": step.agent}
        answer: dict[str, object] = client.call("exec.run", {**params, "session": "demo"})
        return answer


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sayso-demo-") as folder:
        home = Path(folder)
        (home / "work").mkdir()
        (home / "work" / "notes.txt").write_text("Say so, and it runs.\n")
        yield home


@asynccontextmanager
async def _person_at(
    memory: MemoryChannel, answer: str | None, viewer: "Viewer"
) -> AsyncIterator[None]:
    """Show every prompt that appears and press the chosen button, as a person would."""

    async def watch(reply: ApprovalReply) -> None:
        while True:
            for shown in list(memory.shown.values()):
                if reply in shown.buttons and shown.prompt is not None:
                    viewer.prompt(shown.prompt, reply)
                    await memory.press(shown.id, reply, Actor("memory", _person(), "you"))
            await asyncio.sleep(0.05)

    if answer is None:
        yield
        return
    task = asyncio.create_task(watch(ApprovalReply(answer)))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _person() -> str:
    return f"uid:{os.getuid()}"


def _configured(home: Path, target: str) -> Path:
    config = {
        "tools": {"exec": {"host": "gateway", "security": "allowlist", "ask": "on-miss"}},
        "agents": {"list": [{"id": "intern", "tools": {"exec": {"ask": "off"}}}]},
        "approvals": {
            "exec": {
                "mode": "targets",
                "targets": [{"channel": target, "to": "here"}],
                "timeout": 300,
            }
        },
        "channels": {target: {"approvers": [_person()]}},
    }
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
async def _events(running: Gateway, viewer: "Viewer") -> AsyncIterator[None]:
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


@dataclass(slots=True)
class Viewer:
    """Print what happens: words for people, or one JSON object a step."""

    home: Path
    json_lines: bool = False
    out: TextIO = sys.stdout

    def opening(self, *, by_itself: bool) -> None:
        """Say what is about to be seen."""
        alone = "This is no terminal, so the demo answers the prompt itself.\n" if by_itself else ""
        self._say(
            {"step": "opening", "home": str(self.home), "answersItself": by_itself},
            f"Sayso demo: a gateway in {self.home}, an agent that asks three times.\n{alone}",
        )

    def asks(self, number: int, step: Step) -> None:
        """Show a request."""
        self._say(
            {"step": "ask", "agent": step.agent, "command": step.line},
            f"\n{number}  {step.agent} asks:  {step.line}\n   ({step.about})\n",
        )

    def prompt(self, card: PromptCard, reply: ApprovalReply) -> None:
        """Show what the person sees, and what is answered for them."""
        lines = "\n".join(f"   {line}" for line in prompt_lines(card, Page(_WIDTH)))
        self._say(
            {"step": "prompt", "code": card.code, "answer": reply},
            f"{lines}\n   {reply} is answered for you\n",
        )

    def event(self, event: dict[str, object]) -> None:
        """Show a session event as the agent's session hears it."""
        lines = [redact(line).text for line in str(event["text"]).rstrip("\n").split("\n")]
        text = "\n          ".join(lines)
        self._say({"step": "event", **event}, f"   event  {text}\n")

    def ends(self, result: dict[str, object]) -> None:
        """Show what the agent got back."""
        if result["status"] == "finished":
            words = f"   ran, exit code {result['exitCode']}"
        else:
            words = f"   {result['status']}: {result.get('why', '')}"
        self._say({"step": "end", **result}, f"{redact(words).text}\n")

    def closing(self) -> None:
        """Say where to go on."""
        self._say(
            {"step": "closing"},
            "\nThat was a real gateway with real commands; its temporary home is now removed.\n"
            "Next: `sayso init` sets up your own; a tour: "
            f"{document('docs/tutorial/first-approval.md')}\n",
        )

    def _say(self, step: dict[str, object], words: str) -> None:
        self.out.write(json.dumps(step, ensure_ascii=False) + "\n" if self.json_lines else words)
        self.out.flush()
