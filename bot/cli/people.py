"""Offer `sayso people`: who is one human being, and whose answers count no more."""

import argparse
import json
import sys
from collections.abc import Mapping

from bot.cli.help_format import offer
from bot.cli.paths import socket_path
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_REFUSED = 3


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command group to the parser."""
    group = commands.add_parser(
        "people", help="link people's accounts, revoke people", allow_abbrev=False
    )
    inner = group.add_subparsers(dest="action", required=True, metavar="ACTION")
    parser = offer(inner, "list", "print people and their accounts", "sayso people list --json")
    parser.set_defaults(run=show)
    parser = _change(inner, "add", "add a person", "sayso people add ana")
    parser.add_argument("name", metavar="NAME", help="letters, digits, dots, dashes, underscores")
    parser = _change(inner, "pair", "show a code to link an account", "sayso people pair ana")
    parser.add_argument("name", metavar="NAME", help="the person whose account it is")
    parser = _change(
        inner, "unlink", "unlink an account from its person", "sayso people unlink telegram:1001"
    )
    parser.add_argument("account", metavar="CHANNEL:ACCOUNT", help="such as telegram:1001")
    example = "sayso people revoke ana\n  sayso people revoke telegram:1001"
    parser = _change(inner, "revoke", "revoke a person's or an account's right to approve", example)
    parser.add_argument("who", metavar="WHO", help="a person, or one account")
    parser = _change(
        inner, "restore", "restore a revoked right to approve", "sayso people restore ana"
    )
    parser.add_argument("who", metavar="WHO", help="a person, or one account")


def _change(
    group: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    purpose: str,
    example: str,
) -> argparse.ArgumentParser:
    parser = offer(group, name, purpose, example)
    parser.set_defaults(run=change)
    return parser


def change(args: argparse.Namespace) -> int:
    """Change the directory and print what became of it; exit 3 when nothing was changed."""
    params = {key: getattr(args, key) for key in ("name", "account", "who") if hasattr(args, key)}
    with Client(socket_path()) as client:
        answer = client.call(f"people.{args.action}", params)
    if args.json:
        _print_json(answer)
    else:
        sys.stdout.write(f"{answer['sentence']}\n")
    return 0 if answer["done"] else _REFUSED


def show(args: argparse.Namespace) -> int:
    """Print each person, with one line an account."""
    with Client(socket_path()) as client:
        found = client.call("people.list", {})["people"]
    if args.json:
        _print_json(found)
        return 0
    for person in found:
        sys.stdout.write(f"{person['id']}{_mark(person)}\n")
        for account in person["accounts"]:
            name = f"  {account['name']}" if account["name"] else ""
            ref = f"{account['channel']}:{account['account']}"
            sys.stdout.write(f"  {ref}{name}{_mark(account)}\n")
    if not found:
        sys.stdout.write("No people yet. Add one with `sayso people add NAME`.\n")
    return 0


def _mark(one: "Mapping[str, Any]") -> str:
    return "  (revoked)" if one["revoked"] else ""


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
