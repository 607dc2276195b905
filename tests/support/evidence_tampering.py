"""Change an export as an attacker who can write all of it would: sealed and chained again."""

import hashlib
import json
from typing import Any

Record = dict[str, Any]
Records = list[Record]


def resealed(records: Records) -> bytes:
    """Return the file with a matching seal, as an attacker who can write it would make it."""
    lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in records[:-1]]
    text = "".join(f"{line}\n" for line in lines).encode()
    digest = hashlib.sha256(text).hexdigest()
    seal = {"kind": "seal", "lines": len(lines), "sha256": digest}
    return text + json.dumps(seal, separators=(",", ":")).encode() + b"\n"


def of(records: Records, kind: str, number: int = 0) -> Record:
    """Return one record of a kind."""
    return [one for one in records if one["kind"] == kind][number]


def journal(records: Records, kind: str, number: int = 0) -> Record:
    """Return the export's record that holds a journal line of a kind."""
    lines = (one for one in records if one["kind"] == "journal")
    return [one for one in lines if json.loads(one["line"])["kind"] == kind][number]


def relined(record: Record, **changed: object) -> None:
    """Change a journal line and give it the matching hash."""
    line = {**json.loads(record["line"]), **changed}
    line.pop("hash")
    body = json.dumps(line, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(body.encode()).hexdigest()
    record["line"] = f'{body[:-1]},"hash":"{digest}"}}'


def rechained(records: Records, kind: str, **changed: object) -> None:
    """Change a journal line and seal every line after it again: the chain is intact again."""
    prev = records[0]["journal"]["prev"]
    target = journal(records, kind)
    for one in (one for one in records if one["kind"] == "journal"):
        relined(one, prev=prev, **(changed if one is target else {}))
        prev = json.loads(one["line"])["hash"]
    records[0]["journal"]["head"] = prev
