"""Offer `sayso doctor`: prove that everything works before the first real question."""

import argparse
import json
import sys

from bot.cli.layout import Formatter

_EXAMPLES = """\
example:
  sayso doctor --json     every check with its verdict; exit 1 if one fails
"""


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "doctor",
        help="check settings, state, channels and hosts",
        epilog=_EXAMPLES,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=doctor)


def doctor(args: argparse.Namespace) -> int:
    """Run every check, print each verdict with what to do, and exit 1 if one failed."""
    import os  # noqa: PLC0415

    from bot.doctor import Verdict, examine  # noqa: PLC0415

    findings = examine(os.environ)
    for found in findings:
        if args.json:
            sys.stdout.write(json.dumps(found.as_json(), ensure_ascii=False) + "\n")
        else:
            sys.stdout.write(f"{found.verdict:<5} {found.subject}: {found.detail}\n")
    return 1 if any(found.verdict is Verdict.FAIL for found in findings) else 0
