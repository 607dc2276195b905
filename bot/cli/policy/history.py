"""Offer `sayso policy backtest` and `sayso policy suggest`, which look at the history."""

import argparse
import json
import os
import sys

from bot.cli.arg_types import count
from bot.cli.help_format import Formatter

_BACKTEST = """\
examples:
  sayso policy backtest new.json5                  replay the last 30 days under a new configuration
  sayso policy backtest --since 7d --json new.json5
  sayso policy backtest --approvals new-approvals.json ~/.sayso/config.json5
"""
_SUGGEST = """\
examples:
  sayso policy suggest               cost of prompts in the last 7 days, and entries to save some
  sayso policy suggest --since 30d --least 5 --json
"""


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands to the group's parser."""
    parser = commands.add_parser(
        "backtest",
        help="replay the history under a new configuration and compare",
        epilog=_BACKTEST,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("config", metavar="CONFIG", help="the new configuration, a JSON5 file")
    add("--since", default="30d", metavar="SPAN", help="how far back, such as 30d (default), 12h")
    add("--approvals", metavar="F", help="the allowlists that go with it (default: the present)")
    add(
        "--cwd",
        metavar="D",
        help="working directory of runs that have none on record (default: here)",
    )
    add("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=backtest)
    parser = commands.add_parser(
        "suggest",
        help="show the cost of prompts and suggest entries; changes nothing",
        epilog=_SUGGEST,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--since", default="7d", metavar="SPAN", help="how far back, such as 7d (default), 12h")
    add(
        "--least",
        type=count,
        default=3,
        metavar="N",
        help="minimum number of allows for an entry (default: 3)",
    )
    add("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=suggest)


def backtest(args: argparse.Namespace) -> int:
    """Judge the history twice and print what differs; nothing runs, nothing is written.

    Raises:
        SaysoError: a configuration, an approvals file or the store cannot be used.
    """
    from pathlib import Path  # noqa: PLC0415 - 3 ms of each start

    from bot.policy_tools import backtest_report, judge  # noqa: PLC0415 - slow to import
    from bot.policy_tools.backtest import backtest as compare  # noqa: PLC0415 - the same
    from bot.policy_tools.past_commands import past_commands  # noqa: PLC0415 - the same

    present = judge.present_judge(os.environ)
    approvals = None if args.approvals is None else Path(args.approvals)
    proposed = judge.proposed_judge(Path(args.config), approvals, os.environ)
    commands = past_commands(judge.present_settings(os.environ), args.since)
    cwd = os.path.abspath(args.cwd or os.getcwd())  # noqa: PTH100, PTH109 - text, not a Path
    found = compare(commands, present, proposed, cwd)
    if args.json:
        sys.stdout.write(json.dumps(backtest_report.to_json(found), indent=2) + "\n")
    else:
        sys.stdout.write(backtest_report.shown(found))
    return 0


def suggest(args: argparse.Namespace) -> int:
    """Print what prompts cost, and commands that would save some.

    Raises:
        SaysoError: the configuration, the approvals file or the store cannot be used.
    """
    from bot.policy_tools import judge, suggest_report  # noqa: PLC0415 - slow to import
    from bot.policy_tools.past_commands import past_commands  # noqa: PLC0415 - the same
    from bot.policy_tools.suggest import report  # noqa: PLC0415 - the same

    commands = past_commands(judge.present_settings(os.environ), args.since)
    found = report(commands, judge.present_judge(os.environ), max(args.least, 1))
    if args.json:
        sys.stdout.write(json.dumps(suggest_report.to_json(found), indent=2) + "\n")
    else:
        sys.stdout.write(suggest_report.shown(found))
    return 0
