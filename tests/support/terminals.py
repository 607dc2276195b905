"""Build a gate whose terminals are opened in real executors, as another user."""

import asyncio
import os
import re
import shutil
import tempfile
import tty
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.gate.gate import Gate
from core.hosts.gateway import GatewayHost
from core.isolation.terminal.size import Size
from core.isolation.terminal.stream import Stream
from core.isolation.terminal.terminals import Limits, Terminal, Terminals, session_of
from core.model.approval import ApprovalReply
from core.model.command import AgentPart, AgentPartKind, ExecOverrides, ExecRequest
from core.model.identity import ApprovalId, Requester, SessionKey
from core.model.policy import ExecHost, PolicyLayer
from core.model.result import ExecResult, Pending
from core.planning.planner import Planner
from core.runner.runner import Runner
from tests.support.executors import USER, World, executors
from tests.support.gate import AGENT, gate_at, says
from tests.support.waiting import until


@dataclass
class Desk:
    """Terminals behind a gate, and the folder that they start in."""

    gate: Gate
    terminals: Terminals
    world: World
    folder: Path

    def request(self, who: Requester = AGENT, **given: Any) -> ExecRequest:
        """Return a request for a terminal."""
        unasked = bool(given.pop("unasked", False))
        opener = session_of(who)
        part = AgentPart(
            AgentPartKind.TERMINAL, who.account, unasked=unasked, kernel_session=opener
        )
        return ExecRequest(
            who,
            SessionKey("main"),
            str(self.folder),
            argv=("terminal", str(given.pop("shell", "/bin/sh"))),
            env=(("TERM", "xterm"),),
            overrides=ExecOverrides(ExecHost.GATEWAY),
            part=part,
            **given,
        )

    async def opened(self, **given: Any) -> "Opened":
        """Ask for a terminal, have Ana allow it, and wait until it is open."""
        asked = await self.gate.submit(self.request(**given))
        assert isinstance(asked, Pending), asked
        await self.gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
        ((run_id, plan),) = await self.gate.queued()
        end = asyncio.ensure_future(self.gate.run_approved(run_id, plan))
        await until(lambda: end.done() or self._stream(run_id) is not None)
        found = self.terminals.find(run_id)
        assert found is not None, end.result() if end.done() else end
        return Opened(found, end)

    def _stream(self, run_id: ApprovalId) -> Stream | None:
        found = self.terminals.find(run_id)
        return None if found is None else found.stream


@dataclass
class Opened:
    """An open terminal; ``end`` is how its run ends."""

    terminal: Terminal
    end: "asyncio.Future[ExecResult | None]"
    place: int = 0

    @property
    def stream(self) -> Stream:
        """Return its bytes."""
        assert self.terminal.stream is not None
        return self.terminal.stream

    def type(self, text: str) -> None:
        """Press keys."""
        self.stream.type(text.encode())

    async def shows(self, pattern: str) -> re.Match[str]:
        """Wait until it shows a pattern; return the match."""
        found: list[re.Match[str]] = []

        def look() -> bool:
            text = self.stream.read(0, 1 << 20)[0].decode(errors="replace")
            found.extend(re.finditer(pattern, text))
            return bool(found)

        await until(look)
        return found[0]


@contextmanager
def carried(patience_s: float = 30.0) -> Iterator[tuple[Stream, int]]:
    """Yield a stream, and the program's end."""
    master, slave = os.openpty()
    tty.setraw(slave)
    stream = Stream(master, Size(), patience_s=patience_s)
    stream.start()
    try:
        yield stream, slave
    finally:
        stream.close()
        with suppress(OSError):
            os.close(slave)


@asynccontextmanager
async def desk_at(
    home: Path,
    path: str,
    everyone: PolicyLayer | None = None,
    limits: Callable[[Path], Limits] = Limits,
) -> AsyncIterator[Desk]:
    """Yield terminals of this executor, opened by a gate over one home."""
    folder = Path(tempfile.mkdtemp(prefix="sayso-terminal-"))
    folder.chmod(0o755)
    try:
        async with gate_at(home, everyone) as gate, executors(path) as world:
            made = Terminals(world.executors, limits(home), gate.journal, gate.execution.guard)
            host = GatewayHost(Runner(), world.executors, None, made)
            gate.execution.hosts = {ExecHost.GATEWAY: host}
            gate.planner = Planner(run_as=lambda _: USER)
            yield Desk(gate, made, world, folder)
    finally:
        shutil.rmtree(folder)
