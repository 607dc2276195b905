"""Offer `sayso run`: ask the gateway to run something, show it as it goes, pass its end through."""

import argparse
import os
import sys

from bot.cli.home import socket_path
from bot.cli.layout import Formatter
from bot.cli.running.ending import conclude, exit_code, print_json
from bot.cli.running.following import Following, Left
from bot.cli.running.outlets import Outlets, fill_standard_descriptors, one_file
from bot.cli.running.signals import Signals, die_of
from bot.cli.running.wish import Unusable, wish_of
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bot.cli.running.spinner import Spinner

_EXAMPLES = """\
examples:
  sayso run -c 'git log --oneline | head -5'     a command line
  sayso run --agent coder -- make test           an argument vector, no shell grammar
  sayso run --no-wait -c 'rm -rf build'          print the id and return (exit 4)
  sayso run --stdin -- psql shop < fix.sql       people see what it reads, and decide
"""
_SIGPIPE = 13


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="ask to run a command",
        epilog=_EXAMPLES,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-c", dest="line", metavar="LINE", help="a command line, as typed in a shell")
    add("argv", nargs="*", metavar="-- ARGV", help="an argument vector")
    add("--agent", default="main", metavar="A", help="the agent that asks (default: main)")
    add("--session", default="main", metavar="K", help="the session that hears events")
    add("--cwd", default=None, metavar="D", help="where it runs (default: here)")
    add("--timeout", type=float, metavar="S", help="wall clock of the run, seconds")
    add("--host", choices=("sandbox", "gateway", "node"), help="where it runs")
    add("--node", metavar="N", help="which node, with --host node")
    add("--ask", choices=("off", "on-miss", "always"), help="ask more often than configured")
    add("--security", choices=("deny", "allowlist", "full"), help="allow less than configured")
    add("--env", action="append", default=[], metavar="K=V", help="ask to set a variable")
    add("--request-key", metavar="KEY", help="the same key is the same request (idempotency)")
    add("--stdin", action="store_true", help="pass standard input on, up to 1 MiB")
    add("--stdin-file", metavar="F", help="pass a file on as its standard input")
    add("--pty", action="store_true", help="give one command a terminal (host gateway)")
    add("--no-wait", action="store_true", help="print the id and return (exit 4)")
    add("--json", action="store_true", help="print the result as one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask, follow, print, and return the exit code of `sayso run`."""
    fill_standard_descriptors()
    separate = not args.json and not args.pty and not one_file()
    try:
        params = wish_of(args, separate=separate)
    except Unusable as problem:
        sys.stderr.write(f"sayso run: {problem}\n")
        return 2
    signals, outlets = Signals(), Outlets(separate=separate)
    spinner = _spinner() if not args.no_wait and os.isatty(2) else None
    with Client(socket_path()) as client:
        shown = None if args.json else outlets
        line = Following(client, signals, shown, spinner, waits=not args.no_wait)
        try:
            code = _followed(line, params, outlets, as_json=args.json)
        except Left as left:
            code = _leave(line, left.number)
        except BrokenPipeError:
            code = _unread(line)
        finally:
            line.wipe()
    signals.close()
    return code


def _followed(
    line: Following, params: dict[str, object], outlets: Outlets, *, as_json: bool
) -> int:
    """Follow a request to its end."""
    answer = line.answer("exec.run", params)
    line.wipe()
    if as_json:
        code = print_json(answer)
    else:
        code = conclude(answer, outlets)
        line.flush()
    if line.interrupted and _was_ended(answer):
        die_of(line.interrupted)
    return code


def _was_ended(answer: dict[str, object]) -> bool:
    """Tell whether a request did not come to an end of its own."""
    if answer["status"] == "finished":
        return answer["exitCode"] is None
    return answer["status"] == "denied" and answer["reason"] == "cancelled"


def _leave(line: Following, number: int) -> int:
    if line.run_id is not None:
        line.say(f"left; `sayso history` tells how run {line.run_id} ends")
    die_of(number)


def _unread(line: Following) -> int:
    """End a run whose output nobody reads, quietly, as a local command would end."""
    line.cancel()
    die_of(_SIGPIPE)


def _spinner() -> "Spinner":
    from bot.cli.running.spinner import Spinner  # noqa: PLC0415 - only where somebody looks

    return Spinner()


__all__ = ["exit_code", "register", "run"]
