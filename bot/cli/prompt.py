"""Offer `sayso prompt render`: what a person would see, as the platform's payload."""

import argparse
import os
import sys

from bot.cli import fail, remark
from bot.cli.call import print_json
from bot.cli.parser import arg, command, group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bot.cli.parser import Commands

_EXAMPLES = """\
sayso prompt render --channel telegram -c 'rm -rf build'
sayso prompt render --channel slack --batch < requests.jsonl
"""
_CHANNELS, _HOSTS = ("discord", "slack", "telegram"), ("sandbox", "gateway")


def register(commands: "Commands") -> None:
    """Add the command group to the parser."""
    inner = group(commands, "prompt", "show what a person would see")
    batch = "read requests as JSON lines; without the configuration"
    host = "where it would run (default: as configured)"
    command(
        inner,
        "render",
        "print a prompt, under the configuration in effect, as the platform's payload",
        _EXAMPLES,
        render,
        arg("--channel", required=True, choices=_CHANNELS, help="the platform"),
        arg("-c", dest="line", metavar="LINE", help="a command line, as typed in a shell"),
        arg("argv", nargs="*", metavar="-- ARGV", help="an argument vector"),
        arg("--batch", action="store_true", help=batch),
        arg(
            "--agent", default="main", metavar="A", help="the agent that would ask (default: main)"
        ),
        arg("--host", choices=_HOSTS, help=host),
        arg("--cwd", metavar="D", help="where it would run (default: here)"),
        json="print JSON (always on)",
    )


def render(args: argparse.Namespace) -> int:
    """Print the payloads of one prompt, or of a batch, as JSON; nothing is sent.

    Raises:
        SaysoError: the configuration or the approvals file cannot be used.
    """
    if sum([args.line is not None, bool(args.argv), args.batch]) != 1:
        return fail("give one of -c 'LINE', -- ARGV… and --batch", "sayso prompt render")
    from bot.explain.explain_one import explain_one  # noqa: PLC0415
    from bot.explain.prompt_preview import render_batch, render_here  # noqa: PLC0415
    from core.model.policy import ExecHost  # noqa: PLC0415

    if args.batch:
        render_batch(sys.stdin.buffer, sys.stdout, args.channel)
        return 0
    cwd = os.path.abspath(args.cwd or os.getcwd())  # noqa: PTH100, PTH109 - text, not a Path
    argv, host = tuple(args.argv) or None, None if args.host is None else ExecHost(args.host)
    explained = explain_one(args.line, argv, args.agent, cwd, os.environ, host)
    asked = {"command": args.line} if args.line is not None else {"argv": args.argv}
    answer = render_here({"agent": args.agent, "cwd": cwd, **asked}, explained, args.channel)
    if "unasked" in answer:
        remark("note", str(answer["unasked"]))
    return print_json(answer)
