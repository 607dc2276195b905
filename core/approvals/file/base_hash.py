"""Replace exec-approvals.json only where it still is what was read (S1 "base hash")."""

import asyncio
import hashlib
import json

from core.approvals.file import edit
from core.approvals.file.document import ApprovalsDocument
from core.approvals.file.file import ApprovalsFile
from core.approvals.file.last_use import without_uses
from core.approvals.file.schema import NEW_TEXT, Raw, parse
from core.errors import ApprovalsFileError, Conflict
from core.ports import Journal
from core.text.render import redact

RECORD = "approvals file"
"""The journal's kind of record for a change."""
UNUSABLE = hashlib.sha256(b"").hexdigest()
"""The hash of a file that cannot be used, so that it can be replaced."""


def base_hash(shown: Raw) -> str:
    """Return the SHA-256 of what is shown of a file; the token and last uses are not part of it."""
    return hashlib.sha256(json.dumps(without_uses(shown), sort_keys=True).encode()).hexdigest()


ABSENT = base_hash({})
"""The hash where no file exists."""


def present_hash(file: ApprovalsFile) -> str:
    """Return the hash of what a file holds now, ``UNUSABLE`` where nothing can be read of it."""
    try:
        return base_hash(file.shown())
    except ApprovalsFileError:
        return UNUSABLE


def must_be(file: ApprovalsFile, expected: str) -> None:
    """Refuse to change a file that is not what was read.

    Raises:
        Conflict: it has changed.
    """
    if present_hash(file) != expected:
        raise Conflict("exec-approvals.json has changed; read it again. Nothing was changed.")


async def replace_recorded(
    file: ApprovalsFile, journal: Journal, text: str, base: str, by: str
) -> ApprovalsDocument:
    """Replace the file if its hash still is ``base``; the journal has it before the file does.

    Raises:
        Conflict: it has changed.
        ApprovalsFileError: the new text is not valid; nothing was changed.
        BadRequest: it names what cannot be an agent; nothing was changed.
        JournalError: it could not be recorded; nothing was changed.
        StateError: it could not be written; nothing was changed.
    """
    await asyncio.to_thread(must_be, file, base)
    record = await asyncio.to_thread(_record, file, text, base, by)
    await journal.append(RECORD, record)
    return await asyncio.to_thread(file.replace, text, lambda: must_be(file, base))


def _record(file: ApprovalsFile, text: str, base: str, by: str) -> dict[str, object]:
    """Return who changes what, with the hash before and after; without the socket's token."""
    raw, _ = parse(text.encode(errors="surrogatepass"), NEW_TEXT)
    new = edit.masked(raw)
    old = None if base == UNUSABLE else file.shown()
    edit.refuse_names(raw, old)
    edit.keep_socket(raw, old, str(file.socket_path))
    after = base_hash(edit.masked(raw))
    words = redact(json.dumps(new, ensure_ascii=False)).text
    return {"by": by, "before": base, "after": after, "text": words}
