"""Offer `sayso audit`: check the journal's chain, and read its end."""

import argparse
import json
import sys
from pathlib import Path

from bot.cli.arg_types import count
from bot.cli.help_format import Formatter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_EXAMPLES = """\
examples:
  sayso audit verify                       check the hash chain of ~/.sayso/audit.jsonl
  sayso audit verify copy.jsonl            check a copy, or the exec log, offline
  sayso audit tail --limit 5               print the last records
"""
_BROKEN = 3


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command group to the parser."""
    group = commands.add_parser(
        "audit",
        help="check and read the audit journal",
        epilog=_EXAMPLES,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    inner = group.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = inner.add_parser("verify", help="check the hash chain", allow_abbrev=False)
    check.add_argument("named", nargs="?", metavar="FILE", help="the same as --file")
    check.set_defaults(run=verify)
    read = inner.add_parser("tail", help="print the last records", allow_abbrev=False)
    read.add_argument("--limit", type=count, default=20, help="records at most (default: 20)")
    read.set_defaults(run=tail)
    for parser in (check, read):
        parser.add_argument("--file", metavar="F", help="the journal (default: as configured)")
        parser.add_argument("--json", action="store_true", help="print JSON")


def verify(args: argparse.Namespace) -> int:
    """Check every record; exit 3 when one was changed, removed, added or moved.

    Raises:
        BadRequest: there is no such file, or it cannot be read.
    """
    from core.audit.verify import verify as check  # noqa: PLC0415

    path = Path(args.named) if args.named is not None else _path(args)
    verdict = check(path)
    if not verdict.ok and verdict.first_bad_line is None:
        _refuse(f"{path} {verdict.why}.")
    if args.json:
        report = {
            "ok": verdict.ok,
            "records": verdict.records,
            "firstBadLine": verdict.first_bad_line,
            "why": verdict.why,
            "head": verdict.head,
        }
        sys.stdout.write(json.dumps(report) + "\n")
    elif verdict.ok:
        words = f"{verdict.records} records, the chain is intact, head {verdict.head}"
        sys.stdout.write(f"{path}: {words}\n")
    else:
        sys.stdout.write(f"{path}:{verdict.first_bad_line}: {verdict.why}\n")
    return 0 if verdict.ok else _BROKEN


def tail(args: argparse.Namespace) -> int:
    """Print the last records, oldest first.

    Raises:
        BadRequest: there is no such file, it cannot be read, or it is no journal.
    """
    path = _path(args)
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        _refuse(f"{path} cannot be read: {error.strerror}.")
    first = max(0, len(lines) - args.limit)
    for number, line in enumerate(lines[first:], first + 1):
        try:
            said = _said(line, as_json=args.json)
        except (ValueError, LookupError, AttributeError, TypeError):
            _refuse(f"{path}:{number}: not a journal line; run `sayso audit verify` for details.")
        sys.stdout.write(f"{said}\n")
    return 0


_FRAME = frozenset({"seq", "at", "kind", "prev", "hash"})


def _said(line: bytes, *, as_json: bool) -> str:
    """Return what is printed of a record."""
    text = line.decode()
    record = json.loads(text)
    words = (f"{key}={value}" for key, value in record.items() if key not in _FRAME)
    said = f"{record['at']}  {record['kind']:<9} {' '.join(words)}"
    return text if as_json else said


def _refuse(words: str) -> "NoReturn":
    from core.errors import BadRequest  # noqa: PLC0415 - for mistakes only

    raise BadRequest(words)


def _path(args: argparse.Namespace) -> Path:
    if args.file is not None:
        return Path(args.file)
    import os  # noqa: PLC0415

    from bot.settings import load  # noqa: PLC0415

    return load(environ=os.environ).audit_path
