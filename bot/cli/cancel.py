"""Offer `sayso cancel`: cancel a pending approval or a running command."""

import argparse
import json
import sys

from bot.cli.help_format import offer
from bot.cli.paths import socket_path
from bot.client import Client

_NOTHING = 3


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    purpose = "cancel a pending approval or a running command"
    parser = offer(commands, "cancel", purpose, "sayso cancel K3F7QZ")
    parser.add_argument("id", metavar="ID", help="id, code or unique prefix")
    parser.set_defaults(run=cancel)


def cancel(args: argparse.Namespace) -> int:
    """End what was asked for; exit 3 when there was nothing to end."""
    with Client(socket_path()) as client:
        answer = client.call("exec.cancel", {"id": args.id})
    words = json.dumps(answer, indent=2) if args.json else answer["sentence"]
    sys.stdout.write(f"{words}\n")
    return 0 if answer["cancelled"] else _NOTHING
