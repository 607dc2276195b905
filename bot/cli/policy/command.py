"""Offer `sayso policy`: explain it, test it, try it on the past, and import rules."""

import argparse
import os
import sys

from bot.cli import fail, listings
from bot.cli.call import Call, show
from bot.cli.parser import arg, command, group, under
from bot.cli.policy import checks, history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bot.cli.parser import Commands

_HOSTS = ("sandbox", "gateway")
_EXAMPLES = """\
sayso policy explain -c 'git log | head -5'     the verdict, and what would allow it
sayso policy explain --agent coder -- make test
sayso policy explain --host gateway -c 'make test'   as if the request named that host
sayso policy explain --node web -c 'uname -a'        its plan, and the verdicts of both
sayso policy explain --batch < commands.jsonl   judge JSON lines; see docs/reference/policy.md
"""


def register(commands: "Commands") -> None:
    """Add the commands to the parser."""
    inner = group(commands, "policy", "explain, test and preview policy decisions")
    batch = "read requests as JSON lines from standard input"
    host = "the host it would run on (default: as configured)"
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
        arg("--node", metavar="N", help="ask this node too, through the running gateway"),
        arg("--session", default="main", metavar="K", help="whose grants and settings apply"),
        arg("--task", metavar="T", help="as if the request named this task"),
        arg("--cwd", metavar="D", help="working directory (default: the current one)"),
    )
    listed = Call("policy.rules", "agent", listings.rules, rows="rules")
    agent = arg("--agent", metavar="A", help="only what counts for this agent")
    example = "sayso policy rules --agent coder --json"
    command(inner, "rules", "list the rules in effect", example, listed, agent)
    checks.register(inner)
    history.register(inner)
    under(commands, "Policy")


def explain(args: argparse.Namespace) -> int:
    """Judge one command under the configuration in effect, or a batch under its own; run nothing.

    Returns 0 whatever the verdict is, 2 for a command line that cannot be parsed.

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
    if args.node is not None:
        return _explain_on_node(args)
    return _explain_one(args)


def _explain_on_node(args: argparse.Namespace) -> int:
    from bot.cli.paths import socket_path  # noqa: PLC0415 - for a running gateway only
    from bot.client import Client  # noqa: PLC0415 - the same

    if args.host is not None:
        return fail("give one of --host and --node", "sayso policy explain")
    given = {
        "command": args.line,
        "argv": list(args.argv) or None,
        "agent": args.agent,
        "session": args.session,
        "task": args.task,
        "cwd": os.path.abspath(args.cwd or os.getcwd()),  # noqa: PTH100, PTH109 - text, not a Path
        "host": "node",
        "node": args.node,
    }
    with Client(socket_path()) as client:
        answer = client.call("policy.explain", {k: v for k, v in given.items() if v is not None})
    return show(args, answer, _worded)


def _worded(answer: "Mapping[str, Any]") -> str:
    """Format the verdict that holds, then both verdicts, then each command as the node found it."""
    lines = [f"{answer['decision'].upper()}  {_plain(answer['why'])}"]
    node, gateway = answer.get("node"), answer.get("gateway")
    if node is not None and gateway is not None:
        called = _plain(f"node {node['name']}")
        width = max(len(called), len("gateway"))
        lines += ["", _verdict("gateway", width, gateway), _verdict(called, width, node)]
        lines.append(f"{'plan':<{width}}  {answer['plan']}")
    for number, one in enumerate(answer["segments"], 1):
        lines += ["", *_segment(number, one)]
    return "\n".join(lines) + "\n"


def _verdict(who: str, width: int, said: "Mapping[str, Any]") -> str:
    return f"{who:<{width}}  {said['decision']} ({said['reason']}): {_plain(said['why'])}"


def _segment(number: int, one: "Mapping[str, Any]") -> "Iterator[str]":
    # ascii() shows every boundary, and each invisible or misleading character as an escape.
    yield f"{number}. {'  '.join(ascii(word) for word in one['argv'])}"
    yield f"   program   {_plain(one['resolved'] or 'not found')}"
    yield f"   verdict   {one['decision']}: {_plain(one['rule'])}"


def _plain(text: str) -> str:
    """Return text from a node as a terminal may show it."""
    from core.text.render import redact  # noqa: PLC0415 - slow to import

    return redact(text).text


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
