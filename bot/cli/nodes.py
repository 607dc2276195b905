"""Offer `sayso node`: other machines that take whole requests."""

import argparse
import sys

from bot.cli.call import Call, print_json
from bot.cli.listings import moment
from bot.cli.parser import arg, command, group
from bot.cli.paths import socket_path
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bot.cli.parser import Commands

    Row = Mapping[str, Any]

_APPROVE = """\
sayso node list                      who waits, and under which code
sayso node approve K3F7QZ
sayso node approve K3F7QZ --name build
"""
_NODE = arg("id", metavar="NODE", help="its id, name, address, or 6 characters or more of its id")


def register(commands: "Commands") -> None:
    """Add the commands to the parser."""
    inner = group(commands, "node", "pair other machines, list and revoke them", bare=show)
    command(inner, "list", "list the nodes and who waits", "sayso node list --json", show)
    command(
        inner,
        "approve",
        "pair the node that waits under a code",
        _APPROVE,
        Call("node.approve", "code name"),
        arg("code", metavar="CODE", help="the code of its request"),
        arg("--name", metavar="NAME", help="its display name (default: what it calls itself)"),
    )
    command(
        inner,
        "rename",
        "give a node another display name",
        "sayso node rename web1 build",
        Call("node.rename", "id name"),
        _NODE,
        arg("name", metavar="NAME", help="the new name"),
    )
    purpose = "revoke a node: it takes no commands until it is paired anew"
    revoke = Call("node.revoke", "id")
    command(inner, "revoke", purpose, "sayso node revoke build", revoke, _NODE)


def show(args: argparse.Namespace) -> int:
    """Print the nodes, and those that wait to be allowed."""
    with Client(socket_path()) as client:
        found = client.call("node.list", {})
    if args.json:
        return print_json(found)
    lines = [*map(_node, found["nodes"]), *map(_request, found["requests"])]
    sys.stdout.write("".join(lines) or "No nodes, and none waits.\n")
    return 0


def _node(row: "Row") -> str:
    seen = f"last seen {moment(row['seenMs'])}" if row["seenMs"] else "never connected"
    return f"{row['name']}  {row['address']}  {row['words']}  {seen}\n  {row['id']}\n"


def _request(row: "Row") -> str:
    return (
        f"{row['name']}  {row['address']}  {row['words']}  waits until {moment(row['expiresMs'])}\n"
        f"  {row['id']}\n  allow: sayso node approve {row['code']}\n"
    )
