"""Offer `sayso policy test` and `sayso policy import`."""

import argparse
import os

from bot.cli.call import show
from bot.cli.parser import arg, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bot.cli.parser import Commands

_TEST = """\
sayso policy test                           the examples of your rules and of the shipped profiles
sayso policy test expected.jsonl            plus expectations; see docs/how-to/test-a-policy.md
sayso policy test --config new.json5 expected.jsonl
"""
_IMPORT = """\
sayso policy import --from claude-code ~/.claude/settings.json
sayso policy import --from codex ~/.codex/rules/default.rules
sayso policy import --from claude-code ~/.claude/settings.json ~/app/.claude/settings.json
sayso policy import --from openclaw ~/.openclaw/exec-approvals.json --write
"""
_SOURCES = ("openclaw", "claude-code", "codex", "gemini")


def register(commands: "Commands") -> None:
    """Add the commands to the group's parser."""
    config = "a configuration to test instead of the one in effect"
    cwd = "working directory of commands that name none (default: here)"
    command(
        commands,
        "test",
        "check examples and expectations; exit 1 if one fails",
        _TEST,
        test,
        arg("file", nargs="?", metavar="FILE", help="JSON lines, each a command with its `expect`"),
        arg("--config", metavar="F", help=config),
        arg("--cwd", metavar="D", help=cwd),
    )
    trust = "allow any arguments of programs that can run others, as the source does"
    writes = "write the result if it is no looser than the source"
    command(
        commands,
        "import",
        "convert another product's rules to rules and allowlist entries",
        _IMPORT,
        bring,
        arg("--from", dest="source", required=True, choices=_SOURCES, help="the product"),
        arg("files", nargs="+", metavar="FILE", help="its files"),
        arg("--folder", metavar="D", help="the only folder in which allow rules apply"),
        arg("--trust-source", action="store_true", help=trust),
        arg("--write", action="store_true", help=writes),
    )


def test(args: argparse.Namespace) -> int:
    """Check what accompanies the policy; exit 0 if all of it passes, 1 if not.

    Raises:
        SaysoError: the configuration or a file cannot be used at all.
    """
    from pathlib import Path  # noqa: PLC0415 - 3 ms of each start

    from bot.policy_tools.checks import check, shown, to_json  # noqa: PLC0415 - slow to import

    cwd = os.path.abspath(args.cwd or os.getcwd())  # noqa: PTH100, PTH109 - text, not a Path
    file = None if args.file is None else Path(args.file)
    config = None if args.config is None else Path(args.config)
    checked = check(file, config, os.environ, cwd)
    show(args, to_json(checked) if args.json else checked, shown)
    return 1 if checked.failures else 0


def bring(args: argparse.Namespace) -> int:
    """Print what another product's files translate to, and write it if requested.

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
    return show(args, report.to_json(imported) if args.json else imported, report.shown)
