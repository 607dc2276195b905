"""Test what `sayso run` prints and asks, part by part: real descriptors, a real server."""

import base64
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.cli import Failures, build_parser, main
from bot.cli.run import follow
from bot.cli.run.exit_status import conclude
from bot.cli.run.follow import FollowedRequest
from bot.cli.run.output_streams import Outlet, Outlets
from bot.cli.run.params import MOST_INPUT, UsageError, params_of
from bot.cli.run.signals import Signals
from bot.cli.run.spinner import Spinner
from bot.client import Client
from core.errors import BadRequest, GatewayUnreachable, Stopping, Unanswered
from core.model.stdio import LARGEST_STDIN
from tests.bot.cli.run.scripted_gateway import FINISHED, Scripted


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Return both ends of a pipe."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_settings_without_effect_are_said(capfd: pytest.CaptureFixture[str]) -> None:
    """What the gateway ignored in a call is on standard error, whatever the end."""
    denied = {"status": "denied", "id": "r1", "reason": "allowlist_miss", "why": "Not listed."}
    for answer in (FINISHED, denied):
        conclude({**answer, "ignored": ["security=full has no effect."]}, Outlets(separate=False))

    assert 2 == capfd.readouterr().err.count("security=full has no effect.")


def test_a_reader_without_room_blocks_nobody(pipe: tuple[int, int]) -> None:
    """What does not fit is kept, and is written in order once there is room."""
    outlet = Outlet(pipe[1])
    data = os.urandom(300_000)
    outlet.take(data)

    assert outlet.blocked
    found = b""
    while len(found) < len(data):
        found += os.read(pipe[0], 65_536)
        outlet.flush()
    assert found == data
    assert not outlet.blocked


def test_a_stream_that_comes_again_is_printed_once(pipe: tuple[int, int]) -> None:
    """After a rewind only what is new is printed, however it is cut."""
    outlet = Outlet(pipe[1])
    outlet.take(b"abc")
    outlet.rewind()
    for piece in (b"a", b"bcd", b"e"):
        outlet.take(piece)
    outlet.add(b"!")

    assert os.read(pipe[0], 100) == b"abcde!"
    assert outlet.printed == 5


def test_a_reader_that_is_gone_is_told(tmp_path: Path) -> None:
    """Writing to no reader is an error of its own; a file takes everything at once."""
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        Outlet(writer).take(b"x")
    os.close(writer)
    with (tmp_path / "out").open("wb") as file:
        Outlet(file.fileno()).take(b"x" * 200_000)
    assert (tmp_path / "out").stat().st_size == 200_000


def cut(total: int, head: str, tail: str) -> dict[str, Any]:
    """Return the end of a run whose output was cut."""
    text = f"{head}… (truncated)"
    return {**FINISHED, "output": text, "truncated": True, "totalBytes": total, "tail": tail}


def stream(data: bytes, total: int) -> dict[str, Any]:
    """Return a stream that was kept apart."""
    return {
        "data": base64.b64encode(data).decode(),
        "totalBytes": total,
        "truncated": total > len(data),
    }


@pytest.mark.parametrize(
    ("answer", "before", "out", "said"),
    [
        (FINISHED, b"", "", ""),
        ({**FINISHED, "output": "abc", "totalBytes": 3}, b"", "abc", ""),
        ({**FINISHED, "output": "abc", "totalBytes": 3}, b"ab", "abc", ""),
        ({**FINISHED, "output": "abc", "totalBytes": 3}, b"abc", "abc", ""),
        (cut(9, "abc", "fghi"), b"", "abc… (truncated)\nfghi", "2 of them were dropped"),
        (cut(9, "abc", "fghi"), b"abcde", "abcdefghi", ""),
        (cut(9, "abc", "fghi"), b"abcdefg", "abcdefghi", ""),
        (cut(9, "abc", "fghi"), b"abcdefghi", "abcdefghi", ""),
        ({**FINISHED, "timedOut": True, "how": "stopped"}, b"", "", "stopped; raise --timeout"),
        ({**FINISHED, "cancelled": True, "how": "cancelled after 1 s"}, b"", "", "cancelled after"),
        ({**FINISHED, "exitCode": None, "signal": 11}, b"", "", "SIGSEGV"),
        ({**FINISHED, "exitCode": None, "signal": 60}, b"", "", "signal 60"),
        ({"status": "denied", "reason": "x", "why": "no"}, b"", "", "denied (x): no"),
        ({"status": "pending", "id": "r1", "code": "ABC"}, b"", "r1\n", "pending as ABC"),
        ({"status": "running", "id": "r1"}, b"", "r1\n", ""),
        ({"status": "unknown", "id": "r1"}, b"", "", "run r1 ran; how it ended is unknown"),
        (
            {**cut(6, "x", "ef"), "stdout": stream(b"abcd", 6), "stderr": stream(b"", 0)},
            b"ab",
            "abcdef",
            "",
        ),
        (
            {**cut(8, "x", "ef"), "stdout": stream(b"abcd", 6), "stderr": stream(b"zz", 2)},
            b"abcd",
            "abcd… (truncated)\n",
            "zzsayso: ",
        ),
    ],
)
def test_the_end_prints_what_is_missing_and_no_more(
    capfd: pytest.CaptureFixture[str], answer: dict[str, Any], before: bytes, out: str, said: str
) -> None:
    """Whatever was streamed before, each kept byte is printed once, in order."""
    outlets = Outlets(separate=True)
    outlets.of("stdout").take(before)
    conclude(answer, outlets)
    found = capfd.readouterr()

    assert found.out == out
    assert said in found.err
    assert bool(said) == bool(found.err)


def wished(*words: str, separate: bool = False) -> dict[str, object]:
    """Return the params for the words of a command."""
    return params_of(build_parser("run").parse_args(["run", *words]), separate=separate)


def test_what_is_asked(tmp_path: Path) -> None:
    """Only what was given is sent; input in base64, as its output is kept, and no wait."""
    (tmp_path / "in").write_bytes(b"\xff\n")
    asked = wished("-c", "ls", "--stdin-file", str(tmp_path / "in"), "--no-wait", separate=True)

    assert asked == {
        "command": "ls",
        "cwd": str(Path.cwd()),
        "session": "main",
        "env": {},
        "stdin": "/wo=",
        "capture": "separate",
        "stream": True,
        "wait": False,
    }
    assert wished("--pty", "--", "tty")["capture"] == "pty"
    assert MOST_INPUT == LARGEST_STDIN


def test_a_task_is_taken_from_the_environment_unless_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A given name takes precedence over ``$SAYSO_TASK``, and an empty name is none."""
    monkeypatch.delenv("SAYSO_TASK", raising=False)
    assert "task" not in wished("-c", "ls")
    monkeypatch.setenv("SAYSO_TASK", "fix")

    assert wished("-c", "ls")["task"] == "fix"
    assert wished("-c", "ls", "--task", "other")["task"] == "other"
    assert "task" not in wished("-c", "ls", "--task", "")


@pytest.mark.parametrize(
    "words", [(), ("-c", "x", "--", "y"), ("--stdin", "--stdin-file", "f", "-c", "x")]
)
def test_what_contradicts_itself_is_not_asked(words: tuple[str, ...]) -> None:
    """Neither or both of a line and a vector, and two inputs."""
    with pytest.raises(UsageError, match="give either"):
        wished(*words)


def output(data: bytes) -> dict[str, Any]:
    """Return a notification of output."""
    params = {"id": "r1", "stream": "output", "data": base64.b64encode(data).decode()}
    return {"method": "exec.output", "params": params}


def state(status: str, **more: object) -> dict[str, Any]:
    """Return a notification of a state."""
    return {"method": "exec.state", "params": {"status": status, "id": "r1", **more}}


def followed(
    server: Scripted, *, waits: bool = True, **more: object
) -> tuple[dict[str, Any], Outlets]:
    """Follow one request at a scripted server."""
    signals, outlets = Signals(), Outlets(separate=False)
    try:
        with Client(server.path) as client:
            line = FollowedRequest(client, signals, outlets, None, waits=waits)
            return line.answer("exec.run", {"command": "x", **more}), outlets
    finally:
        signals.close()
        server.close()


def test_two_slow_readers_are_waited_for_until_they_have_all(tmp_path: Path) -> None:
    """Neither stream has room at the end of the run; a signal ends the wait if nothing else did."""
    data, pipes = os.urandom(80_000), (os.pipe(), os.pipe())
    signals, outlets = Signals(), Outlets(separate=True)
    outlets.out, outlets.error = (Outlet(inlet) for _, inlet in pipes)
    for one in outlets.all:
        one.add(data)
    line = FollowedRequest(Client(str(tmp_path / "unused")), signals, outlets, None, waits=True)
    heard: list[bytes] = []
    readers = [threading.Thread(target=_read, args=(fd, len(data), heard)) for fd, _ in pipes]
    impatience = threading.Timer(20, signal.raise_signal, (signal.SIGTERM,))
    try:
        assert all(one.blocked for one in outlets.all)
        for thread in (*readers, impatience):
            thread.start()
        line.flush()
    finally:
        impatience.cancel()
        signals.close()
        for _, inlet in pipes:
            os.close(inlet)
        for thread in readers:
            thread.join()
        for fd, _ in pipes:
            os.close(fd)

    assert [data, data] == heard


def _read(fd: int, size: int, heard: list[bytes]) -> None:
    """Read this many bytes, or until the other end is closed."""
    with os.fdopen(os.dup(fd), "rb") as reader:
        heard.append(reader.read(size))


def test_a_lost_connection_goes_on_where_it_was(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same run is requested again; output that is sent again is not printed again."""
    first = [state("running"), output(b"abc"), output(b"def")]
    second = [state("running"), output(b"abcdefgh"), {"id": "main", "result": FINISHED}]
    server = Scripted(tmp_path, first, second)

    answer, _ = followed(server)

    assert answer == FINISHED
    assert [asked["method"] for asked in server.asked] == ["exec.run", "exec.wait"]
    assert server.asked[1]["params"] == {"id": "r1", "stream": True}
    found = capfd.readouterr()
    assert (
        found.out.replace("sayso: connection lost; reconnecting for up to 30 s\n", "") == "abcdefgh"
    )


def test_a_remark_beside_json_is_json(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --json a reader of standard error gets one object per line."""
    monkeypatch.setattr(Failures, "as_json", True)
    first = [state("running"), output(b"abc")]
    followed(Scripted(tmp_path, first, [state("running"), {"id": "main", "result": FINISHED}]))

    remarks = [line for line in capfd.readouterr().err.splitlines() if line]
    assert [json.loads(line) for line in remarks] == [
        {"note": "connection lost; reconnecting for up to 30 s"}
    ]


def test_a_gateway_that_gives_up_is_waited_for(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A request that is cancelled by a gateway that stops is asked about again."""
    stopping = {"id": "main", "error": {"code": -32800, "message": "cancelled"}}
    server = Scripted(tmp_path, [state("pending"), stopping], [{"id": "main", "result": FINISHED}])

    assert followed(server)[0] == FINISHED
    assert "connection lost; reconnecting" in capfd.readouterr().err


def test_before_its_id_is_known_it_may_have_been_taken(tmp_path: Path) -> None:
    """Without an id and without a key nothing can be followed: the error says so at once."""
    with pytest.raises(Unanswered, match=r"connection closed.*may have acted.*`sayso pending`"):
        followed(Scripted(tmp_path, []))


@pytest.mark.parametrize("words", [("-c", "ls"), ("-cls",)], ids=["quick", "parsed"])
def test_each_request_has_a_key_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Two requests of the same words are two requests; a given key stays."""
    answer = [{"id": "main", "result": FINISHED}]
    server = Scripted(tmp_path, *([{**one} for one in answer] for _ in range(3)))
    monkeypatch.setenv("SAYSO_SOCKET", server.path)
    codes = [main(["run", *more, *words]) for more in ((), (), ("--request-key", "mine"))]
    server.close()

    first, second, third = (asked["params"]["requestKey"] for asked in server.asked)
    assert [0, 0, 0] == codes
    assert first != second
    assert (32, "mine") == (len(first), third)


def test_where_nobody_listens_nothing_was_asked(tmp_path: Path) -> None:
    """A request with a key is not sent again where it was not sent at all."""
    signals, outlets = Signals(), Outlets(separate=False)
    line = FollowedRequest(Client(str(tmp_path / "none")), signals, outlets, None, waits=True)
    try:
        with pytest.raises(GatewayUnreachable, match="No gateway is listening"):
            line.answer("exec.run", {"command": "x", "requestKey": "k"})
    finally:
        signals.close()
    assert not line.sent


@pytest.mark.parametrize(
    "lost",
    [[], [{"id": "main", "error": {"code": -32800, "message": "cancelled"}}]],
    ids=["closed", "given up"],
)
def test_a_request_with_a_key_is_sent_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], lost: list[Any]
) -> None:
    """Before its id is known the very same request is sent again, under the same key."""
    server = Scripted(tmp_path, lost, [state("running"), {"id": "main", "result": FINISHED}])

    assert FINISHED == followed(server, requestKey="k")[0]
    assert ["exec.run"] * 2 == [asked["method"] for asked in server.asked]
    assert [{"command": "x", "requestKey": "k"}] * 2 == [one["params"] for one in server.asked]
    assert "connection lost; reconnecting" in capfd.readouterr().err


@pytest.mark.parametrize(
    "refused",
    [
        {"id": "main", "error": {"code": -32004, "message": "it stops"}},
        {"id": "main", "error": {"code": -32003, "message": "no place"}},
        {"id": None, "error": {"code": -32001, "message": "not you"}},
    ],
)
def test_who_was_lost_once_is_not_told_that_nothing_was_asked(
    tmp_path: Path, refused: dict[str, Any]
) -> None:
    """A gateway's answer that it has no room yet, or stops again, is about the second sending."""
    server = Scripted(
        tmp_path, [], [refused], [state("running"), {"id": "main", "result": FINISHED}]
    )

    assert FINISHED == followed(server, requestKey="k")[0]
    assert 3 == len(server.asked)


def test_a_refusal_of_the_second_sending_leaves_the_first_in_doubt(tmp_path: Path) -> None:
    """The error says both: the gateway's answer now, and that the first may have been taken."""
    away = {"code": -32000, "message": "no database", "data": {"type": "StoreAway"}}

    with pytest.raises(Unanswered, match=r"asked again, it answered: no database.*may have acted"):
        followed(Scripted(tmp_path, [], [{"id": "main", "error": away}]), requestKey="k")


def test_a_gateway_that_stops_before_it_took_anything_is_believed(tmp_path: Path) -> None:
    """The control: for the first sending, the answer that nothing was changed is final."""
    stops = {"code": -32004, "message": "it stops", "data": {"type": "Stopping"}}

    with pytest.raises(Stopping, match="it stops"):
        followed(Scripted(tmp_path, [{"id": "main", "error": stops}]), requestKey="k")


def test_a_gateway_that_is_lost_each_time_is_left_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """All losses before an id share one patience, with a pause between them."""
    monkeypatch.setattr(follow, "_PATIENCE_S", 1.0)
    server = Scripted(tmp_path, *([] for _ in range(200)))
    begin = time.monotonic()

    with pytest.raises(Unanswered, match="connection closed"):
        _followed_until_left(server)

    assert time.monotonic() - begin < 10
    assert 2 <= len(server.asked) <= 7
    assert 1 == capfd.readouterr().err.count("connection lost")


def _followed_until_left(server: Scripted) -> None:
    """Follow a request at a server that outlives it."""
    signals, outlets = Signals(), Outlets(separate=False)
    try:
        with Client(server.path) as client:
            line = FollowedRequest(client, signals, outlets, None, waits=True)
            line.answer("exec.run", {"command": "x", "requestKey": "k"})
    finally:
        signals.close()
        server.leave()


def test_what_the_gateway_refuses_is_raised(tmp_path: Path) -> None:
    """An error of the request itself is no reason to ask again."""
    refused = {"id": "main", "error": {"code": -32602, "message": "no such thing"}}

    with pytest.raises(BadRequest, match="no such thing"):
        followed(Scripted(tmp_path, [state("running"), refused]))


def test_who_does_not_wait_has_the_first_standing(tmp_path: Path) -> None:
    """The id is known as soon as the run is, and nothing more is waited for."""
    answer, _ = followed(Scripted(tmp_path, [state("running")]), waits=False)

    assert answer == {"status": "running", "id": "r1"}


@pytest.mark.parametrize(
    ("copies", "expected"),
    [
        ([], "waiting for the answer · "),
        ([("telegram", "77", "sent")], "asked telegram 77 · "),
        ([("telegram", "77", "ready")], "waiting for the answer · "),
        (
            [("slack", "C1", "sent"), ("slack", "C1", "closed"), ("discord", "9", "sent")],
            "asked slack C1, discord 9 · ",
        ),
        ([("a", str(n), "sent") for n in range(5)], "asked a 0, a 1 and 3 more · "),
    ],
)
def test_the_line_tells_where_people_were_asked(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    copies: list[tuple[str, str, str]],
    expected: str,
) -> None:
    """Places that took the question are named, each once, two at most; once erased, it stays so."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    spinner = Spinner()
    spinner.show({"status": "pending", "code": "ABC", "deadlineMs": 0})
    spinner.sent_to([{"channel": c, "to": to, "state": state} for c, to, state in copies])
    spinner.tick()
    drawn = capfd.readouterr().err.split("\r\x1b[K")

    assert f"{expected}0:00 left" in drawn[-1]
    spinner.hide()
    assert capfd.readouterr().err == "\r\x1b[K"
    spinner.tick()
    spinner.hide()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (
            ["terminal", "api"],
            "answer in another terminal: `sayso approve ABC allow-once` or `sayso deny ABC`",
        ),
        (["api"], "answer over the API or in a chat that was asked; not on this machine"),
        ([], "answer in a chat that was asked; not on this machine"),
    ],
)
def test_the_line_offers_only_what_can_answer(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    answers: list[str],
    words: str,
) -> None:
    """`sayso approve` is named where a person may use it, and nowhere else; also without colour."""
    monkeypatch.setenv("TERM", "dumb")
    asked = {"status": "pending", "code": "ABC", "deadlineMs": 0, "answers": answers}
    Spinner().show(asked)

    assert f"sayso: asking a person (ABC); {words}\n" == capfd.readouterr().err
