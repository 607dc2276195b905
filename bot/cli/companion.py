"""Offer `sayso companion`: questions in this terminal, answered by one key."""

import argparse
import os
import sys

from bot.cli import fail
from bot.cli.parser import command, under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bot.cli.parser import Commands

_EXAMPLES = """\
sayso companion     show questions here; a: allow once, A: allow always, d: deny
"""
_UNASKED = """\
The gateway does not ask here: channels.companion is not set in {}/config.json5. An example is in
docs/explanation/asking.md; it takes effect after a restart."""


def register(commands: "Commands") -> None:
    """Add the command to the parser."""
    purpose = "answer approvals in this terminal, as well as in the chats"
    command(commands, "companion", purpose, _EXAMPLES, companion, json="print failures as JSON")
    under(commands, "Requests")


def companion(args: argparse.Namespace) -> int:
    """Serve exec-approvals.sock and show each question until the person quits.

    Raises:
        InvalidConfig: the gateway would not start with it either.
    """
    del args
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return fail("companion needs a terminal; without one, use `sayso approve`")
    from bot.companion.run import run  # noqa: PLC0415 - heavy; the other commands start without it
    from bot.settings import load  # noqa: PLC0415

    settings = load(environ=os.environ)
    asked = settings.channels.companion is not None
    run(settings.home, "" if asked else _UNASKED.format(settings.home))
    return 0
