"""Write an export: a header, the journal's lines, each approval with its evidence, a seal.

One JSON object per line, so that a person can read it and ``verify.py`` can check it line by line.
The journal's texts and the prompts were masked when they were stored, the rest is masked here.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from bot.evidence.journal_slice import ExportScope, Slice, lines_of, slice_of
from core.audit import verify_export
from core.errors import BadRequest
from core.model.approval import Approval, ApprovalState
from core.model.evidence import Showing
from core.model.identity import ApprovalId
from core.store.approvals.proofs import Proof
from core.store.views.evidence import Recorded
from core.text.render import redact

VERIFIER = "verify.py"
_AGAIN_S = 0.5
_TIMES = 6
Json = dict[str, object]
Read = Callable[[tuple[str, ...]], tuple[Recorded, ...]]
"""Returns what the store has about these ids; those that it has deleted are left out."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written; save ``sha256`` and ``head`` on another machine."""

    file: Path
    verifier: Path
    records: int
    approvals: int
    forgotten: int
    head: str
    sha256: str


@dataclass(slots=True)
class _Sealed:
    """A file of lines whose hash is known at its end."""

    file: BinaryIO
    lines: int = 0
    _hash: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def write(self, record: Json) -> None:
        """Write one line."""
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self._hash.update(line)
        self.file.write(line)
        self.lines += 1

    def seal(self) -> str:
        """Write the last line; return the SHA-256 of the whole file."""
        digest = self._hash.hexdigest()
        self.write({"kind": "seal", "lines": self.lines, "sha256": digest})
        return self._hash.hexdigest()


def export(journal: Path, read: Read, wanted: ExportScope, to: Path) -> Written:
    """Write an export and, next to it, the program that checks it.

    Raises:
        BadRequest: nothing was selected, the journal cannot be read, or ``to`` cannot be written.
    """
    found, known = _settled(journal, read, wanted)
    verifier = to.with_name(VERIFIER)
    try:
        _put_verifier(verifier)
        with os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            sealed = _Sealed(file)
            for record in _records(journal, wanted, found, known):
                sealed.write(record)
            sha256 = sealed.seal()
    except FileExistsError as error:
        words = f"{to} is there already, so nothing was written. Name another file, or remove it."
        raise BadRequest(words) from error
    except OSError as error:
        raise BadRequest(f"{error.filename or to} cannot be written: {error.strerror}.") from error
    return Written(
        file=to,
        verifier=verifier,
        records=found.last - found.first + 1,
        approvals=len(known),
        forgotten=len(found.ids) - len(known),
        head=found.head,
        sha256=sha256,
    )


def _settled(journal: Path, read: Read, wanted: ExportScope) -> tuple[Slice, tuple[Recorded, ...]]:
    """Read both until the journal has the end of each decision, which it gets right afterwards."""
    for _ in range(_TIMES):
        found, known = _read(journal, read, wanted)
        if all(one.approval.id in found.ended or _waits(one.approval) for one in known):
            return found, known
        time.sleep(_AGAIN_S)
    return _read(journal, read, wanted)


def _read(journal: Path, read: Read, wanted: ExportScope) -> tuple[Slice, tuple[Recorded, ...]]:
    found = slice_of(journal, wanted)
    return found, read(tuple(found.ids))


def _waits(approval: Approval) -> bool:
    return approval.resolution is None


def _put_verifier(path: Path) -> None:
    program = Path(verify_export.__file__).read_bytes()
    if path.exists() and path.read_bytes() != program:
        raise BadRequest(f"{path} is there and is another file. Choose another folder.")
    path.write_bytes(program)


def _records(
    journal: Path, wanted: ExportScope, found: Slice, known: tuple[Recorded, ...]
) -> Iterator[Json]:
    kept = {one.approval.id for one in known}
    yield {
        "kind": "export",
        "version": verify_export.VERSION,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "since_ms": wanted.since_ms,
        "until_ms": wanted.until_ms,
        "id": wanted.ref or None,
        "journal": {
            "first_seq": found.first,
            "last_seq": found.last,
            "prev": found.prev,
            "head": found.head,
        },
        "forgotten": [one for one in found.ids if one not in kept],
    }
    for line in lines_of(journal):
        if found.first <= json.loads(line)["seq"] <= found.last:
            yield {"kind": "journal", "line": line.decode().removesuffix("\n")}
    for one in known:
        yield from _approval(one)


def _approval(one: Recorded) -> Iterator[Json]:
    asked, end = one.approval, one.approval.resolution
    yield {
        "kind": "approval",
        "id": asked.id,
        "code": asked.code,
        "agent": asked.plan.agent,
        "session": asked.plan.session,
        "requester": f"{asked.requester.intake}:{asked.requester.account}",
        "command": redact(asked.plan.text).text,
        "digest": asked.plan.digest,
        "created_ms": asked.created_ms,
        "deadline_ms": asked.deadline_ms,
        "quorum": asked.quorum,
        "votes": [vote.by.ref for vote in asked.votes],
        "behind": asked.behind,
        "state": ApprovalState.PENDING if end is None else end.state,
        "reply": None if end is None else end.reply,
        "by": None if end is None or end.by is None else end.by.ref,
        "note": "" if end is None else redact(end.note).text,
        "decided_ms": None if end is None else end.at_ms,
    }
    yield from (_shown(asked.id, shown) for shown in one.shown)
    yield from (_proof(asked.id, proof) for proof in one.proofs)
    for digest, text in one.texts.items():
        yield {"kind": "text", "approval": asked.id, "hash": digest, "text": text}


def _shown(run: ApprovalId, shown: Showing) -> Json:
    return {
        "kind": "shown",
        "approval": run,
        "key": shown.key,
        "surface": shown.surface,
        "channel": shown.channel,
        "place": shown.place,
        "message": shown.message,
        "account": shown.account,
        "name": shown.name,
        "hash": shown.hash,
        "at_ms": shown.at_ms,
        "waiting": shown.waiting,
    }


def _proof(run: ApprovalId, proof: Proof) -> Json:
    return {
        "kind": "proof",
        "approval": run,
        "person": proof.person,
        "digest": proof.digest,
        "reply": proof.reply,
        "step": proof.step,
        "at_ms": proof.at_ms,
        "passkey": proof.passkey,
        "public_key": proof.public_key,
    }
