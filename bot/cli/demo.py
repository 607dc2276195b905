"""Offer `sayso demo`: the whole product in a minute, in a scratch home."""

import argparse

from bot.cli.help_format import Formatter

_EXAMPLES = """\
examples:
  sayso demo                         answer in this terminal: a, A or d
  sayso demo --answer allow-once     no terminal needed: the answer is given for you
"""


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="try Sayso end to end in a temporary home",
        epilog=_EXAMPLES,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--answer",
        choices=("allow-once", "allow-always", "deny"),
        help="the person's answer (default: ask you)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a step")
    parser.set_defaults(run=demo)


def demo(args: argparse.Namespace) -> int:
    """Run a gateway and an example agent; exit 0 when everything went as answered."""
    import asyncio  # noqa: PLC0415 - heavy; the other commands start without it

    from bot.demo import show  # noqa: PLC0415

    return asyncio.run(show(args.answer, json_lines=args.json))
