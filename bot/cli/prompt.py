"""Offer `sayso prompt`: give an agent a prompt, or show one of Sayso's own as people see it.

`sayso prompt AGENT TEXT` is short for `sayso prompt send AGENT TEXT`.
"""

import argparse
import os
import sys

from bot.cli import fail, remark
from bot.cli.arg_types import seconds
from bot.cli.call import print_json
from bot.cli.parser import arg, command, group, under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bot.cli.parser import Commands

_EXAMPLES = """\
sayso prompt render --channel telegram -c 'rm -rf build'
sayso prompt render --channel slack --batch < requests.jsonl
"""
_SEND = """\
sayso prompt coder 'Add a test for the parser'
sayso prompt send coder 'List the open tasks' --tool read --json
"""
_KINDS = ("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other")
_TOOL = "people are asked about this kind of tool call only; repeat for several"
_CHANNELS, _HOSTS = ("discord", "slack", "telegram"), ("sandbox", "gateway")


def register(commands: "Commands") -> None:
    """Add the command group to the parser."""
    inner = group(commands, "prompt", "give an agent a prompt; show what a person would see")
    _add_send(inner)
    batch = "read requests as JSON lines; without the configuration"
    host = "the host it would run on (default: as configured)"
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
        arg("--cwd", metavar="D", help="working directory (default: the current one)"),
        json="print JSON (always on)",
    )
    under(commands, "Policy")


def _add_send(inner: "Commands") -> None:
    command(
        inner,
        "send",
        "give an agent that has a runtime a prompt, and show what it says",
        _SEND,
        send,
        arg("agent", metavar="AGENT", help="the agent, as agents.list names it"),
        arg("text", metavar="TEXT", help="what it is to do"),
        arg("--session", default="main", metavar="K", help="the session that receives the events"),
        arg("--cwd", metavar="D", help="the folder that it works in (default: here)"),
        arg("--tool", dest="tools", action="append", choices=_KINDS, help=_TOOL),
        arg("--task", metavar="T", help="the task; people can allow for a task"),
        arg("--timeout", type=seconds, metavar="S", help="how many seconds it may take"),
        arg("--no-wait", action="store_true", help="print the id and return (exit 4)"),
        json="print the result as one JSON object",
    )


def send(args: argparse.Namespace) -> int:
    """Give an agent a prompt, follow it to its end, and return its exit code."""
    from bot.cli.run.command import follow  # noqa: PLC0415
    from bot.cli.run.output_streams import Outlets, fill_standard_descriptors  # noqa: PLC0415

    fill_standard_descriptors()
    params = {
        "agent": args.agent,
        "prompt": args.text,
        "session": args.session,
        "cwd": os.path.abspath(args.cwd or os.getcwd()),  # noqa: PTH100, PTH109 - text, not a Path
        "tools": args.tools,
        "task": args.task,
        "timeoutMs": None if args.timeout is None else max(1, round(args.timeout * 1000)),
        "wait": True,
        "stream": True,
    }
    given = {key: value for key, value in params.items() if value is not None}
    outlets = Outlets(separate=False)
    return follow("agent.prompt", given, outlets, as_json=args.json, waits=not args.no_wait)


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
