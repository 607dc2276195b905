"""Offer `sayso audit`: check the journal's chain, print its end, rotate it, export evidence."""

import argparse
import json
import sys
import time
from pathlib import Path

from bot.cli import remark
from bot.cli.arg_types import count, span_of
from bot.cli.call import print_json, visible
from bot.cli.parser import arg, command, group, under
from bot.counted import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from bot.cli.parser import Commands
    from core.store.views.evidence import Recorded

_EXAMPLES = """\
sayso audit verify                        check the hash chain of ~/.sayso/audit.jsonl, all segments
sayso audit verify --from 3               where audit.jsonl.000001 and .000002 were moved away
sayso audit verify copy.jsonl             check a copy, or the exec log, offline
sayso audit tail --limit 5                print the last records
sayso audit rotate                        begin a new segment, also while the gateway runs
sayso audit export --since 7d week.jsonl  evidence of a week; verify.py next to it checks it
"""
_BROKEN = 3
_PATIENCE_S = 30.0
_Line = tuple[str, int, bytes]
"""A line of the journal: its file, its line number, its bytes."""


def register(commands: "Commands") -> None:
    """Add the command group to the parser."""
    inner = group(commands, "audit", "check and read the audit journal", _EXAMPLES)
    file = arg("--file", metavar="F", help="the journal (default: as configured)")
    named = arg("named", nargs="?", metavar="FILE", help="the same as --file")
    oldest = arg(
        "--from", dest="first", type=count, metavar="N", help="the oldest segment (default: 1)"
    )
    example = "sayso audit verify copy.jsonl"
    command(
        inner,
        "verify",
        "check the hash chain over all segments",
        example,
        verify,
        named,
        file,
        oldest,
    )
    limit = arg("--limit", type=count, default=20, help="records at most (default: 20)")
    command(
        inner, "tail", "print the last records", "sayso audit tail --limit 5", tail, limit, file
    )
    purpose = "end the journal's segment and begin the next"
    command(inner, "rotate", purpose, "sayso audit rotate", rotate, file)
    example = "sayso audit export --since 7d week.jsonl\nsayso audit export --id 9J7W4H one.jsonl"
    command(
        inner,
        "export",
        "write the journal, approvals and what people were shown into one file, with its verifier",
        example,
        export,
        arg("to", metavar="FILE", help="the file to write; verify.py is put beside it"),
        arg("--since", type=_moment, metavar="T", help="only since then: 7d, or 2026-11-24T08:00"),
        arg("--until", type=_moment, metavar="T", help="before then"),
        arg("--id", metavar="ID", help="only the request that this id or code matches"),
        file,
    )
    under(commands, "Safety")


def verify(args: argparse.Namespace) -> int:
    """Check every record; exit 3 if one was changed, removed, added or moved.

    Raises:
        BadRequest: no such file exists, or it cannot be read.
    """
    from core.audit.segments import number_of  # noqa: PLC0415
    from core.audit.verify import verify as check  # noqa: PLC0415

    path = Path(args.named) if args.named is not None else _path(args)
    verdict = check(path, first=args.first or number_of(path))
    if not verdict.ok and verdict.first_bad_line is None:
        _refuse(f"{path} {verdict.why}.")
    if args.json:
        report = {
            "ok": verdict.ok,
            "records": verdict.records,
            "segments": verdict.segments,
            "file": verdict.file or None,
            "firstBadLine": verdict.first_bad_line,
            "why": verdict.why,
            "head": verdict.head,
            "endChecked": verdict.end_checked,
        }
        print_json(report, indent=None)
    elif verdict.ok:
        parts = f" in {verdict.segments} segments" if verdict.segments > 1 else ""
        words = (
            f"{counted(verdict.records, 'record')}{parts}, the chain is intact, head {verdict.head}"
        )
        sys.stdout.write(f"{path}: {words}\n")
        if verdict.unchecked:
            remark("note", verdict.unchecked)
    else:
        bad = path.with_name(verdict.file)
        sys.stdout.write(f"{bad}:{verdict.first_bad_line}: {verdict.why}\n")
    return 0 if verdict.ok else _BROKEN


def tail(args: argparse.Namespace) -> int:
    """Print the last records, oldest first.

    Raises:
        BadRequest: no such file exists, it cannot be read, or it is not a journal.
    """
    from core.audit.segments import newest_first  # noqa: PLC0415

    path, last = _path(args), list[_Line]()
    try:
        for file in newest_first(path):
            lines = file.read().splitlines()
            first = max(0, len(lines) + len(last) - args.limit)
            found = enumerate(lines[first:], first + 1)
            last = [*((file.name, number, line) for number, line in found), *last]
            if len(last) == args.limit:
                break
    except OSError as error:
        _refuse(f"{path} cannot be read: {error.strerror}.")
    for name, number, line in last:
        try:
            said = _said(line, as_json=args.json)
        except (ValueError, LookupError, AttributeError, TypeError):
            _refuse(f"{name}:{number}: not a journal line; run `sayso audit verify` for details.")
        sys.stdout.write(f"{said}\n")
    return 0


def rotate(args: argparse.Namespace) -> int:
    """Have the gateway rotate its journal; without a gateway, or with ``--file``, do it here.

    Raises:
        BadRequest: no such file exists.
        JournalError: nothing changed: another process writes to it, or it has no new records.
    """
    found = _by_gateway() if args.file is None else None
    if found is None:
        found = _here(_path(args))
    if args.json:
        print_json(found)
    else:
        sys.stdout.write(
            f"{found['file']}: segment {found['segment']} ends with record {found['seq']}, "
            f"hash {found['hash']}\n"
        )
    return 0


def export(args: argparse.Namespace) -> int:
    """Write evidence of the past to a file, even while the gateway runs.

    Raises:
        BadRequest: nothing was selected, something cannot be read, or the file cannot be written.
        StoreError: the store cannot be read.
    """
    import os  # noqa: PLC0415 - slow to import, as all below
    from dataclasses import asdict  # noqa: PLC0415

    from bot.evidence.export import export as write  # noqa: PLC0415
    from bot.evidence.journal_slice import ExportScope  # noqa: PLC0415
    from bot.settings import load  # noqa: PLC0415
    from core.store.engine.read_only import open_and_read  # noqa: PLC0415
    from core.store.views.evidence import recorded  # noqa: PLC0415

    settings = load(environ=os.environ)
    wanted = ExportScope(args.since, args.until, (args.id or "").strip().lower())
    path = Path(args.file) if args.file is not None else settings.audit_path

    def read(ids: "tuple[str, ...]") -> "tuple[Recorded, ...]":
        return open_and_read(settings.store_url, recorded, ids)

    made = write(path, read, wanted, Path(args.to))
    if args.json:
        print_json({**asdict(made), "file": str(made.file), "verifier": str(made.verifier)})
    else:
        gone = f", {made.forgotten} more are forgotten" if made.forgotten else ""
        sys.stdout.write(
            f"{made.file}: {counted(made.records, 'journal record')}, "
            f"{counted(made.approvals, 'approval')}{gone}\n"
            f"SHA-256 {made.sha256}\nhead    {made.head}\n"
            f"Note both on another machine. To check it: python3 {made.verifier} {made.file}\n"
        )
    return 0


def _moment(text: str) -> int:
    """Return the epoch ms of a point in time, or of a duration before now."""
    from datetime import UTC, datetime  # noqa: PLC0415

    ago = span_of(text)
    if ago is not None:
        return max(0, round((time.time() - ago) * 1000))
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        words = f"{text!r} is neither a duration such as 7d nor a time such as 2026-11-24T08:00"
        raise argparse.ArgumentTypeError(words) from None
    moment = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def _by_gateway() -> "dict[str, Any] | None":
    """Return the segment that a running gateway ended, ``None`` if no gateway runs."""
    from bot.cli.paths import socket_path  # noqa: PLC0415
    from bot.client import Client  # noqa: PLC0415
    from core.errors import GatewayUnreachable  # noqa: PLC0415

    try:
        with Client(socket_path()) as client:
            return client.call("audit.rotate", {}, _PATIENCE_S)
    except GatewayUnreachable:
        return None


def _here(path: Path) -> "dict[str, object]":
    """Rotate under the lock that a gateway would hold."""
    import asyncio  # noqa: PLC0415
    import os  # noqa: PLC0415

    from bot.intake.results.gateway import RotatedAnswer  # noqa: PLC0415
    from core.audit.journal import AuditJournal  # noqa: PLC0415

    if not path.exists():
        _refuse(f"{path} cannot be read: No such file or directory.")
    with AuditJournal(path) as journal:
        return RotatedAnswer.of(asyncio.run(journal.rotate(f"uid:{os.getuid()}"))).as_json()


_FRAME = frozenset({"seq", "at", "kind", "prev", "hash"})
_NOTHING: "tuple[object, ...]" = (None, "", [])


def _said(line: bytes, *, as_json: bool) -> str:
    """Return the printed form of a record."""
    text = line.decode()
    record = json.loads(text)
    words = (
        f"{key}={_value(value)}"
        for key, value in record.items()
        if key not in _FRAME and value not in _NOTHING
    )
    said = f"{record['at']}  {record['kind']:<9} {' '.join(words)}"
    return visible(text if as_json else said)


def _value(value: object) -> str:
    """Return a value as JSON; a visible string without blanks and quotes as it is."""
    if isinstance(value, str) and value.isprintable() and not {" ", '"'} & set(value):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _refuse(words: str) -> "NoReturn":
    from core.errors import BadRequest  # noqa: PLC0415 - for mistakes only

    raise BadRequest(words)


def _path(args: argparse.Namespace) -> Path:
    if args.file is not None:
        return Path(args.file)
    import os  # noqa: PLC0415

    from bot.settings import load  # noqa: PLC0415

    return load(environ=os.environ).audit_path
