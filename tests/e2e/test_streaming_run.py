"""`sayso run` shows output as it arrives and passes everything through: real processes, pipes."""

import base64
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.cli.run.output_streams import KEPT
from bot.client import Client
from core.model.stdio import STREAM_BYTES
from core.runner.supervisor.output.capture import LARGEST_HEAD_BYTES
from tests.e2e.running import (
    SAYSO,
    answered,
    finished,
    question,
    read_until,
    running_gateway,
    start,
)
from tests.support.gateway_process import ROOT, GatewayProcess
from tests.support.terminal import terminal
from tests.support.waiting import wait_until

SLOW = "echo first; sleep 30; echo second"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """Run one gateway for all of these."""
    with running_gateway(tmp_path_factory.mktemp("running") / "home") as gateway:
        yield gateway


def alive(gateway: GatewayProcess, words: str) -> bool:
    """Return whether a process with these words on its command line is alive."""
    found = subprocess.run(["pgrep", "-f", words], capture_output=True, check=False)
    return bool(found.stdout.split())


def test_output_is_there_before_the_end(gateway: GatewayProcess) -> None:
    """The first line arrives while the command still sleeps, in a pipe as on a terminal."""
    with start(gateway, "-c", SLOW) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"first\n"
        assert process.poll() is None
        process.terminate()


def test_streams_go_where_they_belong(gateway: GatewayProcess) -> None:
    """Separate if they are separate, in order if they are one file; the code is passed on."""
    command = "echo a; echo b >&2; echo c; exit 7"

    assert finished(gateway, "--", "sh", "-c", command) == (7, b"a\nc\n", b"b\n")
    code, out, _ = finished(gateway, "--", "sh", "-c", command, stderr=subprocess.STDOUT)
    assert (code, out) == (7, b"a\nb\nc\n")


@pytest.mark.parametrize("apart", [False, True])
def test_nothing_is_printed_twice(gateway: GatewayProcess, apart: bool) -> None:
    """Short and long runs, with many pieces or none, print each byte once."""
    error = subprocess.PIPE if apart else subprocess.STDOUT
    pieces = "for n in 1 2 3 4 5 6; do echo piece $n; sleep 0.02; done"

    assert finished(gateway, "--", "echo", "x", stderr=error)[1] == b"x\n"
    expected = b"".join(b"piece %d\n" % number for number in range(1, 7))
    assert finished(gateway, "--", "sh", "-c", pieces, stderr=error)[1] == expected
    numbers = finished(gateway, "--", "seq", "20000", stderr=error)[1]
    assert numbers == b"".join(b"%d\n" % number for number in range(1, 20_001))


def test_bytes_that_are_no_text_pass(gateway: GatewayProcess, tmp_path: Path) -> None:
    """Standard output redirected to a file of its own is kept byte for byte."""
    data = bytes(range(256)) * 100
    (tmp_path / "data").write_bytes(data)

    assert finished(gateway, "--", "cat", str(tmp_path / "data"))[1] == data


def test_a_command_that_a_signal_ended(gateway: GatewayProcess) -> None:
    """128 plus the signal's number, and a word about it."""
    code, _, error = finished(gateway, "--", "sh", "-c", "kill -9 $$")

    assert code == 137
    assert b"SIGKILL" in error


def test_a_reader_that_goes_away_ends_the_run_quietly(gateway: GatewayProcess) -> None:
    """`sayso run … | head -1` ends like a local pipe: no words, SIGPIPE, nothing left behind."""
    mark = f"mark-{os.getpid()}"
    script = f"yes {mark}"
    with (
        start(gateway, "-c", script) as process,
        subprocess.Popen(["head", "-1"], stdin=process.stdout, stdout=subprocess.PIPE) as head,
    ):
        assert process.stdout is not None
        process.stdout.close()
        assert head.communicate(timeout=20)[0] == f"{mark}\n".encode()
        assert process.wait(20) == -signal.SIGPIPE
        assert process.stderr is not None
        assert process.stderr.read() == b""
    wait_until("the end of the command", lambda: not alive(gateway, mark))


def test_a_reader_that_read_all_that_is_kept_ends_the_run(gateway: GatewayProcess) -> None:
    """Beyond what is kept nothing more is written, so the closed pipe itself is checked."""
    mark = f"all-{os.getpid()}"
    size = KEPT["output"]
    with (
        start(gateway, "-c", f"yes {mark}", stderr=subprocess.STDOUT) as process,
        subprocess.Popen(
            ["head", "-c", str(size)], stdin=process.stdout, stdout=subprocess.DEVNULL
        ) as head,
    ):
        assert process.stdout is not None
        process.stdout.close()
        assert head.wait(20) == 0
        assert process.wait(20) == -signal.SIGPIPE
    wait_until("the end of the command", lambda: not alive(gateway, mark))
    assert size == LARGEST_HEAD_BYTES
    assert KEPT["stdout"] == KEPT["stderr"] == STREAM_BYTES


def test_an_output_without_room_is_told(gateway: GatewayProcess) -> None:
    """A full disk causes no traceback, and does not end the command."""
    with Path("/dev/full").open("wb") as full:
        code, _, error = finished(gateway, "--", "echo", "x", stdout=full)

    assert code == 1
    assert b"cannot write the output (No space left on device)" in error


def test_a_slow_reader_gets_everything_and_holds_nobody(gateway: GatewayProcess) -> None:
    """The run ends in its own time while no one reads; then all of it is there."""
    with start(gateway, "--json", "--", "true") as process:
        process.communicate(timeout=20)
    with start(gateway, "-c", "seq 30000", stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        wait_until("the end in the history", lambda: "seq 30000" in done_commands(gateway))
        assert process.poll() is None  # 168,894 bytes do not fit into a pipe
        expected = b"".join(b"%d\n" % number for number in range(1, 30_001))
        assert process.stdout.read() == expected
        assert process.wait(20) == 0


def done_commands(gateway: GatewayProcess) -> set[str]:
    """Return the commands that have run to their end."""
    return {row["command"] for row in gateway.json("history") if row["state"] == "done"}


def told(client: Client, until_words: bytes) -> tuple[str, bytes, list[str]]:
    """Read notifications until these words are printed; return the id, the output, the states."""
    run_id, printed, states = "", b"", list[str]()
    while until_words not in printed:
        for frame in client.frames():
            params = frame["params"]
            run_id = params["id"]
            if frame["method"] == "exec.state":
                states.append(params["status"])
            else:
                printed += base64.b64decode(params["data"])
    return run_id, printed, states


def ended(client: Client) -> tuple[dict[str, Any], bytes]:
    """Read until the answer; return it, and what was printed before it."""
    printed = b""
    while True:
        for frame in client.frames():
            if "id" in frame:
                return client.result(frame), printed
            if frame["method"] == "exec.output":
                printed += base64.b64decode(frame["params"]["data"])


def held(first: str, go: Path, last: str) -> str:
    """Return a command that does the last part once a file exists."""
    return f"sh -c '{first}; until [ -e {go} ]; do sleep 0.05; done; {last}'"


def asked(command: str) -> dict[str, object]:
    """Return the params of a run that is followed."""
    return {"command": command, "cwd": "/", "agent": "free", "stream": True}


def test_a_late_watcher_gets_all_of_it(gateway: GatewayProcess, tmp_path: Path) -> None:
    """Any number may follow one run, whenever they start; each gets everything and the answer."""
    path, go = str(gateway.home / "gateway.sock"), tmp_path / "go"
    with Client(path) as first, Client(path) as late:
        first.begin("exec.run", asked(held("echo one", go, "echo two")))
        run_id, _, states = told(first, b"one\n")
        assert states == ["running"]
        late.begin("exec.wait", {"id": run_id, "stream": True})
        assert told(late, b"one\n")[:2] == (run_id, b"one\n")
        go.touch()
        for client in (first, late):
            answer, rest = ended(client)
            assert (answer["status"], answer["output"], rest) == (
                "finished",
                "one\ntwo\n",
                b"two\n",
            )


def test_a_question_is_told_of_while_it_stands(gateway: GatewayProcess, tmp_path: Path) -> None:
    """Its state is sent at once, then that it runs, then the answer."""
    go = tmp_path / "go"
    with Client(str(gateway.home / "gateway.sock")) as client:
        client.begin("exec.run", {**asked(held("id -un", go, "true")), "agent": "main"})
        (frame,) = client.frames()
        assert frame["params"]["status"] == "pending"
        assert frame["params"]["code"] == question(gateway)["code"]
        answered(gateway, "allow-once")
        assert told(client, b"root\n")[2] == ["running"]
        go.touch()
        assert ended(client)[0]["exitCode"] == 0


def test_who_never_reads_holds_no_run(gateway: GatewayProcess) -> None:
    """The command ends in its own time; the gateway keeps answering others."""
    with Client(str(gateway.home / "gateway.sock")) as silent:
        silent.begin("exec.run", asked("seq 120000; sleep 0.2; seq 5"))
        wait_until(
            "the end in the history",
            lambda: "seq 120000; sleep 0.2; seq 5" in done_commands(gateway),
        )


def test_a_flood_stays_flat_and_tells_what_is_missing(gateway: GatewayProcess) -> None:
    """1 GB: the kept start, a mark, the end; the client's memory stays small."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    command = r"head -c 1000000000 /dev/zero | tr '\0' x; echo the end"
    code, out, error = finished(gateway, "--", "sh", "-c", command)

    assert code == 0
    start_, mark, rest = out.partition("… (truncated)\n".encode())
    assert mark
    assert set(start_) == {ord("x")}
    assert rest.endswith(b"xthe end\n")
    assert len(out) < 1_000_000
    assert b"1,000,000,008 bytes of output" in error
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < before + 40_000  # KiB


def test_no_wait_prints_the_id(gateway: GatewayProcess) -> None:
    """Whether it was allowed or waits: the id, exit code 4, and it continues without us."""
    code, out, _ = finished(gateway, "--no-wait", "-c", "sleep 0.5")
    assert code == 4
    assert re.fullmatch(rb"[0-9a-z]{26}\n", out)
    wait_until("the run's own end", lambda: "sleep 0.5" in done_commands(gateway))

    code, out, error = finished(gateway, "--no-wait", "-c", "id -u", agent="main")
    asked = question(gateway)
    assert (code, out.decode().strip()) == (4, asked["id"])
    assert f"pending as {asked['code']}" in error.decode()
    answered(gateway, "deny")


def test_one_object_with_json(gateway: GatewayProcess) -> None:
    """Programs get one object and no streaming; the exit code is the command's."""
    code, out, error = finished(gateway, "--json", "--", "sh", "-c", "echo a; sleep 0.1; exit 3")

    assert (code, error) == (3, b"")
    assert json.loads(out)["output"] == "a\n"


def test_a_denial_is_told_on_standard_error(gateway: GatewayProcess) -> None:
    """Nothing on standard output, the reason and exit code 3."""
    code, out, error = finished(gateway, "--", "no-such-program")

    assert (code, out) == (3, b"")
    assert error.startswith(b"sayso: denied (executable_not_found)")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_ends_the_run(gateway: GatewayProcess, number: int) -> None:
    """The command is ended, and our parent sees the signal that we got."""
    mark = f"5{number}.{os.getpid()}"
    with start(gateway, "-c", f"echo first; sleep {mark}") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        _, error = process.communicate(timeout=20)

    assert process.returncode == -number
    assert b"cancelling; press Ctrl-C again to detach" in error
    assert not alive(gateway, f"sleep {mark}")


def test_a_command_that_ends_itself_is_passed_through(gateway: GatewayProcess) -> None:
    """A command that handles the signal and exits on its own gives us its own code."""
    command = "trap 'echo bye; exit 5' TERM; echo first; sleep 30 & wait"
    with start(gateway, "--", "sh", "-c", command) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)

    assert (process.returncode, out) == (5, b"bye\n")


def test_the_second_signal_leaves_at_once(gateway: GatewayProcess) -> None:
    """A command that takes its time to end does not keep us; its end is reported elsewhere."""
    mark = f"sleep 4.{os.getpid()}"
    command = f"trap '{mark}; exit 9' TERM; echo first; sleep 30 & wait"
    with start(gateway, "--", "sh", "-c", command) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=20)

    assert process.returncode == -signal.SIGINT
    assert alive(gateway, mark), "it is not waited for"
    assert b"detached from run " in error


def test_a_signal_withdraws_a_question(gateway: GatewayProcess) -> None:
    """No one is asked any longer for a client that has left."""
    with start(gateway, "-c", "id -g", agent="main") as process:
        question(gateway)
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=20)

    assert process.returncode == -signal.SIGTERM
    assert b"denied (cancelled)" in error
    assert gateway.json("pending") == []


def test_signals_that_were_ignored_stay_ignored(gateway: GatewayProcess) -> None:
    """A background job does not get the Ctrl-C that is meant for another one."""
    script = (
        "import os, signal, sys; signal.signal(2, signal.SIG_IGN);"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    command = [sys.executable, "-c", script, *SAYSO, "run", "--agent", "free", "-c"]
    with subprocess.Popen(
        [*command, "echo first; sleep 0.5; echo second"],
        cwd=ROOT,
        env=gateway.environ(),
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20)[0] == b"second\n"

    assert process.returncode == 0


def test_standard_input_is_passed_on_only_when_told(
    gateway: GatewayProcess, tmp_path: Path
) -> None:
    """From ours, from a file; never unasked, and never more than fits."""
    (tmp_path / "words").write_text("b\na\n")

    assert finished(gateway, "--stdin", "--", "sort", input=b"b\na\n")[:2] == (0, b"a\nb\n")
    path = str(tmp_path / "words")
    assert finished(gateway, "--stdin-file", path, "--", "sort")[:2] == (0, b"a\nb\n")
    assert finished(gateway, "--", "cat", input=b"not asked for")[:2] == (0, b"")
    full = os.urandom(1 << 20)
    assert finished(gateway, "--stdin", "-c", "cat | wc -c", input=full)[1] == b"1048576\n"
    code, _, error = finished(gateway, "--stdin", "--", "cat", input=full + b"x")
    assert (code, b"longer than 1,048,576 bytes" in error) == (2, True)
    code, _, error = finished(gateway, "--stdin-file", "/nonexistent", "--", "cat")
    assert (code, b"/nonexistent cannot be read" in error) == (2, True)


def test_what_a_program_reads_is_asked_about_and_shown(gateway: GatewayProcess) -> None:
    """A listed program must ask once it reads; a filter need not; the question shows it all."""
    assert finished(gateway, "--", "echo", "x", agent="main")[0] == 0
    assert finished(gateway, "--stdin", "--", "sort", agent="main", input=b"b\na\n")[1] == b"a\nb\n"
    with start(
        gateway, "--stdin", "--", "echo", "x", agent="main", stdin=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"rm -rf /\nsecond line")
        process.stdin.close()
        asked = question(gateway)
        assert "║ rm -rf /⏎\n   ║ second line" in asked["command"]
        assert "would read 20 bytes of standard input" in asked["why"]
        assert asked["promise"] == []
        refused = gateway.cli("approve", asked["code"], "allow-always", own_session=True)
        assert refused.returncode != 0
        answered(gateway, "allow-once")
        assert process.stdout is not None
        assert process.stdout.read() == b"x\n"


def test_a_terminal_for_the_command(gateway: GatewayProcess) -> None:
    """With --pty the command has one; without, it has none."""
    code, out, _ = finished(gateway, "--pty", "--", "tty")
    assert (code, out.startswith(b"/dev/pts/")) == (0, True)
    assert finished(gateway, "--", "tty")[1] == b"not a tty\n"


@contextmanager
def terminal_run(
    gateway: GatewayProcess, *words: str, **environ: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start `sayso run` in the foreground of a terminal; yield it and our end of the terminal."""
    given = {**gateway.environ(), "TERM": "xterm", "LANG": "C.UTF-8", **environ}
    given.pop("NO_COLOR", None) if "NO_COLOR" not in environ else None
    with terminal(*SAYSO, "run", *words, environ=given) as started:
        yield started


LEFT = re.compile(r"(\d):(\d\d) left")


def left_s(found: tuple[str, str]) -> int:
    """Return the seconds left according to a countdown's words."""
    return 60 * int(found[0]) + int(found[1])


def test_a_terminal_shows_who_is_asked_and_for_how_long(gateway: GatewayProcess) -> None:
    """The line spins, counts down and says how to answer; it is erased before the output."""
    with terminal_run(gateway, "-c", "id -un") as (process, master):
        shown = read_until(master, b" left").decode()
        code = question(gateway)["code"]
        ways = f"`sayso approve {code} allow-once` or `sayso deny {code}`"
        assert f"sayso: asking a person ({code}); answer in another terminal: {ways}\r\n" in shown
        assert "waiting for the answer" in shown
        assert "\x1b[33m" in shown
        first = max(left_s(one) for one in LEFT.findall(shown))
        while not any(left_s(one) < first for one in LEFT.findall(shown)):
            shown = shown[-20:] + os.read(master, 4_096).decode(errors="replace")
        answered(gateway, "allow-once")
        rest = read_until(master, b"root\r\n")
        assert b"\r\x1b[Kroot" in rest
        assert process.wait(10) == 0


def test_colours_and_lines_are_left_out_where_they_are_not_wanted(gateway: GatewayProcess) -> None:
    """NO_COLOR spins without colour, a dumb terminal gets one plain line, a pipe gets nothing."""
    for environ, escape, spins in (
        ({"NO_COLOR": "1"}, b"\x1b[33m", True),
        ({"TERM": "dumb"}, b"\x1b", False),
    ):
        with terminal_run(gateway, "-c", "id -Gn", **environ) as (process, master):
            shown = read_until(master, b" left" if spins else b"sayso deny")
            assert escape not in shown
            assert (b"\r\x1b[K" in shown) is spins
            answered(gateway, "deny")
            read_until(master, b"denied (approver_denied)")
            assert process.wait(10) == 3
    with start(gateway, "-c", "id -Gn", agent="main") as process:
        answered(gateway, "deny")
        _, error = process.communicate(timeout=10)
    assert b"sayso: denied (approver_denied)" in error
    assert not set(b"\x1b\r") & set(error)


def test_ctrl_c_on_a_terminal_withdraws(gateway: GatewayProcess) -> None:
    """The terminal's keys do what the signals do."""
    with terminal_run(gateway, "-c", "id -G") as (process, master):
        read_until(master, b"left")
        os.write(master, b"\x03")
        read_until(master, b"denied (cancelled)")
        assert process.wait(10) == -signal.SIGINT


def test_a_closed_standard_output_is_no_harm(gateway: GatewayProcess) -> None:
    """The gateway's socket never becomes descriptor 1; the run completes."""
    words = " ".join((*SAYSO, "run", "--agent", "free", "-c", "'echo x; exit 6'"))
    done = subprocess.run(
        ["sh", "-c", f"{words} >&- 2>&-"], cwd=ROOT, env=gateway.environ(), timeout=20, check=False
    )

    assert done.returncode == 6
