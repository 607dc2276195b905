"""Open terminals as another user, allowed by a person, with real executors."""

import asyncio
import hashlib
import json
import os
import signal
import stat
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select

from core.errors import LockedDown
from core.isolation import pool
from core.isolation.client import TERMINATED
from core.isolation.terminal.size import Size
from core.isolation.terminal.stream import NotTaken
from core.isolation.terminal.terminals import Limits
from core.model.access import Scope
from core.model.decision import DenialReason
from core.model.identity import DEFAULT_AGENT, Intake, Requester
from core.model.policy import ExecAsk, ExecSecurity
from core.model.result import Denied, Finished, Pending
from core.runner.supervisor.processes import procfs
from core.store import approvals
from core.store.people import tokens
from core.store.people.tokens import TokenDraft
from core.store.schema.tables import runs
from tests.support.executors import USER
from tests.support.gate import AGENT, layer
from tests.support.runs import alive
from tests.support.terminals import Desk, desk_at
from tests.support.waiting import PATIENCE_S, until


@pytest.fixture
async def desk(tmp_path: Path, executor_path: str) -> AsyncIterator[Desk]:
    """Yield terminals where a person is asked."""
    async with desk_at(tmp_path, executor_path) as found:
        yield found


async def test_a_person_is_asked_in_words(desk: Desk) -> None:
    """The question says whose terminal, and where; it cannot be allowed for good."""
    asked = await desk.gate.submit(desk.request())
    assert isinstance(asked, Pending)
    question = await desk.gate.store.read(approvals.get, asked.run_id)

    assert question is not None
    words = f"opens an interactive terminal as user {USER} in folder {desk.folder} (/bin/sh)"
    assert question.plan.text == words
    assert question.evaluation.promise == ()
    assert desk.terminals.all() == ()
    assert await desk.terminals.tail(asked.run_id) is None
    assert not desk.terminals.has(asked.run_id)


async def test_whoami_is_right(desk: Desk) -> None:
    """The shell is the other user's, in its folder, with nothing of the gateway's."""
    opened = await desk.opened()
    opened.type("echo $(whoami) in $(pwd) has $(env | grep -c ^SAYSO_HOME)-; id -u\n")

    await opened.shows(f"{USER} in {desk.folder} has 0-")
    assert desk.terminals.has(opened.terminal.run_id)
    opened.type("exit 5\n")
    done = await opened.end
    assert not desk.terminals.has(opened.terminal.run_id)
    assert isinstance(done, Finished)
    assert done.exit_code == 5
    assert "the shell has ended" in done.output.text
    await until(lambda: desk.world.pool.live == 0)
    ends = [one for one in _journal(desk) if one["kind"] == "terminal"]
    assert [(one["user"], one["end"]) for one in ends] == [(USER, "the shell has ended")]


def _journal(desk: Desk) -> list[dict[str, object]]:
    path = desk.terminals.limits.home / "audit.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_full_security_still_asks_and_no_asking_denies(
    tmp_path: Path, executor_path: str
) -> None:
    """A shell is not a command: what lets every command pass lets no terminal pass."""
    (tmp_path / "full").mkdir()
    async with desk_at(tmp_path / "full", executor_path, layer(security=ExecSecurity.FULL)) as desk:
        assert isinstance(await desk.gate.submit(desk.request()), Pending)
    for name, everyone in (
        ("off", layer(security=ExecSecurity.FULL, ask=ExecAsk.OFF)),
        ("deny", layer(security=ExecSecurity.DENY)),
    ):
        (tmp_path / name).mkdir()
        async with desk_at(tmp_path / name, executor_path, everyone) as desk:
            assert isinstance(await desk.gate.submit(desk.request()), Denied)
            if name == "off":  # the control: a listed user opens one, and only then
                under_way = asyncio.ensure_future(desk.gate.submit(desk.request(unasked=True)))
                await until(lambda desk=desk: desk.terminals.all())  # type: ignore[misc]
                (open_now,) = desk.terminals.all()
                await until(lambda one=open_now: one.stream is not None)  # type: ignore[misc]
                assert await desk.gate.cancel(open_now.run_id, "enough")
                assert isinstance(await under_way, Finished)


async def test_only_who_asked_is_its_owner(desk: Desk) -> None:
    """Another session of the same user, another user and a token are refused."""
    opened = await desk.opened()
    mine, others = (
        opened.terminal.is_of,
        [
            Requester(Intake.SOCKET, AGENT.account, (41, 7)),
            Requester(Intake.SOCKET, AGENT.account, None),
            Requester(Intake.SOCKET, "uid:65534", AGENT.process),
            Requester(Intake.HTTP, "api:4k7w"),
        ],
    )
    assert mine(AGENT)
    assert not any(mine(one) for one in others)
    live = await desk.gate.tail(opened.terminal.run_id)
    assert live is not None
    assert live.text == ""
    assert [one async for one in desk.gate.watch(opened.terminal.run_id)] == []
    await desk.gate.cancel(opened.terminal.run_id, "over")
    await opened.end


async def test_sizes_raw_bytes_and_ctrl_c(desk: Desk) -> None:
    """Keys arrive unchanged; a new size is seen; Ctrl-C ends what is in the foreground."""
    opened = await desk.opened()
    opened.stream.resize(Size(47, 131))
    opened.type("stty size\n")
    await opened.shows("47 131")
    opened.type("stty raw -echo; head -c 9 | od -An -tx1; stty sane\n")
    await opened.shows("stty sane")
    await until(lambda: _children(opened.terminal.run_id))
    opened.stream.type(b"\x1b[A\x00\x7f\xff\xfe\x03")
    opened.stream.type(b"\x04")
    await opened.shows("1b 5b 41 00 7f ff fe 03 04")
    opened.type("\nsleep 1000; echo la''ter\n")
    await until(lambda: "sleep" in _children(opened.terminal.run_id))
    opened.type("\x03")
    await opened.shows(r"\^C")  # what arrives with it may be discarded (termios(3), NOFLSH)
    opened.type("echo go''es on\n")
    await opened.shows("goes on")
    assert "later" not in opened.stream.read(0, 1 << 20)[0].decode(errors="replace")
    opened.type("exit\n")
    await opened.end


def _children(run_id: str) -> list[str]:
    """Return what runs in a terminal besides its shell."""
    mark = f"SAYSO_RUN={run_id}".encode()
    found = [one.pid for one in procfs.processes() if mark in procfs.environment_of(one.pid)]
    names = []
    for pid in found:
        try:
            names.append(Path(f"/proc/{pid}/comm").read_text().strip())
        except OSError:
            continue
    return [one for one in names if one != "sh"]


async def test_ten_megabytes_without_loss(desk: Desk) -> None:
    """A viewer gets every byte in order, however slowly it reads; the loop is free."""
    opened = await desk.opened()
    size = 10_000_000
    opened.type(f"stty raw -echo; echo be''gin; seq 1 2000000 | head -c {size}; echo en''d\n")
    seen = bytearray()
    turns = 0
    with opened.stream.viewer(0) as viewer:
        while b"end\n" not in bytes(seen[-64:]):
            data, _ = await opened.stream.next(viewer, 30)
            seen += data
            turns += 1
            if turns % 50 == 0:
                await asyncio.sleep(0.005)
    body = bytes(seen).split(b"begin\n", 1)[1][:size]
    whole = "".join(f"{n}\n" for n in range(1, 2_000_001)).encode()[:size]
    assert hashlib.sha256(body).digest() == hashlib.sha256(whole).digest()
    opened.type("exit\n")
    await opened.end


async def test_the_idle_limit_ends_it(tmp_path: Path, executor_path: str) -> None:
    """If nothing is typed or shown, it ends, and the journal says why."""
    limits = partial(Limits, idle_s=0.7)
    async with desk_at(tmp_path, executor_path, limits=limits) as desk:
        opened = await desk.opened()
        done = await opened.end
        assert isinstance(done, Finished)
        assert "idle limit" in done.output.text
        assert any("idle limit" in str(one.get("end")) for one in _journal(desk))


async def test_a_lockdown_takes_the_keys(desk: Desk) -> None:
    """What runs continues, as every command does, but nothing more is started in a shell."""
    opened = await desk.opened()
    desk.terminals.type(opened.terminal, b"echo be''fore\n")
    await opened.shows("before")
    lockdown = desk.gate.execution.guard.lockdown
    lockdown.engage("a test", by="uid:0")
    with pytest.raises(LockedDown, match="a test"):
        desk.terminals.type(opened.terminal, b"echo la''ter\n")
    assert opened.stream.typed == len(b"echo be''fore\n")
    lockdown.lift()
    desk.terminals.type(opened.terminal, b"exit\n")
    await opened.end
    assert "later" not in opened.stream.read(0, 1 << 20)[0].decode(errors="replace")


async def test_a_revoked_token_ends_its_terminal(desk: Desk) -> None:
    """No one could see it any more; the control is the time before."""
    store = desk.gate.store
    draft = TokenDraft("t", frozenset({Scope.REQUEST}), DEFAULT_AGENT, None, "uid:0", None)
    made = await store.write(tokens.create, draft)
    looked: list[bool] = []

    async def look(account: str) -> bool:
        looked.append(await store.read(tokens.is_shut_out, account))
        return looked[-1]

    desk.terminals.shut_out = look
    opened = await desk.opened(who=Requester(Intake.HTTP, made.token.ref))
    await until(lambda: looked)
    assert not any(looked)
    assert not opened.end.done()
    await store.write(tokens.revoke, made.token.id)
    done = await opened.end

    assert isinstance(done, Finished)
    assert "may no longer use it" in done.output.text
    assert _children(opened.terminal.run_id) == []


async def test_time_and_cancel_end_it(desk: Desk) -> None:
    """The longest time ends it as a timeout, a cancel as cancelled; nothing is left."""
    opened = await desk.opened(timeout_ms=3_000)
    opened.type("sleep 999 & while true; do echo busy; sleep 0.1; done\n")
    done = await opened.end
    assert isinstance(done, Finished)
    assert done.timed_out
    again = await desk.opened()
    again.type("sleep 998 &\n")
    assert await desk.gate.cancel(again.terminal.run_id, "enough")
    done = await again.end
    assert isinstance(done, Finished)
    assert done.cancelled
    assert _children(opened.terminal.run_id) + _children(again.terminal.run_id) == []
    with pytest.raises(NotTaken):
        again.stream.type(b"x")


async def test_a_killed_executor_is_an_end(desk: Desk) -> None:
    """The run ends with the reason, and a cleaner ends what the executor left."""
    opened = await desk.opened()
    opened.type("setsid sleep 997 & echo bac''kground\n")
    await opened.shows("background")
    (executor,) = desk.world.pool._live
    os.kill(executor.client.pid, signal.SIGKILL)
    done = await opened.end
    assert isinstance(done, Finished)
    assert TERMINATED in done.output.text
    await until(lambda: not _children(opened.terminal.run_id))


async def test_stopping_its_executor_saves_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What left session and environment is found below the executor, which is ended, too."""
    monkeypatch.setattr(pool, "_PATIENCE_S", 0.5)
    opened = await desk.opened()
    words = "'echo I am $$ of '$PPID'.; exec /bin/sleep 995'"
    opened.type(f"env -i /usr/bin/setsid /bin/sh -c {words} &\n")
    found = await opened.shows(r"I am (\d+) of (\d+)\.")
    pids = [int(found[1]), int(found[2])]
    opened.type("kill -STOP $PPID\n")
    await until(lambda: Path(f"/proc/{pids[1]}/stat").read_text().rpartition(") ")[2][0] == "T")
    assert await desk.gate.cancel(opened.terminal.run_id, "enough")
    await opened.end
    await until(lambda: desk.world.pool.live == 0)
    assert not [pid for pid in pids if alive(pid)]


async def test_recovery_knows_its_executor(desk: Desk) -> None:
    """That is stored, so that what left its environment is found from it."""
    opened = await desk.opened()
    opened.type("echo I am of $PPID.\n")
    pid = int((await opened.shows(r"I am of (\d+)\."))[1])
    wanted = select(runs.c.pid).where(runs.c.id == opened.terminal.run_id)
    kept: list[int | None] = []
    async with asyncio.timeout(PATIENCE_S):
        while kept[-1:] != [pid]:
            kept.append(await desk.gate.store.read(lambda conn: conn.execute(wanted).scalar_one()))
            await asyncio.sleep(0.01)
    opened.type("exit\n")
    await opened.end


async def test_recorded_where_configured(tmp_path: Path, executor_path: str) -> None:
    """The output is in an asciicast that only the gateway's user may read; nothing typed is."""
    limits = partial(Limits, record=True)
    async with desk_at(tmp_path, executor_path, limits=limits) as desk:
        opened = await desk.opened()
        opened.type("stty -echo; echo re''corded\n")
        await opened.shows("recorded")
        opened.type("unseen-password\n")
        opened.stream.resize(Size(50, 100))
        opened.type("exit\n")
        await opened.end
        (file,) = (tmp_path / "terminals").iterdir()

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    header, *events = [json.loads(line) for line in file.read_text().splitlines()]
    assert (header["version"], header["width"], header["height"]) == (2, 80, 24)
    assert "recorded" in "".join(text for _, kind, text in events if kind == "o")
    assert [text for _, kind, text in events if kind == "r"] == ["100x50"]
    assert "i" not in {kind for _, kind, _ in events}


async def test_what_no_command_may_be_given_a_terminal_is_not(desk: Desk) -> None:
    """Its environment is judged like a command's; for a harmless one, a person is asked."""
    for name, verdict in (("LD_PRELOAD", Denied), ("LANG", Pending)):
        request = replace(desk.request(), env=((name, "/tmp/x"), ("TERM", "xterm")))
        answer = await desk.gate.submit(request)
        assert isinstance(answer, verdict)
        if isinstance(answer, Denied):
            assert answer.reason is DenialReason.FORBIDDEN_ENVIRONMENT


async def test_no_more_than_there_may_be(tmp_path: Path, executor_path: str) -> None:
    """The next one is refused before anyone is asked, until one ends."""
    limits = partial(Limits, most=1)
    async with desk_at(tmp_path, executor_path, limits=limits) as desk:
        opened = await desk.opened()
        refused = await desk.gate.submit(desk.request())
        assert isinstance(refused, Denied)
        assert refused.reason is DenialReason.HOST_UNAVAILABLE
        assert "execution.terminals.most" in refused.why
        opened.type("exit\n")
        await opened.end
        assert isinstance(await desk.gate.submit(desk.request()), Pending)
