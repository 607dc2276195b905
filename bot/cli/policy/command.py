"""Offer `sayso policy`: explain it, test it, try it on the past, and bring rules over."""

import argparse
import os
import sys

from bot.cli import fail
from bot.cli.call import show
from bot.cli.parser import arg, command, group
from bot.cli.policy import checks, history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bot.cli.parser import Commands

_HOSTS = ("sandbox", "gateway")
_EXAMPLES = """\
sayso policy explain -c 'git log | head -5'     the verdict, and what would allow it
sayso policy explain --agent coder -- make test
sayso policy explain --host gateway -c 'make test'   as if the request named that host
sayso policy explain --batch < commands.jsonl   judge JSON lines; see docs/reference/policy.md
"""


def register(commands: "Commands") -> None:
    """Add the commands to the parser."""
    inner = group(commands, "policy", "explain, test and preview policy decisions")
    batch = "read requests as JSON lines from standard input"
    host = "where it would run (default: as configured)"
    command(
        inner,
        "explain",
        "evaluate a command and explain why; runs nothing",
        _EXAMPLES,
        explain,
        arg("-c", dest="line", metavar="LINE", help="a command line, as typed in a shell"),
        arg("argv", nargs="*", metavar="-- ARGV", help="an argument vector"),
        arg("--batch", action="store_true", help=batch),
        arg(
            "--agent", default="main", metavar="A", help="the agent that would ask (default: main)"
        ),
        arg("--host", choices=_HOSTS, help=host),
        arg("--session", default="main", metavar="K", help="whose grants and settings apply"),
        arg("--task", metavar="T", help="as if the request named this task"),
        arg("--cwd", metavar="D", help="where it would run (default: here)"),
    )
    checks.register(inner)
    history.register(inner)


def explain(args: argparse.Namespace) -> int:
    """Judge one command under the configuration in effect, or a batch under its own; run nothing.

    Returns 0 for whatever the verdict is, 2 for a command line that cannot be understood.

    Raises:
        SaysoError: the configuration or the approvals file cannot be used.
    """
    given = [args.line is not None, bool(args.argv), args.batch]
    if sum(given) != 1:
        words = "give one of -c 'LINE', -- ARGV… and --batch; see `sayso policy explain --help`"
        return fail(words, "sayso policy explain")
    if args.batch:
        from bot.explain.batch import run_batch  # noqa: PLC0415 - the judge is slow to import

        run_batch(sys.stdin.buffer, sys.stdout, os.getcwd())  # noqa: PTH109 - text, not a Path
        return 0
    return _explain_one(args)


def _explain_one(args: argparse.Namespace) -> int:
    from bot.explain.explain_one import explain_one, shown, to_json  # noqa: PLC0415 - slow to import
    from core.model.identity import TaskId  # noqa: PLC0415 - the same
    from core.model.policy import ExecHost  # noqa: PLC0415 - the same

    cwd = os.path.abspath(args.cwd or os.getcwd())  # noqa: PTH100, PTH109 - text, not a Path
    argv, host = tuple(args.argv) or None, None if args.host is None else ExecHost(args.host)
    task = None if args.task is None else TaskId(args.task)
    explained = explain_one(
        args.line, argv, args.agent, cwd, os.environ, host, session=args.session, task=task
    )
    return show(args, to_json(explained) if args.json else explained, shown)
