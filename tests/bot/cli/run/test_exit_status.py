"""Say in one line how a run ended, and exit as a shell would."""

import base64
import json
from typing import Any

import pytest

from bot.cli.run.exit_status import conclude, exit_code, print_json
from bot.cli.run.output_streams import Outlets

ENDED = {
    "status": "finished",
    "id": "0run",
    "how": "ended",
    "exitCode": 0,
    "signal": None,
    "timedOut": False,
    "cancelled": False,
    "output": "",
    "truncated": False,
    "totalBytes": 0,
}
LOST = "sayso: {:,} bytes of output; {:,} of them were dropped\n"
UNKNOWN = "the gateway died while run 0run ran; how it ended is unknown, and it is not retried"


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        ({**ENDED}, 0, ""),
        ({**ENDED, "exitCode": 7}, 7, ""),
        ({**ENDED, "exitCode": 7, "signal": 15}, 7, ""),
        (
            {**ENDED, "exitCode": None, "signal": 15},
            143,
            "the command was ended by signal 15 (SIGTERM, Terminated)",
        ),
        ({**ENDED, "exitCode": None, "signal": 40}, 168, "the command was ended by signal 40"),
        ({**ENDED, "exitCode": None}, 128, ""),
        ({**ENDED, "timedOut": True}, 4, "ended; raise --timeout"),
        ({**ENDED, "cancelled": True, "exitCode": None, "signal": 15}, 143, "ended"),
        ({**ENDED, "reason": "plan_drift", "why": "no."}, 3, "denied (plan_drift): no."),
        ({**ENDED, "findings": ["look"], "ignored": ["not so"]}, 0, "not so|look"),
        ({**ENDED, "totalBytes": 9000, "truncated": True}, 0, "9,000 bytes of output; 9,000 of"),
        ({"status": "denied", "reason": "user", "why": "no."}, 3, "denied (user): no."),
        (
            {"status": "denied", "reason": "no_route", "why": "nobody"},
            3,
            "denied (no_route): nobody; run `sayso doctor` for what is missing",
        ),
        ({"status": "pending", "id": "0run", "code": "0RUN"}, 4, "pending as 0RUN"),
        ({"status": "running", "id": "0run"}, 4, ""),
        ({"status": "unknown", "id": "0run"}, 1, UNKNOWN),
    ],
)
def test_each_end_has_its_code_and_its_words(
    capfd: pytest.CaptureFixture[str], answer: dict[str, Any], code: int, said: str
) -> None:
    """On standard error; the id of what has not ended is on standard output."""
    outlets = Outlets(separate=False)
    concluded = conclude(answer, outlets)
    for one in outlets.all:
        one.flush()
    out, err = capfd.readouterr()
    lines = [line.removeprefix("sayso: ") for line in err.splitlines()]

    assert (concluded, exit_code(answer)) == (code, code)
    assert [line[: len(part)] for line, part in zip(lines, said.split("|"), strict=False)] == [
        part for part in said.split("|") if part
    ]
    assert len(lines) == (len(said.split("|")) if said else 0)
    assert (out == "0run\n") is (answer["status"] in {"pending", "running"})


def _stream(data: bytes, total: int) -> dict[str, object]:
    return {"data": base64.b64encode(data).decode(), "totalBytes": total}


@pytest.mark.parametrize(
    ("out", "err", "tail", "printed"),
    [
        ((b"out", 3), (b"err", 3), "", ("out", "err")),
        ((b"out", 3), (b"", 0), "out", ("out", "")),
        ((b"out", 7), (b"", 0), " end", ("out end", "")),
        ((b"", 0), (b"err", 7), " end", ("", "err end")),
        ((b"out", 12), (b"", 0), " end", ("out… (truncated)\n end", LOST.format(12, 5))),
        ((b"out", 12), (b"err", 3), " end", ("out… (truncated)\n", f"err{LOST.format(12, 9)}")),
    ],
)
def test_the_kept_tail_is_of_the_only_stream(
    capfd: pytest.CaptureFixture[str],
    out: tuple[bytes, int],
    err: tuple[bytes, int],
    tail: str,
    printed: tuple[str, str],
) -> None:
    """Of two streams it may hold pieces of both, so that it continues neither."""
    streams = {"stdout": _stream(*out), "stderr": _stream(*err), "tail": tail}
    conclude({**ENDED, **streams}, Outlets(separate=True))

    assert capfd.readouterr() == printed


def test_one_json_object_has_the_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Programs read UTF-8; the exit code is the same."""
    assert print_json({**ENDED, "output": "größer", "exitCode": 3}) == 3
    assert '"output": "größer"' in capsys.readouterr().out


@pytest.mark.parametrize("hidden", ["\x7f", "\x85", "\x9b", "\u202e", "\u200b"])
def test_json_shows_what_people_cannot_see_as_an_escape(
    capsys: pytest.CaptureFixture[str], hidden: str
) -> None:
    """As every other command does; a program reads the same value."""
    print_json({**ENDED, "output": f"a{hidden}b"})
    text = capsys.readouterr().out

    assert hidden not in text
    assert json.loads(text)["output"] == f"a{hidden}b"
