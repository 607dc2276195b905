"""Offer `sayso doctor`: prove that everything works before the first real question."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from bot.cli.arg_types import seconds
from bot.cli.help_format import Formatter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.doctor.finding import Finding

_EXAMPLES = """\
examples:
  sayso doctor --json              every check with its verdict; exit 1 if one fails
  sayso doctor channels            ask the platforms about tokens, scopes and people
  sayso doctor channels --prompt   send a real test prompt everywhere and wait for an answer
"""
_SECONDS = 60.0


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "doctor",
        help="check settings, state, channels and hosts",
        epilog=_EXAMPLES,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=("all", "channels"),
        default="all",
        help="channels: test each chat platform (default: everything else)",
    )
    parser.add_argument(
        "--prompt",
        action="store_true",
        help="with channels: also send a test prompt for `true` through the gateway",
    )
    parser.add_argument(
        "--seconds",
        type=seconds,
        default=_SECONDS,
        help="with --prompt: how long to wait for an answer (default: 60)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=doctor)


def doctor(args: argparse.Namespace) -> int:
    """Run every check, print each verdict with what to do, and exit 1 if one failed."""
    failed = False
    for found in _findings(args):
        failed = failed or found.verdict == "fail"
        if args.json:
            sys.stdout.write(json.dumps(found.as_json(), ensure_ascii=False) + "\n")
        else:
            sys.stdout.write(f"{found.verdict:<5} {found.subject}: {found.detail}\n")
        sys.stdout.flush()
    return 1 if failed else 0


def _findings(args: argparse.Namespace) -> "Iterator[Finding]":
    import os  # noqa: PLC0415

    if args.what == "all":
        import logging  # noqa: PLC0415

        from bot.doctor.installation import examine  # noqa: PLC0415

        # What a backend lacks is a finding below; the log line would only repeat it.
        logging.getLogger("core.hosts.sandbox").addHandler(logging.NullHandler())
        yield from examine(os.environ)
        return
    from bot.doctor.channels import prove_by_prompt, prove_channels  # noqa: PLC0415
    from bot.settings import load  # noqa: PLC0415

    settings = load(environ=os.environ)
    yield from prove_channels(settings)
    if args.prompt:
        yield from prove_by_prompt(settings, args.seconds)
