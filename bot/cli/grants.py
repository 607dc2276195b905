"""Offer `sayso grants` and `sayso task`: what people allowed for a while, and its end."""

import argparse
import json
import sys
import time
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
        "grants", help="list and revoke temporary grants", allow_abbrev=False
    )
    inner = group.add_subparsers(dest="action", required=True, metavar="ACTION")
    parser = offer(inner, "list", "list active grants", "sayso grants list --json")
    parser.set_defaults(run=show)
    parser = offer(inner, "revoke", "revoke a grant", "sayso grants revoke 7K3F9Q")
    parser.add_argument("id", metavar="ID", help="the grant's code or id")
    parser.set_defaults(run=revoke)
    _add_task(commands)


def _add_task(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    group = commands.add_parser("task", help="revoke a task's grants", allow_abbrev=False)
    inner = group.add_subparsers(dest="action", required=True, metavar="ACTION")
    example = "sayso task end fix-login"
    parser = offer(inner, "end", "revoke every grant of a task", example)
    parser.add_argument("name", metavar="NAME", help="the task, as `sayso run --task` names it")
    parser.add_argument("--agent", default=None, metavar="A", help="only this agent's")
    parser.set_defaults(run=end_task)


def show(args: argparse.Namespace) -> int:
    """Print each grant with how far it goes."""
    with Client(socket_path()) as client:
        found = client.call("grants.list", {})["grants"]
    if args.json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    for grant in found:
        by = grant["name"] or grant["by"]
        what = ", ".join(grant["promise"])
        sys.stdout.write(f"{grant['code']}  {grant['agent']}  {what}  {_limits(grant)}by {by}\n")
        if grant["preview"] is not None:
            sys.stdout.write(f"        {grant['preview']['sentence']}\n")
    if not found:
        sys.stdout.write("No active grants.\n")
    return 0


def _limits(grant: "Mapping[str, Any]") -> str:
    parts = []
    if grant["expiresMs"] is not None:
        at = time.gmtime(grant["expiresMs"] / 1000)
        parts.append(time.strftime("until %Y-%m-%d %H:%M:%SZ", at))
    if grant["usesLeft"] is not None:
        parts.append(f"{grant['usesLeft']} runs left")
    if grant["session"] is not None:
        parts.append(f"session {grant['session']}")
    if grant["task"] is not None:
        unused = "" if grant["expiresMs"] is not None else " until unused for a day"
        parts.append(f"task {grant['task']}{unused}")
    return "".join(f"{part}, " for part in parts)


def revoke(args: argparse.Namespace) -> int:
    """End a grant; exit 3 if none of this name holds."""
    with Client(socket_path()) as client:
        return _print_result(args, client.call("grants.revoke", {"id": args.id}))


def end_task(args: argparse.Namespace) -> int:
    """End every grant of a task; exit 3 if none holds."""
    params = {"task": args.name} | ({"agent": args.agent} if args.agent else {})
    with Client(socket_path()) as client:
        return _print_result(args, client.call("tasks.end", params))


def _print_result(args: argparse.Namespace, answer: "Mapping[str, Any]") -> int:
    if args.json:
        sys.stdout.write(json.dumps(answer, indent=2) + "\n")
    else:
        sys.stdout.write(f"{answer['sentence']}\n")
    return 0 if answer["done"] else _REFUSED
