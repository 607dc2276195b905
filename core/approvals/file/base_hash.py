"""Replace exec-approvals.json only where it still is what was read (S1 "base hash")."""

import hashlib
import json

from core.approvals.file.file import ApprovalsFile
from core.approvals.file.last_use import without_uses
from core.approvals.file.schema import Raw
from core.errors import Conflict


def base_hash(shown: Raw) -> str:
    """Return the SHA-256 of what is shown of a file; token and last uses have no part in it."""
    return hashlib.sha256(json.dumps(without_uses(shown), sort_keys=True).encode()).hexdigest()


def must_be(file: ApprovalsFile, expected: str) -> None:
    """Refuse to change a file that is not what was read.

    Raises:
        Conflict: it has changed.
        ApprovalsFileError: it is corrupt or unsafe.
    """
    if base_hash(file.shown()) != expected:
        raise Conflict("exec-approvals.json has changed; read it again. Nothing was changed.")
