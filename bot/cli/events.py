"""Offer `sayso events drain`: what an agent's session has not heard yet."""

import argparse
import json
import sys

from bot.cli.arg_types import count
from bot.cli.help_format import Formatter
from bot.cli.paths import socket_path
from bot.client import Client

_EXAMPLES = """\
examples:
  sayso events drain main              what the session has not acknowledged
  sayso events drain main --ack 17     acknowledge up to 17, then print what is left
"""


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command group to the parser."""
    group = commands.add_parser("events", help="read a session's events", allow_abbrev=False)
    inner = group.add_subparsers(dest="action", required=True, metavar="ACTION")
    parser = inner.add_parser(
        "drain",
        help="print events that are not acknowledged",
        epilog=_EXAMPLES,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("session", metavar="SESSION", help="the session's key")
    parser.add_argument("--ack", type=int, metavar="N", help="acknowledge up to N first")
    parser.add_argument("--limit", type=count, default=100, help="events at most (default: 100)")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.set_defaults(run=drain)


def drain(args: argparse.Namespace) -> int:
    """Print a session's events in order; they come again until they are acknowledged."""
    with Client(socket_path()) as client:
        if args.ack is not None:
            client.call("events.ack", {"session": args.session, "seq": args.ack})
        answer = client.call("events.drain", {"session": args.session, "limit": args.limit})
    for event in answer["events"]:
        line = json.dumps(event, ensure_ascii=False) if args.json else _line(event)
        sys.stdout.write(line + "\n")
    return 0


def _line(event: dict[str, object]) -> str:
    return f"{event['seq']:>6}  {event['text']}"
