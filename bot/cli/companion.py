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


def register(commands: "Commands") -> None:
    """Add the command to the parser."""
    purpose = "answer approvals in this terminal, as well as in the chats"
    command(commands, "companion", purpose, _EXAMPLES, companion, json="print failures as JSON")
    under(commands, "Requests")


def companion(args: argparse.Namespace) -> int:
    """Serve exec-approvals.sock and show each question until the person quits."""
    del args
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return fail("companion needs a terminal; without one, use `sayso approve`")
    from bot.companion.run import run  # noqa: PLC0415 - heavy; the other commands start without it
    from bot.settings import ensure_home, home_folder  # noqa: PLC0415

    home = home_folder(None, os.environ)
    ensure_home(home)
    run(home)
    return 0
