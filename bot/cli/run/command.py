"""Offer `sayso run`: have the gateway run a command, stream its output, pass its exit code on."""

import os

from bot.cli import fail
from bot.cli.paths import socket_path
from bot.cli.run.arguments import add_arguments, quick
from bot.cli.run.exit_status import conclude, print_json
from bot.cli.run.follow import Detached, FollowedRequest
from bot.cli.run.output_streams import Outlets, fill_standard_descriptors, one_file
from bot.cli.run.params import UsageError, params_of
from bot.cli.run.signals import Signals, die_of, hangs_up
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import NoReturn

    from bot.cli.parser import Commands
    from bot.cli.run.spinner import Notice, Spinner

_EXAMPLES = """\
sayso run -c 'git log --oneline | head -5'     a command line
sayso run --agent coder -- make test           an argument vector, no shell grammar
sayso run --no-wait -c 'rm -rf build'          print the id and return (exit 4)
sayso run --stdin -- psql shop < fix.sql       people see the input, and decide
"""
_SIGHUP, _SIGPIPE = 1, 13
_EIO = 5
"""How writing to a closed terminal fails."""


def register(commands: "Commands") -> None:
    """Add the command to the parser."""
    from bot.cli.parser import command, under  # noqa: PLC0415 - it needs argparse, which most runs do not

    parser = command(commands, "run", "request to run a command", _EXAMPLES, run, json="")
    parser.hint = "; the command to run goes after --, or in -c 'LINE'"
    add_arguments(parser)
    under(commands, "Requests")


def run_words(words: list[str]) -> int | None:
    """Run words that are in their plain forms, without loading the parser."""
    args = quick(words)
    return None if args is None else run(args)


def run(args: "argparse.Namespace") -> int:
    """Ask, follow the run, print its output, and return the exit code of `sayso run`."""
    fill_standard_descriptors()
    separate = not args.json and not args.pty and not one_file()
    try:
        params = params_of(args, separate=separate)
    except UsageError as problem:
        return fail(str(problem), "sayso run")
    # With it the same request can be sent again if the connection ends before its id is known.
    params.setdefault("requestKey", os.urandom(16).hex())
    outlets = Outlets(separate=separate)
    return follow("exec.run", params, outlets, as_json=args.json, waits=not args.no_wait)


def follow(
    method: str, params: "dict[str, object]", outlets: Outlets, *, as_json: bool, waits: bool
) -> int:
    """Call a method that runs something, stream its output, and return the exit code."""
    signals = Signals()
    with Client(socket_path()) as client:
        shown = None if as_json else outlets
        waiting = None if as_json and not os.isatty(2) else _waiting
        request = FollowedRequest(client, signals, shown, waiting, waits=waits)
        try:
            code = _followed(request, method, params, outlets, as_json=as_json)
        except Detached as detached:
            code = _detach(request, detached.number)
        except BrokenPipeError:
            code = _cancel_unread(request)
        except OSError as problem:
            if number := request.interrupted or _hangup_signal(outlets, problem):
                _cancel_quietly(request, number)
            code = _report_unwritten(request, problem)
        finally:
            request.wipe()
    signals.close()
    return code


def _followed(
    request: FollowedRequest,
    method: str,
    params: dict[str, object],
    outlets: Outlets,
    *,
    as_json: bool,
) -> int:
    """Follow a request to its end."""
    answer = request.answer(method, params)
    request.wipe()
    if as_json:
        code = print_json(answer)
    else:
        code = conclude(answer, outlets)
        request.flush()
    if request.interrupted and _was_ended(answer):
        die_of(request.interrupted)
    return code


def _was_ended(answer: dict[str, object]) -> bool:
    """Return whether a request was ended from outside."""
    if answer["status"] == "finished":
        return answer["exitCode"] is None
    return answer["status"] == "denied" and answer["reason"] == "cancelled"


def _detach(request: FollowedRequest, number: int) -> int:
    if request.run_id is not None:
        request.say(f"detached from run {request.run_id}; see `sayso history`")
    elif request.sent:
        request.say(
            "detached; the request may be on record: see `sayso pending` and `sayso history`"
        )
    die_of(number)


def _cancel_unread(request: FollowedRequest) -> int:
    """End a run whose output nobody reads, quietly, as a local command would end."""
    request.cancel()
    die_of(_SIGPIPE)


def _hangup_signal(outlets: Outlets, problem: OSError) -> int:
    """Return the signal of a closed terminal if that is why nothing can be written, else 0.

    The write can fail before the shell has passed the signal on.
    """
    closed = problem.errno == _EIO and any(one.is_terminal for one in outlets.all)
    return _SIGHUP if closed and hangs_up() else 0


def _cancel_quietly(request: FollowedRequest, number: int) -> "NoReturn":
    """End the run for a signal when nothing can be printed about it."""
    try:
        request.cancel()
    finally:
        die_of(number)


def _report_unwritten(request: FollowedRequest, problem: OSError) -> int:
    """Report that the output cannot be written; the run continues, so its work is not lost."""
    for one in (outlets := Outlets(separate=False)).all:
        one.forgives = True
    words = f"cannot write the output ({problem.strerror}); see `sayso history` for how run"
    outlets.say(f"{words} {request.run_id or ''} ends")
    return 1


def _waiting() -> "Spinner | Notice":
    from bot.cli.run.spinner import Notice, Spinner  # noqa: PLC0415 - only where people are asked

    return Spinner() if os.isatty(2) else Notice()
