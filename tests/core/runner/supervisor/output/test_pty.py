import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from core.model.decision import DenialReason
from core.model.policy import ExecHost, ExecPolicy
from core.model.result import Finished
from core.model.stdio import Capture, Stdio
from core.planning.planner import Refusal
from core.runner.limits import Limits
from core.runner.runner import Runner
from core.runner.supervisor.processes import procfs
from tests.support.runs import (
    PLANNER,
    Start,
    marked,
    new_run,
    planned,
    refused,
    request,
    run,
    running,
)
from tests.support.waiting import until, wait_until

TERMINAL = Stdio(capture=Capture.PTY)


async def seen(runner: Runner, script: str, typed: bytes | None = None) -> Finished:
    """Run a script on a terminal."""
    stdio = Stdio(stdin=typed, capture=Capture.PTY)
    return await run(runner, request(argv=("/bin/sh", "-c", script), stdio=stdio))


async def test_a_command_has_a_terminal_of_its_own(runner: Runner) -> None:
    """All three streams are it, it has a size, and it is the session's controlling terminal."""
    done = await seen(
        runner,
        "test -t 0 && test -t 1 && test -t 2 && echo yes; tty; stty size; "
        "echo hello > /dev/tty; ps -o pid=,sid=,pgid=,tpgid= -p $$; exit 3",
    )

    yes, name, size, hello, ids = done.output.text.split("\r\n")[:-1]
    assert (yes, size, hello) == ("yes", "24 80", "hello")
    assert name.startswith("/dev/pts/")
    assert len(set(ids.split())) == 1
    assert done.exit_code == 3
    assert done.streams is None
    assert "crw-------" in (await seen(runner, "ls -l $(tty)")).output.text


@pytest.mark.parametrize("capture", [Capture.PTY, Capture.COMBINED])
async def test_nohup_writes_a_file_for_having_a_terminal(
    runner: Runner, tmp_path: Path, capture: Capture
) -> None:
    """Hole 7, why policy asks about it there: through a link it appends to any file."""
    (tmp_path / "payload").write_text("echo payload\n")
    (tmp_path / "bashrc").write_text("")
    (tmp_path / "nohup.out").symlink_to("bashrc")

    line = request("nohup cat payload", cwd=tmp_path, stdio=Stdio(capture=capture))
    await run(runner, line)

    assert bool((tmp_path / "bashrc").read_text()) is (capture is Capture.PTY)


async def test_without_it_there_is_none(runner: Runner) -> None:
    """The control: an ordinary run has no terminal at all."""
    done = await run(runner, request(argv=("/bin/sh", "-c", "tty; : > /dev/tty")))

    assert "not a tty" in done.output.text
    assert "/dev/tty" in done.output.text


async def test_nobody_types(runner: Runner) -> None:
    """A command that reads sees the end at once, because no one is there."""
    assert (await seen(runner, "cat; echo over")).output.text == "over\r\n"


@pytest.mark.parametrize("typed", [b"abc\nde\n", b"abc\nde", b""])
async def test_what_was_bound_is_typed(runner: Runner, typed: bytes) -> None:
    """Input arrives as lines, including a last one without its end, and then the end."""
    done = await seen(runner, "stty -echo; cat; echo over", typed)

    assert done.output.text.endswith(typed.decode().replace("\n", "\r\n") + "over\r\n")
    assert done.exit_code == 0


async def test_much_is_typed_as_fast_as_it_is_read(runner: Runner) -> None:
    """Input beyond what a terminal holds waits for its reader, and does not delay the run."""
    typed = b"a line of forty characters, with its end\n" * 4000

    done = await seen(runner, "stty -echo; sleep 0.1; wc -c", typed)
    unread = await seen(runner, "stty -echo; sleep 0.1", typed)

    assert done.output.text.endswith(f"{len(typed)}\r\n")
    assert unread.exit_code == 0


async def test_the_last_words_are_kept(runner: Runner) -> None:
    """What a command prints just before its end is not lost in the terminal."""
    for _ in range(10):
        done = await seen(runner, "head -c 100000 /dev/zero | tr '\\000' x; echo end")
        assert done.output.total_bytes == 100_005
        assert done.output.tail.endswith("xend\r\n")


@pytest.fixture
def kept_terminals() -> Iterator[None]:
    """Fail if terminals are left over; tests that run at the same time have some of their own."""
    before = terminals()
    yield
    wait_until("the end of the terminals", lambda: terminals() <= before)


def terminals() -> set[str]:
    """Return which terminals this process and its descendants have open, including `ptmx`."""
    found = set()
    for pid in (os.getpid(), *procfs.descendants(os.getpid())):
        for one in Path("/proc").glob(f"{pid}/fd/*"):
            with suppress(OSError):  # it has just been closed
                found.add(str(one.readlink()))
    return {one for one in found if "/pts/" in one or one.endswith("/ptmx")}


def test_what_is_kept_would_be_seen() -> None:
    """The control: a terminal that stays open is one more, and is none when it is closed."""
    before = terminals()
    ends = os.openpty()
    kept = terminals() - before
    for end in ends:
        os.close(end)

    assert len(kept) == 2
    assert terminals() == before


@pytest.mark.parametrize("deaf", ["TERM", "TERM HUP", "TERM HUP INT QUIT PIPE TTOU TSTP"])
async def test_a_run_that_is_deaf_to_hangup_ends(deaf: str, kept_terminals: None) -> None:
    """After the time limit and grace nothing is left, nor children in other sessions."""
    text = f"trap '' {deaf}; setsid sleep 60 & (setsid sleep 60 &) ; while :; do sleep 1; done"
    async with running(Limits(grace_ms=200)) as runner:
        run_id = new_run()
        wish = request(argv=("/bin/sh", "-c", text), timeout_ms=1_500, stdio=TERMINAL)

        done = await runner.run(run_id, planned(wish), Start())

        assert (done.timed_out, done.signal) == (True, 9)
        assert marked(run_id) == []


async def test_a_terminal_is_cancelled(kept_terminals: None) -> None:
    """A person ends an interactive program that waits forever."""
    async with running() as runner:
        run_id, start = new_run(), Start()
        plan = planned(request(argv=("sleep", "60"), stdio=TERMINAL))
        task = asyncio.create_task(runner.run(run_id, plan, start))
        await start.started.wait()
        await until(lambda: len(marked(run_id)) == 1)
        await runner.cancel(run_id)

        assert (await task).signal == 15
        assert marked(run_id) == []


async def test_a_hung_up_terminal_does_not_occupy_its_supervisor(
    runner: Runner, tmp_path: Path
) -> None:
    """A command that outlives its terminal's last holder is waited for without spinning."""
    told = tmp_path / "stat"

    done = await seen(
        runner, f"exec >/dev/null 2>&1 0<&1; sleep 0.5; cat /proc/$PPID/stat > {told}"
    )

    user, system = told.read_text().rsplit(")", 1)[1].split()[11:13]
    assert done.exit_code == 0
    assert int(user) + int(system) < 20  # ticks of 10 ms


async def test_terminals_do_not_pile_up(runner: Runner, kept_terminals: None) -> None:
    """Runs on a terminal and without take turns under the same supervisors."""
    for _ in range(10):
        assert (await seen(runner, "echo x")).output.text == "x\r\n"
        assert (await run(runner, request("echo x"))).output.text == "x\n"


@pytest.mark.parametrize("line", ["echo a | cat", "echo a ; echo b", "true && cd / && ls && ls"])
def test_a_terminal_is_for_one_command(line: str) -> None:
    """Several commands cannot share one."""
    refusal = refused(request(line, stdio=TERMINAL))

    assert refusal.reason is DenialReason.BAD_REQUEST
    assert "one command" in refusal.why


def test_a_shell_is_one_command() -> None:
    """An unreadable line that a person would have to approve may have a terminal."""
    assert len(planned(request("while true; do break; done", stdio=TERMINAL)).commands) == 1


def test_the_sandbox_gives_no_terminal() -> None:
    """There the request is refused, before anyone is asked."""
    refusal = PLANNER.plan(request("ls", stdio=TERMINAL), ExecPolicy(host=ExecHost.SANDBOX))

    assert isinstance(refusal, Refusal)
    assert refusal.reason is DenialReason.BAD_REQUEST
    assert "sandbox" in refusal.why
