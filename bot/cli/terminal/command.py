"""Offer `sayso terminal`: ask for a shell of an agent's Unix user, and attach to it."""

import argparse
import os

from bot.cli import fail, remark
from bot.cli.arg_types import seconds
from bot.cli.call import REFUSED, print_json
from bot.cli.parser import arg, command, under
from bot.cli.paths import socket_path
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bot.cli.parser import Commands

_EXAMPLES = """\
sayso terminal                      a shell of the default agent's Unix user, here
sayso terminal --agent coder --cwd /srv/work
sayso terminal --attach ID          continue one that was left with ~.
sayso terminal --list
"""


def register(commands: "Commands") -> None:
    """Add the command to the parser."""
    command(
        commands,
        "terminal",
        "open a terminal as the Unix user of an agent",
        _EXAMPLES,
        run,
        arg("--agent", default=None, metavar="A", help="the agent (default: main)"),
        arg("--session", default="main", metavar="K", help="the session that receives the events"),
        arg("--cwd", metavar="D", help="the folder that the shell starts in (default: here)"),
        arg("--shell", default="", metavar="PATH", help="the shell (default: the user's own)"),
        arg("--timeout", type=seconds, metavar="S", help="how many seconds it may last"),
        arg("--attach", metavar="ID", help="continue a terminal that this shell opened"),
        arg("--list", action="store_true", help="list the terminals"),
        json="print the list as JSON",
    )
    under(commands, "Policy")


def run(args: argparse.Namespace) -> int:
    """Open a terminal, or list them; return the exit code of its shell."""
    with Client(socket_path()) as client:
        if args.list:
            return _listed(client.call("terminal.list", {})["terminals"], as_json=args.json)
        if not (os.isatty(0) and os.isatty(1)):
            return fail("standard input and output must be a terminal", "sayso terminal")
        terminal_id = args.attach
        if terminal_id is None:
            opened = client.call("terminal.open", _params(args))
            if opened["status"] not in {"pending", "running"}:
                fail(opened.get("why") or "the terminal was not opened", "sayso terminal")
                return REFUSED
            terminal_id = opened["terminal_id"]
            if opened["status"] == "pending":
                code = opened["code"]
                remark("note", f"waiting for the approval of {code}: `sayso pending` shows it")
        from bot.cli.terminal.line import AttachedTerminal  # noqa: PLC0415 - what no other way needs

        return AttachedTerminal(client, terminal_id).follow()


def _params(args: argparse.Namespace) -> "dict[str, object]":
    given = {
        "agent": args.agent,
        "session": args.session,
        "cwd": os.path.abspath(args.cwd or os.getcwd()),  # noqa: PTH100, PTH109 - text, not a Path
        "shell": args.shell,
        "term": os.environ.get("TERM") or "dumb",
        "timeoutMs": None if args.timeout is None else max(1, round(args.timeout * 1000)),
    }
    return {name: value for name, value in given.items() if value is not None}


def _listed(found: "list[dict[str, Any]]", *, as_json: bool) -> int:
    if as_json:
        return print_json(found)
    if not found:
        print("No terminals are open.")  # noqa: T201
    for one in found:
        state = f"ended: {one['ended']}" if one["ended"] else "open"
        print(f"{one['terminal_id']}  {one['user']:<16} {one['owner']:<12} {state}")  # noqa: T201
    return 0
