"""Offer `sayso lockdown`: stop everything at once, see why, and lift it."""

import argparse
import os
import sys

from bot.cli import fail, remark
from bot.cli.call import REFUSED, Call, print_json
from bot.cli.listings import moment
from bot.cli.parser import arg, command, group, under
from bot.cli.paths import home, socket_path
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bot.cli.parser import Commands
    from core.gate.guards.lockdown import Lockdown

_PATIENCE_S = 5.0
_EXAMPLES = """\
sayso lockdown on --why 'runs odd things'   deny everything from now on
sayso lockdown status                       exit 3 while it is on
sayso lockdown off                          test every entry point, then accept
"""
_UNTOLD = (
    "A running gateway refuses everything from now on, and the next one starts locked down; "
    "no gateway has confirmed that it notifies people:"
)


def register(commands: "Commands") -> None:
    """Add the command group to the parser."""
    inner = group(commands, "lockdown", "deny every request until a person lifts it", _EXAMPLES)
    purpose = "deny every request from now on, even if no gateway is running"
    example = "sayso lockdown on --why 'the build agent misbehaves'"
    why = arg("--why", default="", metavar="TEXT", help="the reason shown to everybody")
    command(inner, "on", purpose, example, engage, why)
    purpose = "test every entry point and, if all pass, accept requests again"
    command(inner, "off", purpose, "sayso lockdown off", Call("lockdown.lift"))
    purpose = "show whether Sayso is locked down; exit 3 if so"
    command(inner, "status", purpose, "sayso lockdown status", status)
    under(commands, "Safety")


def engage(args: argparse.Namespace) -> int:
    """Lock by writing the file, which needs no gateway; then have the gateway notify people.

    A gateway that cannot be reached sees the file before it runs anything, so its answer matters
    only if the file could not be written: then it locks in memory.
    """
    import logging  # noqa: PLC0415 - lazily, as everything heavy here

    logging.disable()  # what follows tells the user the same
    lockdown = _lockdown()
    locked = lockdown.engage(args.why.strip() or "no reason given", by=f"uid:{os.getuid()}")
    trouble = _trouble({"why": args.why[:500]})
    unwritten = "" if lockdown.keep() else f"{home()}/lockdown could not be written"
    if unwritten and trouble:
        words = f"not locked down: {unwritten}, and no gateway has confirmed it: {trouble}"
        return fail(words, code=1, kind="StateError")
    if unwritten:
        remark("warning", f"{unwritten}, so the lockdown lasts only until the gateway stops")
    if args.json:
        return print_json({"locked": True, "sinceMs": locked.at_ms, "announced": not trouble})
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


def status(args: argparse.Namespace) -> int:
    """Print the status, from the gateway or else from the file; exit 3 while it is locked.

    Raises:
        SaysoError: the gateway does not answer, and the file alone does not lock.
    """
    from core.errors import SaysoError  # noqa: PLC0415 - lazily, as everything heavy here

    try:
        found = _asked("lockdown.get", {}) or by_file()
    except SaysoError:
        found = by_file()
        if not found["locked"]:
            raise
    if args.json:
        print_json(found)
    elif found["locked"]:
        at = moment(found["sinceMs"])
        sys.stdout.write(f"Locked down since {at} by {found['by']}: {found['why']}\n")
    else:
        sys.stdout.write("Not locked down.\n")
    return REFUSED if found["locked"] else 0


def _asked(method: str, params: dict[str, object]) -> "dict[str, Any] | None":
    """Return the gateway's answer, ``None`` if none answers."""
    from core.errors import GatewayUnreachable, Unanswered  # noqa: PLC0415 - lazily, as above

    try:
        with Client(socket_path()) as client:
            return client.call(method, params, _PATIENCE_S)
    except (GatewayUnreachable, Unanswered):
        return None


def by_file() -> "dict[str, Any]":
    """Return the lockdown as recorded in its file, in the form of ``lockdown.get``."""
    from bot.intake.results.gateway import LockdownAnswer  # noqa: PLC0415 - lazily, as above

    return LockdownAnswer.of(_lockdown().state()).as_json()


def _lockdown() -> "Lockdown":
    from pathlib import Path  # noqa: PLC0415 - lazily, as everything heavy here

    from core.gate.guards.lockdown import NAME, Lockdown  # noqa: PLC0415

    return Lockdown(Path(home()) / NAME)


def _safe(words: str) -> str:
    from core.text.render import redact  # noqa: PLC0415 - lazily, as everything heavy here

    return redact(words).text
