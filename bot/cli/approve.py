"""Offer `sayso pending`, `sayso approve` and `sayso history`."""

import argparse
import json
import sys
import time

from bot.cli.arg_types import count
from bot.cli.help_format import Formatter
from bot.cli.paths import socket_path
from bot.client import Client

_REFUSED = 3
_CODE = 6
"""Characters of an id that make its code; a test holds it to ``core.model.identity``."""
_ALIASES = {
    "allow-once": "allow-once",
    "allow": "allow-once",
    "once": "allow-once",
    "allow-always": "allow-always",
    "always": "allow-always",
    "deny": "deny",
    "reject": "deny",
    "block": "deny",
}


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands to the parser."""
    _add_pending(commands)
    _add_approve(commands)
    _add_history(commands)


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    about: str,
    example: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=about,
        epilog=f"example:\n  {example}",
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _add_pending(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _add(commands, "pending", "list pending approvals", "sayso pending --json")
    parser.add_argument("--limit", type=count, default=100, help="rows at most (default: 100)")
    parser.set_defaults(run=pending)


def _add_approve(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    example = (
        "sayso approve K3F7QZ allow-once\n  sayso approve K3F7QZ 30m\n"
        "  sayso approve K3F7QZ deny --note 'wrong branch'"
    )
    parser = _add(commands, "approve", "answer a pending approval", example)
    parser.add_argument("id", metavar="ID", help="id, code or unique prefix")
    parser.add_argument(
        "decision",
        metavar="DECISION",
        help="allow-once, allow-always or deny; or a limit of allow-always: 30m, 2h, 7d, 5x,"
        " session, task",
    )
    parser.add_argument(
        "limit", metavar="LIMIT", nargs="?", help="limit of allow-always, such as 30m"
    )
    parser.add_argument(
        "--note", default="", metavar="WORDS", help="the reason, shown to the agent"
    )
    parser.set_defaults(run=approve)


def _add_history(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _add(commands, "history", "list past requests", "sayso history --limit 20")
    parser.add_argument("--limit", type=count, default=50, help="rows at most (default: 50)")
    parser.add_argument("--agent", default=None, metavar="A", help="only this agent's")
    parser.set_defaults(run=history)


def pending(args: argparse.Namespace) -> int:
    """Print the questions that wait, oldest first."""
    with Client(socket_path()) as client:
        rows = client.call("exec.approval.list", {"limit": args.limit})["pending"]
    if args.json:
        return _json(rows)
    for row in rows:
        left = max(0, round(row["deadlineMs"] / 1000 - time.time()))
        first = (row.get("behind") or "")[:_CODE].upper()
        task = f"  task {row['task']}" if row.get("task") else ""
        waits = f"  asked when {first}, which is identical, has ended" if first else ""
        sys.stdout.write(
            f"{row['code']}  {row['agent']}{task}  {left}s left{waits}\n{_indent(row['command'])}\n"
        )
    if not rows:
        sys.stdout.write("Nothing is waiting.\n")
    return 0


def approve(args: argparse.Namespace) -> int:
    """Answer a question; exit 3 when the answer did not count."""
    params = {"id": args.id, "note": args.note, **_decision(args.decision.lower(), args.limit)}
    with Client(socket_path()) as client:
        answered = client.call("exec.approval.resolve", params)
    if args.json:
        _json(answered)
    else:
        sys.stdout.write(f"{answered['sentence']}\n")
    return 0 if answered["accepted"] else _REFUSED


def _decision(word: str, limit: str | None) -> dict[str, str]:
    """Read the words as chats do: a limit alone is an allow-always that goes so far.

    Raises:
        BadRequest: two words, and the first is not a decision.
    """
    if word in _ALIASES:
        return {"decision": _ALIASES[word]} | ({"limit": limit} if limit else {})
    if limit is None:
        return {"decision": "allow-always", "limit": word}
    from core.errors import BadRequest  # noqa: PLC0415 - 4 ms that only a mistake needs

    raise BadRequest(f"{word!a} is not a decision. Use allow-once, allow-always or deny.")


def history(args: argparse.Namespace) -> int:
    """Print what was asked and how it ended, newest first."""
    params = {"limit": args.limit} | ({"agent": args.agent} if args.agent else {})
    with Client(socket_path()) as client:
        rows = client.call("history.list", params)["history"]
    if args.json:
        return _json(rows)
    for row in rows:
        at = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(row["atMs"] / 1000))
        by = f"; decided by {row['by']}" if row["by"] else ""
        task = f"  task {row['task']}" if row.get("task") else ""
        sys.stdout.write(f"{at}  {row['code']}  {row['agent']}{task}  {row['how']}{by}\n")
        sys.stdout.write(f"{_indent(row['command'])}\n")
    return 0


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _json(value: object) -> int:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
    return 0
