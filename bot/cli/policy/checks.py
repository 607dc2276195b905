"""Offer `sayso policy test` and `sayso policy import`."""

import argparse
import json
import os
import sys

from bot.cli.help_format import Formatter

_TEST = """\
examples:
  sayso policy test                           the examples of your rules and of the shipped profiles
  sayso policy test expected.jsonl            plus expectations; see docs/how-to/test-a-policy.md
  sayso policy test --config new.json5 expected.jsonl
"""
_IMPORT = """\
examples:
  sayso policy import --from claude-code ~/.claude/settings.json
  sayso policy import --from codex ~/.codex/rules/default.rules
  sayso policy import --from claude-code ~/.claude/settings.json ~/app/.claude/settings.json
  sayso policy import --from openclaw ~/.openclaw/exec-approvals.json --write
"""
_SOURCES = ("openclaw", "claude-code", "codex", "gemini")


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands to the group's parser."""
    parser = commands.add_parser(
        "test",
        help="check examples and expectations; exit 1 if one fails",
        epilog=_TEST,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help="JSON lines, each a command with its `expect`")
    add("--config", metavar="F", help="a configuration to test instead of the one in effect")
    add("--cwd", metavar="D", help="working directory of commands that name none (default: here)")
    add("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=test)
    parser = commands.add_parser(
        "import",
        help="convert another product's rules to rules and allowlist entries",
        epilog=_IMPORT,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--from", dest="source", required=True, choices=_SOURCES, help="the product")
    add("files", nargs="+", metavar="FILE", help="its files")
    add("--folder", metavar="D", help="the only folder in which allow rules apply")
    add(
        "--trust-source",
        action="store_true",
        help="allow any arguments of programs that can run others, as the source does",
    )
    add("--write", action="store_true", help="write the result if it is no looser than the source")
    add("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=bring)


def test(args: argparse.Namespace) -> int:
    """Check what accompanies the policy; exit 0 if all of it holds, 1 if not.

    Raises:
        SaysoError: the configuration or a file cannot be used at all.
    """
    from pathlib import Path  # noqa: PLC0415 - 3 ms of each start

    from bot.policy_tools.checks import check, shown, to_json  # noqa: PLC0415 - slow to import

    cwd = os.path.abspath(args.cwd or os.getcwd())  # noqa: PTH100, PTH109 - text, not a Path
    file = None if args.file is None else Path(args.file)
    config = None if args.config is None else Path(args.config)
    checked = check(file, config, os.environ, cwd)
    text = json.dumps(to_json(checked), indent=2) + "\n" if args.json else shown(checked)
    sys.stdout.write(text)
    return 1 if checked.failures else 0


def bring(args: argparse.Namespace) -> int:
    """Print what another product's files come to, and write it if that was asked for.

    Raises:
        SaysoError: a file cannot be used, or the result would be looser than the source.
    """
    from pathlib import Path  # noqa: PLC0415 - 3 ms of each start

    from bot.policy_tools.importing import report, write  # noqa: PLC0415 - slow to import
    from bot.policy_tools.importing.import_files import Source, import_files  # noqa: PLC0415 - the same

    source = Source(args.source)
    folder = None if args.folder is None else os.path.abspath(args.folder)  # noqa: PTH100 - text
    imported = import_files(
        source,
        map(Path, args.files),
        os.environ,
        folder=folder,
        trust_source=args.trust_source,
    )
    if args.write:
        write.write(imported, source, os.environ)
    if args.json:
        sys.stdout.write(json.dumps(report.to_json(imported), indent=2) + "\n")
    else:
        sys.stdout.write(report.shown(imported))
    return 0
