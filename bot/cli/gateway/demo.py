"""Offer `sayso demo`: the whole product in a minute, in a temporary home."""

import argparse

from bot.cli.parser import arg, command, under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bot.cli.parser import Commands

_EXAMPLES = """\
sayso demo                         answer in this terminal (a, A or d), or open the printed link:
                                   three fake chats and the control page on one screen
sayso demo --answer allow-once     no terminal needed: the answer is given for you
"""
_ANSWERS = ("allow-once", "allow-always", "deny")


def register(commands: "Commands") -> None:
    """Add the command to the parser."""
    command(
        commands,
        "demo",
        "try Sayso end to end in a temporary home",
        _EXAMPLES,
        demo,
        arg("--answer", choices=_ANSWERS, help="the person's answer (default: ask you)"),
        json="print one JSON object per step",
    )
    under(commands, "The gateway")


def demo(args: argparse.Namespace) -> int:
    """Run a gateway and an example agent; exit 0 if everything went as answered."""
    import asyncio  # noqa: PLC0415 - heavy; the other commands start without it

    from bot.demo.play import show  # noqa: PLC0415

    return asyncio.run(show(args.answer, json_lines=args.json))
