"""Let a listed user open a terminal unasked, and type, by the methods: with real executors."""

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from bot.intake.callers import unix_peer
from bot.intake.callers.caller import Admitted, Caller, of_peer
from bot.intake.callers.terminal import Askers
from bot.intake.methods.executors.terminals import TerminalMethods
from bot.intake.registry.terminal_params import (
    InputParams,
    OpenParams,
    ReadParams,
    ResizeParams,
    TerminalParams,
)
from core.errors import Forbidden, NotFound
from core.ipc.peer import Peer, start_ticks
from core.isolation.terminal.terminals import Limits
from core.model.access import EVERY_SCOPE
from core.model.approval import ApprovalState
from core.model.command import ExecRequest
from core.model.identity import DEFAULT_AGENT, AgentId, ApprovalId, SessionKey
from core.model.result import Pending
from core.runner.pool import BOOTSTRAP
from core.store import approvals
from tests.support.terminal import terminal
from tests.support.terminals import Desk, desk_at
from tests.support.waiting import until, wait_until

SLEEP = ("sleep", "60")


@dataclass
class Front:
    """The methods before a desk that lets this user in unasked."""

    desk: Desk
    methods: TerminalMethods

    async def open(self, caller: Caller) -> tuple[str, str]:
        """Ask for a terminal; return its id, and the outcome of the request."""
        params = {"session": "main", "cwd": str(self.desk.folder), "shell": "/bin/sh"}
        answer = await self.methods.open(OpenParams.model_validate(params), caller)
        return answer.terminal_id, answer.status

    async def end(self, run_id: str, caller: Caller) -> None:
        """End one."""
        await self.methods.end(TerminalParams(id=run_id), caller)


@pytest.fixture
async def front(tmp_path: Path, executor_path: str) -> AsyncIterator[Front]:
    """Yield it."""
    limits = partial(Limits, unasked=frozenset({f"uid:{os.getuid()}"}))
    async with desk_at(tmp_path, executor_path, limits=limits) as desk:
        methods = TerminalMethods(desk.gate, Askers(desk.gate.store), desk.terminals)
        yield Front(desk, methods)


def _peer(pid: int) -> Peer:
    return Peer(pid, os.getuid(), os.getgid(), start_ticks(pid))


async def test_who_types_at_a_terminal_opens_one_unasked(front: Front) -> None:
    """And types, reads and resizes it, until everything is locked down."""
    with terminal(*SLEEP) as (process, _):
        peer = _peer(process.pid)
        wait_until("the foreground", lambda: unix_peer.at_terminal(peer))
        person = of_peer(peer)
        run_id, status = await front.open(person)
        assert status == "running"
        await until(lambda: (found := front.desk.terminals.find(run_id)) and found.stream)
        typed = InputParams(id=run_id, data="true\n")
        size = ResizeParams(id=run_id, rows=30, columns=90)
        assert (await front.methods.input(typed, person)).accepted == len("true\n")
        assert (await front.methods.resize(size, person)).terminal_id == run_id
        assert not (await front.methods.read(ReadParams(id=run_id), person)).ended
        front.desk.gate.execution.guard.lockdown.engage("a test", by="uid:0")
        with pytest.raises(Forbidden, match="locked down"):
            await front.methods.input(typed, person)
        await front.end(run_id, person)


async def test_a_program_of_the_same_user_is_asked_about(front: Front) -> None:
    """It has the person's account, and no terminal: an agent's program on gateway.sock."""
    assert (await front.open(of_peer(_peer(os.getpid()))))[1] == "pending"


async def test_what_a_run_started_is_asked_about_at_a_terminal_too(front: Front) -> None:
    """A command may give itself a terminal; the supervisor above it does not go away."""
    with terminal("sh", "-c", "sleep 60; :", BOOTSTRAP) as (process, _):
        peer = _peer(process.pid)
        wait_until("the foreground", lambda: unix_peer.at_terminal(peer))
        # What starts it has the words too; in between, while it becomes sh, a process has none.
        words = Path(f"/proc/{process.pid}/cmdline")
        wait_until("the supervisor's words", lambda: words.read_bytes().startswith(b"sh\0"))
        assert unix_peer.is_run(process.pid)
        assert (await front.open(of_peer(peer)))[1] == "pending"


async def test_a_question_about_a_terminal_is_withdrawn(front: Front) -> None:
    """By the requester, before anyone answered; from elsewhere there is no such terminal."""
    caller = of_peer(_peer(os.getpid()))
    run_id, status = await front.open(caller)
    assert status == "pending"
    other_user = replace(_peer(os.getpid()), uid=65534)
    for agent, peer in ((DEFAULT_AGENT, other_user), (AgentId("x"), _peer(os.getpid()))):
        stranger = Admitted(frozenset({agent}), EVERY_SCOPE).caller(peer)
        with pytest.raises(NotFound):
            await front.end(run_id, stranger)

    await front.end(run_id, caller)

    asked = await front.desk.gate.store.read(approvals.get, ApprovalId(run_id))
    assert asked is not None
    assert asked.resolution is not None
    assert asked.resolution.state is ApprovalState.CANCELLED
    with pytest.raises(NotFound):
        await front.end(run_id, caller)


async def test_no_other_question_is_withdrawn_as_a_terminals(front: Front) -> None:
    """The method's scope is for terminals; a command's question stays."""
    caller = of_peer(_peer(os.getpid()))
    request = ExecRequest(
        caller.requester, SessionKey("main"), str(front.desk.folder), argv=("uname",)
    )
    asked = await front.desk.gate.submit(request)
    assert isinstance(asked, Pending)
    with pytest.raises(NotFound):
        await front.end(asked.run_id, caller)


async def test_a_user_of_the_shared_socket_is_asked_about(front: Front) -> None:
    """It is an agent's, wherever it runs and whatever its pid."""
    with terminal(*SLEEP) as (process, _):
        peer = _peer(process.pid)
        wait_until("the foreground", lambda: unix_peer.at_terminal(peer))
        agent = Admitted(frozenset({DEFAULT_AGENT}), EVERY_SCOPE).caller(peer)
        assert (await front.open(agent))[1] == "pending"
