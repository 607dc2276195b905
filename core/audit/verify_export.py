"""Check an export of `sayso audit export` offline: `python3 verify.py FILE`.

This one file needs Python 3.11 and its standard library, nothing of Sayso. It checks

- the seal: no byte of the file was changed since it was written;
- the chain: each journal line has the hash of the one before, none is missing or changed;
- the prompts: each text has the SHA-256 by which it is called;
- the decisions: what the journal says of each is what the export says, it came before the deadline,
  from somebody who had been shown the prompt, and the sum over all that was shown is the one in the
  journal; nothing that was asked about started before it was allowed.

Whoever can write the journal and the export can forge both from beginning to end. So keep what
`sayso audit export` printed on another machine, and give it here: `--sha256`, `--head`. Exit code
0: all is as it was; 1: something is not; 2: the file cannot be read.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

VERSION = 1
_SEAL = b',"hash":"'
_END = b'"}'
_SEALED = len(_SEAL) + 64 + len(_END)
_BY_PEOPLE = ("allowed", "denied")
_SHOWN = (
    "key", "surface", "channel", "place", "message", "account", "name", "hash", "at_ms",
)  # fmt: skip
_SAME = (
    ("state", "state"), ("reply", "reply"), ("by", "by"), ("digest", "digest"), ("note", "note"),
    ("decided_ms", "decided_ms"), ("deadline_ms", "deadline_ms"),
)  # fmt: skip
_ASKED = ("agent", "session", "command", "digest", "requester")
Json = dict[str, Any]


class Broken(Exception):
    """The file is not what was written; the text says how."""


@dataclass
class Export:
    """What was read of a file; ``last`` is what the last journal line said."""

    header: Json = field(default_factory=dict)
    seq: int = 0
    last: str = ""
    lines: int = 0
    asked: dict[str, Json] = field(default_factory=dict)
    resolved: dict[str, Json] = field(default_factory=dict)
    started: list[tuple[int, str, str]] = field(default_factory=list)
    approvals: dict[str, Json] = field(default_factory=dict)
    shown: dict[str, list[Json]] = field(default_factory=dict)
    texts: dict[tuple[str, str], int] = field(default_factory=dict)
    sha256: str = ""


@dataclass
class Verdict:
    """What is wrong, and what a reader should know; ``export`` is what was read."""

    problems: list[str]
    notes: list[str]
    export: Export


def verify(file: BinaryIO, sha256: str = "", head: str = "") -> Verdict:
    """Check an open export; ``sha256`` and ``head`` are what was noted when it was made."""
    export = Export()
    try:
        _read(file, export)
        problems = list(_problems(export))
    except Broken as broken:
        problems = [str(broken)]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as odd:
        problems = [f"it is no export of this version: {type(odd).__name__} {odd}"]
    if sha256 and sha256 != export.sha256:
        problems.append("it is not the file whose SHA-256 was noted")
    if head and head != export.last:
        problems.append("its journal does not end with the line whose hash was noted")
    return Verdict(problems, [] if problems else list(_notes(export)), export)


def _read(file: BinaryIO, export: Export) -> None:
    whole, sealed = hashlib.sha256(), False
    before = hashlib.sha256()
    for number, line in enumerate(file, 1):
        if sealed:
            raise Broken(f"line {number} follows the seal")
        whole.update(line)
        if not line.endswith(b"\n"):
            raise Broken(f"line {number} is cut short")
        record = json.loads(line)
        sealed = _take(export, record, number, before.hexdigest())
        before.update(line)
    export.sha256 = whole.hexdigest()
    if not sealed:
        raise Broken("it has no seal: it was cut off")


def _take(export: Export, record: Json, number: int, before: str) -> bool:
    """Take one line; return whether it was the seal."""
    kind = record["kind"]
    if (number == 1) != (kind == "export"):
        raise Broken("it does not begin as an export does, once")
    if kind == "seal":
        if record["sha256"] != before or record["lines"] != number - 1:
            raise Broken("the seal does not match: the file was changed")
        return True
    _TAKEN[kind](export, record)
    return False


def _header(export: Export, record: Json) -> None:
    if record["version"] != VERSION:
        raise Broken(f"it is of version {record['version']}, this program knows {VERSION}")
    export.header = record
    export.seq, export.last = record["journal"]["first_seq"] - 1, record["journal"]["prev"]


def _journal(export: Export, record: Json) -> None:
    raw = record["line"].encode()
    due, named = export.seq + 1, f"journal record {export.seq + 1}"
    if not (raw.endswith(_END) and raw[-_SEALED:].startswith(_SEAL)):
        raise Broken(f"{named} does not end in a hash")
    digest = hashlib.sha256(raw[:-_SEALED] + b"}").hexdigest()
    if digest.encode() != raw[-64 - len(_END) : -len(_END)]:
        raise Broken(f"{named} does not have its hash: it was changed")
    line = json.loads(raw)
    if line["seq"] != due:
        raise Broken(f"{named} is due, {line['seq']} is there")
    if line["prev"] != export.last:
        raise Broken(f"{named} does not follow the one before")
    export.seq, export.last, export.lines = due, digest, export.lines + 1
    _note(export, line)


def _note(export: Export, line: Json) -> None:
    kind, run = line["kind"], str(line.get("run"))
    if kind == "ask":
        if run in export.asked:
            raise Broken(f"{run} is asked twice in the journal")
        export.asked[run] = line
    elif kind == "resolve":
        known = export.resolved.setdefault(run, line)
        if known["state"] != line["state"]:
            raise Broken(f"{run} ends twice in the journal: {known['state']}, {line['state']}")
    elif kind == "start":
        export.started.append((line["seq"], run, line["digest"]))


def _approval(export: Export, record: Json) -> None:
    if record["id"] in export.approvals:
        raise Broken(f"{record['id']} is there twice")
    export.approvals[record["id"]] = record


def _showing(export: Export, record: Json) -> None:
    export.shown.setdefault(record["approval"], []).append(record)


def _text(export: Export, record: Json) -> None:
    if hashlib.sha256(record["text"].encode()).hexdigest() != record["hash"]:
        raise Broken(f"a prompt of {record['approval']} does not have its hash: it was changed")
    export.texts[record["approval"], record["hash"]] = 0


_TAKEN = {
    "export": _header,
    "journal": _journal,
    "approval": _approval,
    "shown": _showing,
    "text": _text,
}


def _problems(export: Export) -> Iterator[str]:
    journal = export.header["journal"]
    if (export.seq, export.last) != (journal["last_seq"], journal["head"]):
        yield f"the journal ends at record {export.seq}, not at {journal['last_seq']}"
    yield from _complete(export)
    yield from _prompts(export)
    for one in export.approvals.values():
        yield from _asked(export, one)
        yield from _decision(export, one)
    yield from _starts(export)


def _complete(export: Export) -> Iterator[str]:
    """Find what the journal names and the export leaves out, and the other way around."""
    gone = set(export.header["forgotten"])
    named = export.asked.keys() | export.resolved.keys()
    for run in sorted(named - export.approvals.keys() - gone):
        yield f"{run} is in the journal, its approval is missing"
    for run in sorted(gone & export.approvals.keys()):
        yield f"{run} is there, and said to be forgotten"
    for run in sorted(export.approvals.keys() - named):
        yield f"{run} is not in the journal"
    for run in sorted(export.shown.keys() - export.approvals.keys()):
        yield f"{run} was shown, its approval is missing"


def _prompts(export: Export) -> Iterator[str]:
    """Check that each showing has its text, and each text was shown."""
    for run, rows in export.shown.items():
        for one in rows:
            key = run, one["hash"]
            if key in export.texts:
                export.texts[key] += 1
            elif one["hash"]:
                yield f"{run}: the text that {one['key']} showed is missing"
    for (run, digest), used in export.texts.items():
        if not used:
            yield f"{run}: nothing showed the text {digest[:12]}…"


def _asked(export: Export, one: Json) -> Iterator[str]:
    asked = export.asked.get(one["id"])
    if asked is None:
        return
    for name in _ASKED:
        if asked[name] != one[name]:
            yield f"{one['id']}: the journal has another {name}"


def _decision(export: Export, one: Json) -> Iterator[str]:
    run, record = one["id"], export.resolved.get(one["id"])
    if record is None:
        if one["state"] != "pending":
            yield f"{run} is {one['state']}, the journal does not say so"
        return
    if "decided_ms" not in record:  # of silence the journal has the state alone
        if record["state"] != one["state"]:
            yield f"{run}: the journal has another state"
        return
    shared = "with" in record
    for ours, theirs in _SAME[:3] if shared else _SAME:
        if one[ours] != record[theirs]:
            yield f"{run}: the journal has another {theirs}"
    if not shared:
        yield from _rests_on(export, one, record)


def _rests_on(export: Export, one: Json, record: Json) -> Iterator[str]:
    run, rows = one["id"], export.shown.get(one["id"], [])
    if record["shown"] is not None and record["shown"] != basis_of(rows):
        yield f"{run}: what was shown is not what the journal has the sum of"
    if one["by"] is None or one["state"] not in _BY_PEOPLE:
        return
    if one["decided_ms"] >= one["deadline_ms"]:
        yield f"{run} was answered after its deadline"
    if one["decided_ms"] < one["created_ms"]:
        yield f"{run} was answered before it was asked"
    since = seen_since(rows, one["by"])
    if record["shown"] is not None and since != record["seen_ms"]:
        yield f"{run}: who answered was not shown it when the journal says"
    if since is not None and since > one["decided_ms"]:
        yield f"{run} was shown to who answered only after the answer"
    if one["state"] == "allowed" and len(record["votes"]) < one["quorum"] > 1:
        yield f"{run} needed {one['quorum']} people, {len(record['votes'])} allowed it"


def _starts(export: Export) -> Iterator[str]:
    for seq, run, digest in export.started:
        if run not in export.asked:
            continue
        record = export.resolved.get(run)
        if record is None or record["state"] != "allowed" or record["seq"] > seq:
            yield f"{run} started without being allowed"
        elif digest != export.asked[run]["digest"]:
            yield f"{run} started as something else than was asked"


def basis_of(rows: list[Json]) -> str:
    """Return the SHA-256 over all that was shown before a decision."""
    waiting = sorted((one for one in rows if one["waiting"]), key=_order)
    lines = (json.dumps([one[name] for name in _SHOWN], separators=(",", ":")) for one in waiting)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _order(one: Json) -> tuple[int, str]:
    return one["at_ms"], one["key"]


def seen_since(rows: list[Json], by: str) -> int | None:
    """Return since when somebody could read what they answered, ``None`` where nothing says so."""
    channel, _, account = by.partition(":")
    waiting = [one for one in rows if one["waiting"] and one["channel"] == channel]
    looks = [one for one in waiting if one["account"] == account]
    chats = {_chat(one["place"]) for one in looks if one["surface"] == "answered"}
    copies = [one for one in waiting if not one["account"] and _chat(one["place"]) in chats]
    read = [one for one in looks if one["surface"] != "answered" or one["message"]]
    own = [int(one["at_ms"]) for one in (*read, *copies)]
    return min(own, default=None)


def _chat(place: str) -> str:
    return place.partition("/")[0]


def _notes(export: Export) -> Iterator[str]:
    by_people = [one for one in export.approvals.values() if one["by"] is not None]
    blind = [one for one in by_people if _seen(export, one) is None]
    if blind:
        yield f"{len(blind)} of them by somebody who was shown nothing that is on record"
    unread = [run for run, line in export.resolved.items() if line.get("shown", "") is None]
    if unread:
        yield f"{len(unread)} of which the journal does not have the sum of what was shown"
    if export.header["forgotten"]:
        yield f"{len(export.header['forgotten'])} more in the journal, forgotten by the store"


def _seen(export: Export, one: Json) -> int | None:
    record = export.resolved.get(one["id"], {})
    if "with" in record:
        return record.get("seen_ms")
    return seen_since(export.shown.get(one["id"], []), one["by"])


def _printable(text: str) -> str:
    """Return a text as a terminal shows it: what a forged file names must not move the cursor."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def main(arguments: list[str] | None = None) -> int:
    """Print the verdict on one file."""
    parser = argparse.ArgumentParser(
        prog="verify.py", description="check an export of `sayso audit export`"
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--sha256", default="", help="of the file, as it was noted elsewhere")
    parser.add_argument("--head", default="", help="hash of the last journal line, noted elsewhere")
    args = parser.parse_args(arguments)
    try:
        with args.file.open("rb") as file:
            verdict = verify(file, args.sha256, args.head)
    except OSError as error:
        sys.stderr.write(f"{args.file} cannot be read: {error.strerror}\n")
        return 2
    for problem in verdict.problems:
        sys.stdout.write(f"broken: {_printable(problem)}\n")
    if verdict.problems:
        return 1
    found, notes = verdict.export, "".join(f"; {one}" for one in verdict.notes)
    decided = sum(one["by"] is not None for one in found.approvals.values())
    sys.stdout.write(
        f"ok: {found.lines} journal records, {len(found.approvals)} approvals, {decided} decided "
        f"by people{notes}; head {found.last}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
