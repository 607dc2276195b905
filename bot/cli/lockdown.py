"""Offer `sayso lockdown`: stop everything at once, see why, and lift it."""

import argparse
import json
import os
import sys

from bot.cli.help_format import offer
from bot.cli.paths import home, socket_path
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.gate.guards.lockdown import Lockdown

_REFUSED = 3
_PATIENCE_S = 5.0
_UNTOLD = (
    "A running gateway refuses everything from now on, and the next one starts locked down; "
    "no gateway could be asked to notify people:"
)


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command group to the parser."""
    group = commands.add_parser(
        "lockdown", help="deny every request until a person lifts it", allow_abbrev=False
    )
    inner = group.add_subparsers(dest="action", required=True, metavar="ACTION")
    parser = offer(
        inner,
        "on",
        "deny every request from now on, even if no gateway is running",
        "sayso lockdown on --why 'the build agent misbehaves'",
    )
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason shown to everybody")
    parser.set_defaults(run=engage)
    parser = offer(
        inner,
        "off",
        "test every entry point and, if all pass, accept requests again",
        "sayso lockdown off",
    )
    parser.set_defaults(run=lift)
    parser = offer(
        inner, "status", "show whether Sayso is locked down; exit 3 if so", "sayso lockdown status"
    )
    parser.set_defaults(run=status)


def engage(args: argparse.Namespace) -> int:
    """Lock by the file, so that nothing has to answer; then have the gateway notify people.

    A gateway that cannot be asked sees the file before it runs anything, so what it answers decides
    only where the file could not be written: then it locks in its memory.
    """
    import logging  # noqa: PLC0415 - lazily, as everything heavy here

    logging.disable()  # what follows says the same in words for whoever typed this
    lockdown = _lockdown()
    locked = lockdown.engage(args.why.strip() or "no reason given", by=f"uid:{os.getuid()}")
    trouble = _trouble({"why": args.why[:500]})
    unwritten = "" if lockdown.keep() else f"{home()}/lockdown could not be written"
    if unwritten and trouble:
        sys.stderr.write(f"sayso: not locked down: {unwritten}, and no gateway did it: {trouble}\n")
        return 1
    if unwritten:
        sys.stderr.write(
            f"sayso: {unwritten}, so the lockdown lasts only until the gateway stops\n"
        )
    if args.json:
        return _print_json({"locked": True, "sinceMs": locked.at_ms, "announced": not trouble})
    after = f" {_UNTOLD} {trouble}" if trouble else ""
    sys.stdout.write(f"{_safe(locked.sentence)}{after}\n")
    return 0


def _trouble(params: dict[str, object]) -> str:
    """Have the gateway lock and notify people; return why it did not, empty if it did.

    Raises:
        Forbidden: the gateway is another user's, so our file locks nothing there.
    """
    from core.errors import Forbidden, SaysoError  # noqa: PLC0415 - lazily, as everything heavy here

    try:
        with Client(socket_path()) as client:
            client.call("lockdown.engage", params, _PATIENCE_S)
    except Forbidden:
        raise
    except SaysoError as failure:
        return str(failure)
    return ""


def lift(args: argparse.Namespace) -> int:
    """Have the gateway prove itself and open; exit 3 where it stays locked."""
    with Client(socket_path()) as client:
        answer = client.call("lockdown.lift", {})
    if args.json:
        _print_json(answer)
    else:
        sys.stdout.write(f"{answer['sentence']}\n")
    return 0 if answer["done"] else _REFUSED


def status(args: argparse.Namespace) -> int:
    """Return the status, by the gateway or else by the file; exit 3 while it is locked.

    Raises:
        SaysoError: the gateway cannot say, and the file alone does not lock.
    """
    from core.errors import SaysoError  # noqa: PLC0415 - lazily, as everything heavy here

    try:
        found = _asked("lockdown.get", {}) or _by_file()
    except SaysoError:
        found = _by_file()
        if not found["locked"]:
            raise
    if args.json:
        _print_json(found)
    elif found["locked"]:
        at = _utc(found["sinceMs"])
        sys.stdout.write(f"Locked down since {at} by {found['by']}: {found['why']}\n")
    else:
        sys.stdout.write("Not locked down.\n")
    return _REFUSED if found["locked"] else 0


def _asked(method: str, params: dict[str, object]) -> "dict[str, Any] | None":
    """Return what the gateway answers, ``None`` where none does."""
    from core.errors import GatewayUnreachable  # noqa: PLC0415 - lazily, as everything heavy here

    try:
        with Client(socket_path()) as client:
            return client.call(method, params, _PATIENCE_S)
    except GatewayUnreachable:
        return None


def _by_file() -> "dict[str, Any]":
    from bot.intake.methods.lockdown import shown  # noqa: PLC0415 - lazily, as everything heavy here

    return dict(shown(_lockdown().state()))


def _lockdown() -> "Lockdown":
    from pathlib import Path  # noqa: PLC0415 - lazily, as everything heavy here

    from core.gate.guards.lockdown import NAME, Lockdown  # noqa: PLC0415

    return Lockdown(Path(home()) / NAME)


def _safe(words: str) -> str:
    from core.text.render import redact  # noqa: PLC0415 - lazily, as everything heavy here

    return redact(words).text


def _utc(at_ms: int) -> str:
    import time  # noqa: PLC0415 - lazily, as everything heavy here

    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at_ms / 1000))


def _print_json(value: object) -> int:
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    return 0
