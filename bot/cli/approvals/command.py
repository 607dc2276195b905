"""Offer `sayso approvals`: view and edit exec-approvals.json and its allowlists."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.cli import fail, remark
from bot.cli.approvals.text import entry_words, pattern_words, plain, worded
from bot.cli.call import print_json
from bot.cli.parser import arg, command, group, under
from bot.cli.paths import home

if TYPE_CHECKING:
    from bot.cli.approvals.node_file import NodeApprovals
    from bot.cli.parser import Commands, Parser
    from bot.policy_tools.own_approvals import OwnApprovals
    from core.approvals.file.file import ApprovalsFile

_GET = """\
sayso approvals get                   every agent's settings and patterns, with their last use
sayso approvals get --agent main --json
sayso approvals get --node web        the file of a node
"""
_SET = """\
sayso approvals set --file approvals.json     put a checked file in place; its socket is kept
sayso approvals get --json | jq '.defaults.ask = "always"' | sayso approvals set --stdin
"""
_ADD = """\
sayso approvals allowlist add --agent main /usr/bin/rg
sayso approvals allowlist add --agent main /usr/bin/git --argv status --short
sayso approvals allowlist add --node web --agent main /usr/bin/rg
sayso approvals allowlist add --dry-run /usr/bin/rm    what it would have matched; adds nothing
"""
_REMOVE = """\
sayso approvals allowlist remove --agent main /usr/bin/rg
"""
_LIST = """\
sayso approvals allowlist list --agent main
"""


def register(commands: "Commands") -> None:
    """Add the command group to the parser."""
    inner = group(commands, "approvals", "view and edit exec-approvals.json")
    one = arg("--agent", metavar="A", help="one agent only (default: all)")
    _whose(command(inner, "get", "print the file without its token", _GET, get, one))
    source = _whose(command(inner, "set", "replace the whole file", _SET, put))
    choice = source.add_mutually_exclusive_group(required=True)
    choice.add_argument("--file", metavar="F", help="read the new content from a file")
    choice.add_argument(
        "--stdin", action="store_true", help="read the new content from standard input"
    )
    members = group(inner, "allowlist", "change an agent's allowlist", dest="member")
    agent = arg("--agent", default="main", metavar="A", help="the agent (default: main)")
    dry = "add nothing; say which of the agent's last 500 commands it would have matched"
    argv = "exactly these arguments, templates allowed; must come last (default: any)"
    adding = command(
        members,
        "add",
        "allow a program for an agent",
        _ADD,
        add,
        arg("pattern", metavar="PATTERN", help="a path; * in one folder, ** in any"),
        agent,
        arg("--dry-run", action="store_true", help=dry),
        arg("--argv", nargs=argparse.REMAINDER, metavar="WORD", help=argv),
    )
    _whose(adding)
    pattern = arg("pattern", metavar="PATTERN", help="the entry's pattern or its id")
    _whose(command(members, "remove", "remove an entry", _REMOVE, remove, pattern, agent))
    _whose(command(members, "list", "print an agent's patterns", _LIST, show, agent))
    under(commands, "People and what they allowed")


def _whose(parser: "Parser") -> "Parser":
    """Add the options that name whose file is meant."""
    choice = parser.add_mutually_exclusive_group()
    own = "the gateway's file (default); while it runs, a change takes a terminal"
    choice.add_argument("--gateway", action="store_true", help=own)
    node = "a node's file, through the running gateway; a change takes a terminal"
    choice.add_argument("--node", metavar="N", help=node)
    return parser


def get(args: argparse.Namespace) -> int:
    """Print the file with each entry's last use, and its faults."""
    from core.approvals.file.edit import begun  # noqa: PLC0415 - slow to import

    file = _reader(args)
    text: dict[str, Any] = file.shown()
    if args.agent is not None and text:
        agents = text.get("agents", {})
        text = {**text, "agents": {a: part for a, part in agents.items() if a == args.agent}}
    if args.json:
        print_json(begun(text))
    else:
        sys.stdout.writelines(f"{line}\n" for line in worded(_named(args), text))
    return _warn(file)


def put(args: argparse.Namespace) -> int:
    """Check a text, replace the file with it, and print warnings about it."""
    from core.errors import BadRequest  # noqa: PLC0415

    source = "/dev/stdin" if args.stdin else args.file
    try:
        text = Path(source).read_bytes().decode(errors="surrogateescape")
    except OSError as error:
        raise BadRequest(f"{source} cannot be read: {error.strerror}.") from error
    file = _writer(args)
    file.replace(text)
    if args.json:
        print_json({"warnings": list(file.lint())})
        return 0
    sys.stdout.write(f"{_named(args)} was replaced\n")
    return _warn(file)


def add(args: argparse.Namespace) -> int:
    """Add a pattern and print its entry; an existing one stays, an idle one starts over.

    With ``--dry-run`` nothing is added; what it would have matched is printed.

    Raises:
        BadRequest: the entry could never match; nothing was added.
    """
    argv = None if args.argv is None else tuple(args.argv)
    if args.dry_run and args.node is not None:
        words = "give one of --dry-run and --node: what a node ran is not looked through"
        return fail(words, "sayso approvals allowlist add")
    if args.dry_run:
        return _try(args, argv)
    from core.policy.rules.lint_entries import counts_in_part  # noqa: PLC0415 - slow to import

    file = _writer(args)
    entry = file.add(args.agent, args.pattern, argv)
    if args.json:
        limit = {} if argv is None else {"argv": list(argv)}
        print_json({"agent": args.agent, "id": entry.id, "pattern": entry.pattern, **limit})
    else:
        which = "" if argv is not None else " with any arguments"  # as a prompt says
        sys.stdout.write(f"{plain(entry.words)}{which} may run for agent {plain(args.agent)}\n")
    part = counts_in_part(args.pattern, argv)
    if part is not None:
        remark("note", plain(part))
    return 0


def _try(args: argparse.Namespace, argv: tuple[str, ...] | None) -> int:
    import os  # noqa: PLC0415 - only here

    from bot.intake.results.rules import PreviewAnswer  # noqa: PLC0415 - slow to import
    from bot.policy_tools.allowlist_dry_run import would_match  # noqa: PLC0415 - the same

    preview = would_match(os.environ, args.agent, args.pattern, argv)
    found = PreviewAnswer.of(preview).as_json()
    if args.json:
        print_json(found)
    else:
        words = plain(pattern_words({"pattern": args.pattern, "argv": argv}))
        sys.stdout.write(f"{words} {found['sentence']}; nothing was added\n")
    return 0


def remove(args: argparse.Namespace) -> int:
    """Remove an entry.

    Raises:
        NotFound: the agent has none by that pattern or id.
    """
    file = _writer(args)
    if not file.remove(args.agent, args.pattern):
        from core.errors import NotFound  # noqa: PLC0415

        agent, pattern = plain(args.agent), plain(args.pattern)
        whose = "" if args.node is None else f" --node {plain(args.node)}"
        seen = f"see `sayso approvals allowlist list --agent {agent}{whose}`"
        raise NotFound(f"Agent {agent} has no entry {pattern}; {seen}.")
    if args.json:
        print_json({"removed": True})
    else:
        sys.stdout.write(f"{plain(args.pattern)} was removed\n")
    return 0


def show(args: argparse.Namespace) -> int:
    """Print an agent's entries, one per line, with their last use."""
    file = _reader(args)
    text: dict[str, Any] = file.shown()
    part = text.get("agents", {}).get(args.agent, {})
    entries = part.get("allowlist", [])
    if args.json:
        print_json(entries)
    else:
        sys.stdout.writelines(f"{entry_words(entry)}\n" for entry in entries)
        if not entries:
            remark("note", f"no entries for agent {plain(args.agent)} in {_named(args)}")
    return _warn(file)


def _path() -> Path:
    return Path(home()) / "exec-approvals.json"


def _named(args: argparse.Namespace) -> str:
    """Return the file's name in messages."""
    return str(_path()) if args.node is None else plain(_of_node(args).words)


def _reader(args: argparse.Namespace) -> "ApprovalsFile | NodeApprovals":
    if args.node is not None:
        return _of_node(args)
    from core.approvals.file.file import ApprovalsFile  # noqa: PLC0415 - pydantic costs 60 ms

    return ApprovalsFile(_path())


def _writer(args: argparse.Namespace) -> "OwnApprovals | NodeApprovals":
    if args.node is not None:
        return _of_node(args)
    import os  # noqa: PLC0415 - only here

    from bot.policy_tools.own_approvals import OwnApprovals  # noqa: PLC0415 - slow to import

    return OwnApprovals(os.environ)


def _of_node(args: argparse.Namespace) -> "NodeApprovals":
    from bot.cli.approvals.node_file import NodeApprovals  # noqa: PLC0415 - slow to import

    return NodeApprovals(args.node)


def _warn(file: "ApprovalsFile | OwnApprovals | NodeApprovals") -> int:
    for line in file.lint():
        remark("warning", plain(line))
    return 0
