"""Offer `sayso token`: who may call over the network, and for what."""

import argparse
import json
import re
import sys
import time
from collections.abc import Mapping

from bot.cli.help_format import Formatter
from bot.cli.paths import socket_path
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_REFUSED = 3
_SCOPES = ("request", "approve", "admin", "read")
_SHORTEST_S, _LONGEST_S = 60, 10 * 366 * 86_400
"""What the gateway takes (``bot.intake.methods.tokens``)."""
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_CREATE = """\
examples:
  sayso token create ci --scope request --agent ci --expires 30d
  sayso token create ana-laptop --scope approve --scope read --person ana
  TOKEN=$(sayso token create dashboard --scope read)     the token alone is on standard output
"""
_LIST = """\
example:
  sayso token list --json
"""
_REVOKE = """\
example:
  sayso token revoke ci
"""


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command group to the parser."""
    group = commands.add_parser("token", help="manage API tokens", allow_abbrev=False)
    inner = group.add_subparsers(dest="action", required=True, metavar="ACTION")
    parser = _command(inner, "create", "create a token; it is shown only once", _CREATE)
    parser.add_argument("name", metavar="NAME", help="what it is for")
    parser.add_argument(
        "--scope",
        action="append",
        required=True,
        choices=_SCOPES,
        help="what it may do; repeat for several",
    )
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--agent", metavar="A", help="the agent that asks with it")
    whose.add_argument("--person", metavar="P", help="the person who approves with it")
    parser.add_argument(
        "--expires",
        type=_seconds,
        metavar="TIME",
        help="lifetime, such as 12h or 30d; at least 60s (default: until revoked)",
    )
    parser.set_defaults(run=create)
    parser = _command(inner, "list", "list the tokens, without their values", _LIST)
    parser.set_defaults(run=show)
    parser = _command(inner, "revoke", "revoke a token permanently", _REVOKE)
    parser.add_argument("token", metavar="TOKEN", help="its name or id")
    parser.set_defaults(run=revoke)


def _command(
    group: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    purpose: str,
    examples: str,
) -> argparse.ArgumentParser:
    parser = group.add_parser(
        name, help=purpose, epilog=examples, formatter_class=Formatter, allow_abbrev=False
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _seconds(text: str) -> int:
    found = re.fullmatch(r"([1-9][0-9]{0,8})([smhdw])", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError("write a number and s, m, h, d or w, such as 30d")
    seconds = int(found[1]) * _UNITS[found[2]]
    if not _SHORTEST_S <= seconds <= _LONGEST_S:
        raise argparse.ArgumentTypeError("a token lasts 60s at least and 10 years at most")
    return seconds


def create(args: argparse.Namespace) -> int:
    """Make a token and print its text alone on standard output; exit 3 if none was made."""
    params = {
        "name": args.name,
        "scopes": args.scope,
        "agent": args.agent,
        "person": args.person,
        "expiresS": args.expires,
    }
    with Client(socket_path()) as client:
        answer = client.call("token.create", params)
    if args.json:
        _print_json(answer)
    elif answer["done"]:
        sys.stderr.write(f"{answer['sentence']}\n")
        sys.stdout.write(f"{answer['token']}\n")
    else:
        sys.stdout.write(f"{answer['sentence']}\n")
    return 0 if answer["done"] else _REFUSED


def show(args: argparse.Namespace) -> int:
    """Print each token: whose, what for, until when, when it was used last."""
    with Client(socket_path()) as client:
        found = client.call("token.list", {})["tokens"]
    if args.json:
        _print_json(found)
        return 0
    for token in found:
        sys.stdout.write(
            f"{token['id']}  {token['name']}  {' '.join(token['scopes'])}{_whose(token)}  "
            f"{_until(token)}  {_used(token)}\n"
        )
    if not found:
        sys.stdout.write("No tokens yet. Create one with `sayso token create`.\n")
    return 0


def _whose(token: "Mapping[str, Any]") -> str:
    if token["agent"] is not None:
        return f"  agent {token['agent']}"
    return "" if token["person"] is None else f"  person {token['person']}"


def _until(token: "Mapping[str, Any]") -> str:
    if token["state"] != "live":
        return f"({token['state']})"
    return f"until {_at(token['expiresMs'])}" if token["expiresMs"] else "until revoked"


def _used(token: "Mapping[str, Any]") -> str:
    return f"last used {_at(token['usedMs'])}" if token["usedMs"] else "never used"


def _at(epoch_ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%MZ", time.gmtime(epoch_ms / 1000))


def revoke(args: argparse.Namespace) -> int:
    """End a token; exit 3 if there is none of this name."""
    with Client(socket_path()) as client:
        answer = client.call("token.revoke", {"token": args.token})
    if args.json:
        _print_json(answer)
    else:
        sys.stdout.write(f"{answer['sentence']}\n")
    return 0 if answer["done"] else _REFUSED


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
