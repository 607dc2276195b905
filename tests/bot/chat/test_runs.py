"""Reply to /run, /tail and /stop by what became of the run."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.chat import runs as module
from bot.chat.runs import ChatRuns
from channels.base import Inbound, Reply, Tone
from channels.commands import LogIn, RunLine, Stop, Tail
from core.model.command import ExecRequest
from core.model.decision import DenialReason
from core.model.identity import Actor, ApprovalId, Target, code_of
from core.model.result import (
    Denied,
    Finished,
    LiveOutput,
    Output,
    Pending,
    Running,
    Submission,
    Unknown,
)
from core.store.runs import runs
from core.store.views.references import matching

RUN = ApprovalId("0123456789abcdef" * 2)
CODE = code_of(RUN)
ANA = Actor("telegram", "1", "Ana")
DONE = Finished(RUN, 0, None, Output("hello", "hello", 5), 1)
LONG = Finished(RUN, 0, None, Output("first", "last", 9, truncated=True), 1)
DENIED = Denied(RUN, DenialReason.RULE_DENIED, "not here")
PENDING = Pending(RUN, "K3F7QZ", 9)


class World:
    """A gate and a store that know one run; ``submitted`` is what becomes of a new one."""

    def __init__(self, **known: Any) -> None:
        self.submitted: list[Submission] = known.get("submitted", [])
        self.status_now: Submission | None = known.get("status")
        self.live: LiveOutput | None = known.get("live")
        self.cancels: bool = known.get("cancels", False)
        self.allowed: bool = known.get("allowed", True)
        self.found: list[ApprovalId] = known.get("found", [RUN])
        self.kept: ApprovalId | None = known.get("kept", RUN)
        self.notes: list[str] = []
        self.request: ExecRequest | None = None
        self.execution = SimpleNamespace(deferred=SimpleNamespace(write=self._deferred))

    async def _deferred(self, write: Callable[[], Any]) -> None:
        await write()

    async def submit(self, request: ExecRequest) -> Submission:
        """Take a request; without an answer it takes long."""
        self.request = request
        if not self.submitted:
            await asyncio.Event().wait()
        return self.submitted[0]

    async def wait(self, _: ApprovalId) -> Submission:
        """Return what comes next; nothing does."""
        await asyncio.Event().wait()
        return DONE

    async def tail(self, _: ApprovalId) -> LiveOutput | None:
        """Return what it printed."""
        return self.live

    async def status(self, _: ApprovalId) -> Submission | None:
        """Return its status."""
        return self.status_now

    async def cancel(self, _: ApprovalId, note: str) -> bool:
        """Cancel it, if it can be."""
        self.notes.append(note)
        return self.cancels

    async def may_act(self, _: Actor) -> bool:
        """Return whether somebody may run."""
        return self.allowed

    may_look = may_act

    async def write(self, *_: object) -> None:
        """Store nothing."""

    async def read(self, what: object, about: str) -> Any:
        """Return what a reference or a request's key finds."""
        if what is matching:
            return self.found
        assert what is runs.by_request_key
        assert self.request is not None
        return self.kept if about == self.request.request_key else None

    async def say(self, command: object) -> Reply | None:
        """Return the reply to a command of Ana."""
        gate: Any = self
        chat = ChatRuns(gate, gate, gate, Path("/srv"))
        said: Any = command
        reply = await chat.take(Inbound(ANA, Target("telegram", "7"), said, "update:1"))
        for task in chat._under_way:
            task.cancel()
        return reply


@pytest.mark.parametrize(
    ("known", "words", "tone", "handles"),
    [
        ({"submitted": [DONE]}, "hello", Tone.INFO, False),
        ({"submitted": [LONG]}, "last", Tone.INFO, False),
        ({"submitted": [DENIED]}, "did not run (rule_denied): not here", Tone.REFUSED, False),
        ({"submitted": [Unknown(RUN)]}, "how it ended is unknown", Tone.INFO, False),
        ({"submitted": [PENDING]}, "K3F7QZ is waiting for approval by an", Tone.INFO, False),
        ({"submitted": [Running(RUN)]}, f"Running as {CODE}.", Tone.INFO, True),
        ({}, f"Running as {CODE}.", Tone.INFO, True),
        ({"kept": None}, "Submitted; the result will be posted here.", Tone.INFO, False),
        ({"allowed": False}, "senders", Tone.REFUSED, False),
    ],
)
async def test_what_a_line_is_answered_with(
    monkeypatch: pytest.MonkeyPatch,
    known: dict[str, Any],
    words: str,
    tone: Tone,
    *,
    handles: bool,
) -> None:
    """Its end if that comes soon; else how to find it; the buttons only while it runs."""
    monkeypatch.setattr(module, "_PATIENCE_S", 0.01 if not known.get("submitted") else 30)
    reply = await World(**known).say(RunLine("x"))

    assert reply is not None
    assert words in reply.text.text
    assert (reply.tone, [one.label for one in reply.choices]) == (
        tone,
        ["Tail", "Stop"] if handles else [],
    )


LIVE = LiveOutput("so far", 1234)


@pytest.mark.parametrize(
    ("command", "known", "words", "tone", "handles"),
    [
        (Tail("r"), {"live": LIVE}, f"{CODE} printed 1,234 bytes so far:\nso far", Tone.INFO, True),
        (Tail("r"), {"status": DONE}, "hello", Tone.INFO, False),
        (Tail("r"), {"status": Running(RUN)}, f"{CODE} runs.", Tone.INFO, True),
        (Tail("r"), {"status": PENDING}, "is waiting for approval.", Tone.INFO, False),
        (Tail("r"), {}, "No run here has the id or code r.", Tone.REFUSED, False),
        (Tail("r"), {"found": [], "live": LIVE}, "No run here", Tone.REFUSED, False),
        (Tail("r"), {"found": [RUN, RUN], "live": LIVE}, "No run here", Tone.REFUSED, False),
        (Tail("r"), {"allowed": False, "live": LIVE}, "/tail", Tone.REFUSED, False),
        (Stop("r"), {"cancels": True}, f"{CODE} is being stopped.", Tone.OK, False),
        (Stop("r"), {"status": DENIED}, "did not run", Tone.REFUSED, False),
        (Stop("r"), {}, "No run here", Tone.REFUSED, False),
        (Stop("r"), {"found": [], "cancels": True}, "No run here", Tone.REFUSED, False),
        (Stop("r"), {"allowed": False, "cancels": True}, "/stop", Tone.REFUSED, False),
    ],
)
async def test_what_a_reference_is_answered_with(
    command: Tail | Stop,
    known: dict[str, Any],
    words: str,
    tone: Tone,
    *,
    handles: bool,
) -> None:
    """Of one run and no other; who may not look learns nothing and stops nothing."""
    world = World(**known)
    reply = await world.say(command)

    assert reply is not None
    assert words in reply.text.text
    assert (reply.tone, bool(reply.choices)) == (tone, handles)
    stops = isinstance(command, Stop) and world.allowed and world.found == [RUN]
    assert world.notes == (["stopped by Ana (telegram)"] if stops else [])


async def test_other_commands_are_for_others() -> None:
    """Such as a login."""
    assert await World().say(LogIn()) is None
