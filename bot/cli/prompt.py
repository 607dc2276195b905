"""Offer `sayso prompt render`: what a person would see, as the platform's payload."""

import argparse
import os
import sys

from bot.cli.help_format import Formatter

_EXAMPLES = """\
examples:
  sayso prompt render --channel telegram -c 'rm -rf build'
  sayso prompt render --channel slack --batch < requests.jsonl
"""


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command group to the parser."""
    group = commands.add_parser("prompt", help="show what a person would see")
    inner = group.add_subparsers(dest="action", metavar="ACTION", required=True)
    parser = inner.add_parser(
        "render",
        help="print a prompt, under the configuration in effect, as the platform's payload",
        epilog=_EXAMPLES,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--channel", required=True, choices=("discord", "slack", "telegram"), help="the platform")
    add("-c", dest="line", metavar="LINE", help="a command line, as typed in a shell")
    add("argv", nargs="*", metavar="-- ARGV", help="an argument vector")
    add(
        "--batch",
        action="store_true",
        help="read requests as JSON lines; without the configuration",
    )
    add("--agent", default="main", metavar="A", help="the agent that would ask (default: main)")
    add(
        "--host", choices=("sandbox", "gateway"), help="where it would run (default: as configured)"
    )
    add("--cwd", metavar="D", help="where it would run (default: here)")
    add("--json", action="store_true", help="print JSON (always on)")
    parser.set_defaults(run=render)


def render(args: argparse.Namespace) -> int:
    """Print the payloads of one prompt, or of a batch, as JSON; nothing is sent.

    Raises:
        SaysoError: the configuration or the approvals file cannot be used.
    """
    if sum([args.line is not None, bool(args.argv), args.batch]) != 1:
        sys.stderr.write("sayso prompt render: give one of -c 'LINE', -- ARGV… and --batch\n")
        return 2
    import json  # noqa: PLC0415 - the rendering is slow to import anyway

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
        sys.stderr.write(f"note: {answer['unasked']}\n")
    sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
    return 0
