"""Offer `sayso doctor`: prove that everything works before the first real question."""

import argparse
import sys
from typing import TYPE_CHECKING

from bot.cli.arg_types import seconds
from bot.cli.call import GREEN, RED, YELLOW, paint, print_json
from bot.cli.listings import folded
from bot.cli.parser import arg, command, under
from bot.cli.paths import with_acl
from bot.counted import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bot.cli.parser import Commands
    from bot.health.check import Finding

_EXAMPLES = """\
sayso doctor --json              every check with its verdict; exit 1 if one fails
sayso doctor channels            ask the platforms about tokens, scopes and people
sayso doctor node                on a node or its gateway: files, key, connection, clock
sayso doctor executor            start an executor as each configured user
sayso doctor channels --prompt   send a real test prompt everywhere and wait for an answer
"""
_SECONDS = 60.0
_VERDICT_WIDTH = 6
_COLOURS = {"ok": GREEN, "warn": YELLOW, "fail": RED}


def register(commands: "Commands") -> None:
    """Add the command to the parser."""
    what = (
        "channels: test each chat platform; executor: start one as each user; node: this machine "
        "as a node, or the nodes of this gateway (default: the rest)"
    )
    prompt = "with channels: also send a test prompt for `true` through the gateway"
    waits = "with --prompt: how long to wait for an answer (default: 60)"
    command(
        commands,
        "doctor",
        "check settings, state, channels and hosts",
        _EXAMPLES,
        doctor,
        arg(
            "what",
            nargs="?",
            choices=("all", "channels", "executor", "node"),
            default="all",
            help=what,
        ),
        arg(
            "--exec-acl", metavar="F", help="the access list that `sayso serve --exec-acl` is given"
        ),
        arg("--prompt", action="store_true", help=prompt),
        arg("--seconds", type=seconds, default=_SECONDS, help=waits),
    )
    under(commands, "The gateway")


def doctor(args: argparse.Namespace) -> int:
    """Run every check, print each result with what to do, and exit 1 if one failed."""
    seen = dict.fromkeys(_COLOURS, 0)
    for found in _findings(args):
        seen[found.verdict] += 1
        if args.json:
            print_json(found.as_json(), indent=None)
        else:
            _print(found)
        sys.stdout.flush()
    if not args.json:
        sys.stdout.write(f"\n{summary(seen)}\n")
    return 1 if seen["fail"] else 0


def _print(found: "Finding") -> None:
    verdict = paint(f"{found.verdict:<5}", _COLOURS[found.verdict])
    below = f"\n{' ' * _VERDICT_WIDTH}".join(
        folded(f"{found.subject}: {found.detail}", _VERDICT_WIDTH)
    )
    sys.stdout.write(f"{verdict} {below}\n")


def summary(seen: "Mapping[str, int]") -> str:
    """Return how many checks ended well, and how many did not."""
    fails, warns = seen["fail"], seen["warn"]
    if not fails and not warns:
        return f"All {seen['ok']} checks passed."
    return (
        f"{seen['ok']} ok, {counted(warns, 'warning')}, "
        f"{fails or 'no'} failure{'' if fails == 1 else 's'}."
    )


def _findings(args: argparse.Namespace) -> "Iterator[Finding]":
    import os  # noqa: PLC0415

    if args.what == "all":
        import logging  # noqa: PLC0415

        from bot.doctor.installation import examine  # noqa: PLC0415

        # What a backend lacks is reported as a finding below; the log line would only repeat it.
        logging.getLogger("core.hosts.sandbox").addHandler(logging.NullHandler())
        yield from examine(with_acl(os.environ, args.exec_acl))
        return
    if args.what == "node":
        from bot.doctor.node import examine_node  # noqa: PLC0415

        yield from examine_node(os.environ)
        return
    from bot.settings import load  # noqa: PLC0415

    settings = load(environ=os.environ)
    if args.what == "executor":
        from bot.doctor.executors import executors  # noqa: PLC0415

        yield from executors(settings)
        return
    from bot.doctor.channels import prove_by_prompt, prove_channels  # noqa: PLC0415

    yield from prove_channels(settings)
    if args.prompt:
        yield from prove_by_prompt(settings, args.seconds)
