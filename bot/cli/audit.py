"""Offer `sayso audit`: check the journal's chain, and read its end."""

import argparse
import json
import sys
from pathlib import Path

from bot.cli.layout import Formatter

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
    read.add_argument("--limit", type=int, default=20, help="records at most (default: 20)")
    read.set_defaults(run=tail)
    for parser in (check, read):
        parser.add_argument("--file", metavar="F", help="the journal (default: as configured)")
        parser.add_argument("--json", action="store_true", help="print JSON")


def verify(args: argparse.Namespace) -> int:
    """Check every record; exit 3 when one was changed, removed, added or moved."""
    from core.audit.verify import verify as check  # noqa: PLC0415

    path = Path(args.named) if args.named is not None else _path(args)
    verdict = check(path)
    if args.json:
        told = {
            "ok": verdict.ok,
            "records": verdict.records,
            "firstBadLine": verdict.first_bad_line,
            "why": verdict.why,
        }
        sys.stdout.write(json.dumps(told) + "\n")
    elif verdict.ok:
        sys.stdout.write(f"{path}: {verdict.records} records, the chain is whole\n")
    else:
        sys.stdout.write(f"{path}:{verdict.first_bad_line}: {verdict.why}\n")
    return 0 if verdict.ok else _BROKEN


def tail(args: argparse.Namespace) -> int:
    """Print the last records, oldest first."""
    lines = _path(args).read_text(encoding="utf-8").splitlines()
    for line in lines[-args.limit :]:
        record = json.loads(line)
        words = (f"{key}={value}" for key, value in record.items() if key not in _FRAME)
        said = f"{record['at']}  {record['kind']:<9} {' '.join(words)}"
        sys.stdout.write((line if args.json else said) + "\n")
    return 0


_FRAME = frozenset({"seq", "at", "kind", "prev", "hash"})


def _path(args: argparse.Namespace) -> Path:
    if args.file is not None:
        return Path(args.file)
    import os  # noqa: PLC0415

    from bot.settings import load  # noqa: PLC0415

    return load(environ=os.environ).audit_path
