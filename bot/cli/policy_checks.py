"""Offer `sayso policy test` and `sayso policy import`."""

import argparse
import json
import os
import sys

from bot.cli.layout import Formatter

_TEST = """\
examples:
  sayso policy test                           the examples of your rules and of what is shipped
  sayso policy test expected.jsonl            and what you expect; see docs/how-to/test-a-policy.md
  sayso policy test --config new.json5 expected.jsonl
"""
_IMPORT = """\
examples:
  sayso policy import --from claude-code ~/.claude/settings.json
  sayso policy import --from codex ~/.codex/rules/default.rules
  sayso policy import --from openclaw ~/.openclaw/exec-approvals.json --write
"""
_SOURCES = ("openclaw", "claude-code", "codex", "gemini")


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands to the group's parser."""
    parser = commands.add_parser(
        "test",
        help="check examples and expectations; exit 1 if one does not hold",
        epilog=_TEST,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help="JSON lines, each a command with its `expect`")
    add("--config", metavar="F", help="a configuration to test instead of the one in effect")
    add("--cwd", metavar="D", help="where commands would run that name no folder (default: here)")
    add("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=test)
    parser = commands.add_parser(
        "import",
        help="turn another product's rules into rules and allowlist entries",
        epilog=_IMPORT,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--from", dest="source", required=True, choices=_SOURCES, help="the product")
    add("file", metavar="FILE", help="its file")
    add("--write", action="store_true", help="add the entries to exec-approvals.json")
    add("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=bring)


def test(args: argparse.Namespace) -> int:
    """Check what stands beside the policy; exit 0 if all of it holds, 1 if not.

    Raises:
        SaysoError: the configuration or a file cannot be used at all.
    """
    from pathlib import Path  # noqa: PLC0415 - 3 ms of each start

    from bot.policy_tools.checking import check, shown, to_json  # noqa: PLC0415 - slow to import

    cwd = os.path.abspath(args.cwd or os.getcwd())  # noqa: PTH100, PTH109 - text, not a Path
    file = None if args.file is None else Path(args.file)
    config = None if args.config is None else Path(args.config)
    checked = check(file, config, os.environ, cwd)
    text = json.dumps(to_json(checked), indent=2) + "\n" if args.json else shown(checked)
    sys.stdout.write(text)
    return 1 if checked.failures else 0


def bring(args: argparse.Namespace) -> int:
    """Print what another product's file comes to, and write its entries if that was asked for.

    Raises:
        SaysoError: a file cannot be used, or a rule that narrows does not stand yet.
    """
    from pathlib import Path  # noqa: PLC0415 - 3 ms of each start

    from bot.policy_tools.importing.source import (  # noqa: PLC0415 - slow to import
        Source,
        import_file,
        shown,
        to_json,
        write,
    )

    imported = import_file(Source(args.source), Path(args.file), os.environ)
    if args.write:
        write(imported, os.environ)
    text = json.dumps(to_json(imported), indent=2) + "\n" if args.json else shown(imported)
    sys.stdout.write(text)
    return 0
