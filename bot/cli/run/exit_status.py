"""Report how a run ended, and return the exit code that a shell would show."""

import sys

from bot.cli.run.output_streams import Outlet, Outlets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Answer = dict[str, Any]

_DENIED, _PENDING, _SIGNALLED = 3, 4, 128
_CUT = "… (truncated)"
_NEXT = {"no_route": "; run `sayso doctor` for what is missing"}


def exit_code(answer: "Answer") -> int:
    """Return the exit code that a shell would show for an answer of ``exec.run``."""
    match answer["status"]:
        case "finished":
            code, signal = answer["exitCode"], answer["signal"]
            if answer["timedOut"]:
                return _PENDING
            if "reason" in answer:
                return _DENIED
            return code if isinstance(code, int) else _SIGNALLED + int(signal or 0)
        case "denied":
            return _DENIED
        case "pending" | "running":
            return _PENDING
        case _:
            return 1


def conclude(answer: "Answer", outlets: Outlets) -> int:
    """Print the output that is not printed yet, and the final message.

    Raises:
        BrokenPipeError: nobody reads what is printed.
    """
    for sentence in answer.get("ignored", ()):
        outlets.say(sentence)
    match answer["status"]:
        case "finished":
            _finish(answer, outlets)
        case "denied":
            outlets.say(
                f"denied ({answer['reason']}): {answer['why']}{_NEXT.get(answer['reason'], '')}"
            )
        case "pending":
            outlets.out.add(f"{answer['id']}\n".encode())
            outlets.say(f"pending as {answer['code']}")
        case "running":
            outlets.out.add(f"{answer['id']}\n".encode())
        case _:
            outlets.say(
                f"the gateway died while run {answer['id']} ran; how it ended is unknown, "
                "and it is not retried"
            )
    return exit_code(answer)


def print_json(answer: "Answer") -> int:
    """Print the answer as one JSON object; return the exit code."""
    from bot.cli import call  # noqa: PLC0415 - it loads json; the client has its own reader

    call.print_json(answer, indent=None)
    sys.stdout.flush()
    return exit_code(answer)


def _finish(answer: "Answer", outlets: Outlets) -> None:
    finish = _finish_apart if "stdout" in answer else _finish_one
    for total, lost in finish(answer, outlets):
        if lost > 0:
            outlets.say(f"{total:,} bytes of output; {lost:,} of them were dropped")
    for finding in answer.get("findings", ()):
        outlets.say(finding)
    if answer["timedOut"]:
        outlets.say(f"{answer['how']}; raise --timeout")
    elif answer["cancelled"]:
        outlets.say(answer["how"])
    elif "reason" in answer:
        outlets.say(f"denied ({answer['reason']}): {answer['why']}")
    elif answer["exitCode"] is None and answer["signal"]:
        outlets.say(f"the command was ended by {_name(answer['signal'])}")


def _finish_one(answer: "Answer", outlets: Outlets) -> "list[tuple[int, int]]":
    """Print the rest of a merged stream; return its bytes and how many were lost."""
    head, total = answer["output"], answer["totalBytes"]
    if answer["truncated"]:
        head = head.removesuffix(_CUT)
    tail = answer.get("tail", "")
    return [(total, _rest(outlets.out, head.encode(), total, tail.encode()))]


def _finish_apart(answer: "Answer", outlets: Outlets) -> "list[tuple[int, int]]":
    """Print the rest of both streams; the tail that was kept is of both, or of the only one."""
    from binascii import a2b_base64  # noqa: PLC0415 - most runs have one stream

    found = []
    for name, other in (("stdout", "stderr"), ("stderr", "stdout")):
        data, total = a2b_base64(answer[name]["data"]), answer[name]["totalBytes"]
        alone = answer[other]["totalBytes"] == 0
        tail = answer.get("tail", "").encode() if alone else b""
        found.append((total, _rest(outlets.of(name), data, total, tail)))
    return found


def _rest(out: Outlet, head: bytes, total: int, tail: bytes) -> int:
    """Print what is missing of the head, and the tail; return how many bytes between are lost."""
    out.rewind()
    out.take(head)
    missing = total - out.printed
    if 0 < missing <= len(tail):
        out.add(tail[-missing:])
    elif missing > 0:
        out.add(f"{_CUT}\n".encode() + tail)
    return missing - len(tail)


def _name(number: int) -> str:
    from signal import Signals, strsignal  # noqa: PLC0415 - seldom needed, and slow

    try:
        return f"signal {number} ({Signals(number).name}, {strsignal(number)})"
    except ValueError:
        return f"signal {number}"
