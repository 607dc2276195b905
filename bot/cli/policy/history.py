"""Offer `sayso policy backtest` and `sayso policy suggest`, which read the history."""

import argparse
import os

from bot.cli.arg_types import count
from bot.cli.call import show
from bot.cli.parser import arg, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bot.cli.parser import Commands

_BACKTEST = """\
sayso policy backtest new.json5                  replay the last 30 days under a new configuration
sayso policy backtest --since 7d --json new.json5
sayso policy backtest --approvals new-approvals.json ~/.sayso/config.json5
"""
_SUGGEST = """\
sayso policy suggest               cost of prompts in the last 7 days, and entries to save some
sayso policy suggest --since 30d --least 5 --json
"""


def register(commands: "Commands") -> None:
    """Add the commands to the group's parser."""
    past = "how far back, such as 30d (default), 12h"
    lists = "the allowlists that go with it (default: the current ones)"
    cwd = "working directory of runs that have none on record (default: here)"
    command(
        commands,
        "backtest",
        "replay the history under a new configuration and compare",
        _BACKTEST,
        backtest,
        arg("config", metavar="CONFIG", help="the new configuration, a JSON5 file"),
        arg("--since", default="30d", metavar="DURATION", help=past),
        arg("--approvals", metavar="F", help=lists),
        arg("--cwd", metavar="D", help=cwd),
    )
    past = "how far back, such as 7d (default), 12h"
    least = "minimum number of allows for an entry (default: 3)"
    command(
        commands,
        "suggest",
        "show the cost of prompts and suggest entries; changes nothing",
        _SUGGEST,
        suggest,
        arg("--since", default="7d", metavar="DURATION", help=past),
        arg("--least", type=count, default=3, metavar="N", help=least),
    )


def backtest(args: argparse.Namespace) -> int:
    """Judge the history twice and print the differences; nothing runs, nothing is written.

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
    return show(args, backtest_report.to_json(found) if args.json else found, backtest_report.shown)


def suggest(args: argparse.Namespace) -> int:
    """Print what prompts cost, and commands that would avoid some.

    Raises:
        SaysoError: the configuration, the approvals file or the store cannot be used.
    """
    from bot.policy_tools import judge, suggest_report  # noqa: PLC0415 - slow to import
    from bot.policy_tools.past_commands import past_commands  # noqa: PLC0415 - the same
    from bot.policy_tools.suggest import report  # noqa: PLC0415 - the same

    commands = past_commands(judge.present_settings(os.environ), args.since)
    found = report(commands, judge.present_judge(os.environ), max(args.least, 1))
    return show(args, suggest_report.to_json(found) if args.json else found, suggest_report.shown)
