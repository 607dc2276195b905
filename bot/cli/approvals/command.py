"""Offer `sayso approvals`: view and edit exec-approvals.json and its allowlists."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.cli.approvals.text import entry_words, pattern_words, plain, worded
from bot.cli.help_format import Formatter
from bot.cli.paths import home

if TYPE_CHECKING:
    from core.approvals.file.file import ApprovalsFile

_GET = """\
examples:
  sayso approvals get                   every agent's settings and patterns, with their last use
  sayso approvals get --agent main --json
"""
_SET = """\
examples:
  sayso approvals set --file approvals.json     put a checked file in place; its socket is kept
  sayso approvals get --json | jq '.defaults.ask = "always"' | sayso approvals set --stdin
"""
_ADD = """\
examples:
  sayso approvals allowlist add --agent main /usr/bin/rg
  sayso approvals allowlist add --agent main /usr/bin/git --argv status --short
  sayso approvals allowlist add --dry-run /usr/bin/rm    what it would have matched; adds nothing
"""
_REMOVE = """\
example:
  sayso approvals allowlist remove --agent main /usr/bin/rg
"""
_LIST = """\
example:
  sayso approvals allowlist list --agent main
"""


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command group to the parser."""
    group = commands.add_parser(
        "approvals", help="view and edit exec-approvals.json", allow_abbrev=False
    )
    inner = group.add_subparsers(dest="action", required=True, metavar="ACTION")
    parser = _command(inner, "get", "print the file without its token", _GET, get)
    parser.add_argument("--agent", metavar="A", help="one agent only (default: all)")
    parser = _command(inner, "set", "replace the whole file", _SET, put)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--file", metavar="F", help="read the text from a file")
    source.add_argument("--stdin", action="store_true", help="read the text from standard input")
    lists = inner.add_parser("allowlist", help="change an agent's allowlist", allow_abbrev=False)
    members = lists.add_subparsers(dest="member", required=True, metavar="ACTION")
    parser = _command(members, "add", "allow a program for an agent", _ADD, add)
    parser.add_argument("pattern", metavar="PATTERN", help="a path; * in one folder, ** in any")
    _agent(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="add nothing; say which of the agent's last 500 commands it would have matched",
    )
    parser.add_argument(
        "--argv",
        nargs=argparse.REMAINDER,
        metavar="WORD",
        help="exactly these arguments, templates allowed; must come last (default: any)",
    )
    parser = _command(members, "remove", "remove an entry", _REMOVE, remove)
    parser.add_argument("pattern", metavar="PATTERN", help="the entry's pattern or its id")
    _agent(parser)
    parser = _command(members, "list", "print an agent's patterns", _LIST, show)
    _agent(parser)


def _command(
    group: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    purpose: str,
    examples: str,
    run: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    parser = group.add_parser(
        name,
        help=purpose,
        epilog=examples,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def _agent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", default="main", metavar="A", help="the agent (default: main)")


def get(args: argparse.Namespace) -> int:
    """Print the file with each entry's last use, and what is wrong with it."""
    file = _file()
    text = _with_usage(file.shown())
    if args.agent is not None:
        agents = text.get("agents", {})
        text = {**text, "agents": {a: part for a, part in agents.items() if a == args.agent}}
    if args.json:
        _print_json(text)
    else:
        sys.stdout.writelines(f"{line}\n" for line in worded(_path(), text))
    return _warn(file)


def put(args: argparse.Namespace) -> int:
    """Check a text, put it in the file's place, and say what to look at in it."""
    from core.errors import BadRequest  # noqa: PLC0415

    source = "/dev/stdin" if args.stdin else args.file
    try:
        text = Path(source).read_bytes().decode(errors="surrogateescape")
    except OSError as error:
        raise BadRequest(f"{source} cannot be read: {error.strerror}.") from error
    file = _file()
    file.replace(text)
    if args.json:
        _print_json({"warnings": list(file.lint())})
        return 0
    sys.stdout.write(f"{_path()} was replaced\n")
    return _warn(file)


def add(args: argparse.Namespace) -> int:
    """Add a pattern and print its entry; one that is there already stays, an idle one starts over.

    With ``--dry-run`` nothing is added; what it would have matched is printed.
    """
    argv = None if args.argv is None else tuple(args.argv)
    if args.dry_run:
        return _try(args, argv)
    import os  # noqa: PLC0415 - only here

    from bot.policy_tools.allowlist_add import add as add_entry  # noqa: PLC0415 - slow to import
    from core.policy.rules.lint_entries import counts_in_part  # noqa: PLC0415 - the same

    entry = add_entry(_file(), os.environ, args.agent, args.pattern, argv)
    if args.json:
        limit = {} if argv is None else {"argv": list(argv)}
        _print_json({"agent": args.agent, "id": entry.id, "pattern": entry.pattern, **limit})
    else:
        sys.stdout.write(f"{plain(entry.words)} may run for agent {plain(args.agent)}\n")
    part = counts_in_part(args.pattern, argv)
    if part is not None:
        sys.stderr.write(f"note: {plain(part)}\n")
    return 0


def _try(args: argparse.Namespace, argv: tuple[str, ...] | None) -> int:
    import os  # noqa: PLC0415 - only here

    from bot.intake.results.results import preview_of  # noqa: PLC0415 - slow to import
    from bot.policy_tools.allowlist_dry_run import would_match  # noqa: PLC0415 - the same

    found = preview_of(would_match(os.environ, args.agent, args.pattern, argv))
    if args.json:
        _print_json(found)
    else:
        words = plain(pattern_words({"pattern": args.pattern, "argv": argv}))
        sys.stdout.write(f"{words} {found['sentence']}; nothing was added\n")
    return 0


def remove(args: argparse.Namespace) -> int:
    """Remove an entry; exit 1 if the agent has none by that pattern or id."""
    removed = _file().remove(args.agent, args.pattern)
    if args.json:
        _print_json({"removed": removed})
    elif removed:
        sys.stdout.write(f"{plain(args.pattern)} was removed\n")
    else:
        sys.stderr.write(
            f"sayso: agent {plain(args.agent)} has no entry {plain(args.pattern)}; "
            f"see `sayso approvals allowlist list --agent …`\n"
        )
    return 0 if removed else 1


def show(args: argparse.Namespace) -> int:
    """Print an agent's entries, one a line, with their last use."""
    file = _file()
    part = _with_usage(file.shown()).get("agents", {}).get(args.agent, {})
    entries = part.get("allowlist", [])
    if args.json:
        _print_json(entries)
    else:
        sys.stdout.writelines(f"{entry_words(entry)}\n" for entry in entries)
    return _warn(file)


def _path() -> Path:
    return Path(home()) / "exec-approvals.json"


def _file() -> "ApprovalsFile":
    from core.approvals.file.file import ApprovalsFile  # noqa: PLC0415 - pydantic costs 60 ms

    return ApprovalsFile(_path())


def _with_usage(text: dict[str, Any]) -> dict[str, Any]:
    from core.approvals.file.usage import UsageFile, with_usage  # noqa: PLC0415

    return with_usage(text, UsageFile(_path().with_suffix(".usage.json")).read())


def _warn(file: "ApprovalsFile") -> int:
    for line in file.lint():
        sys.stderr.write(f"warning: {plain(line)}\n")
    return 0


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
