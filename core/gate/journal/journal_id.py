"""Name a journal, so that a store which several gateways share can say what belongs in it."""

import re
from pathlib import Path

from core.errors import StateError
from core.files.private import create_private, read_private
from core.trust.ids import new_id

_ID = re.compile(rb"[0-9a-f]{32}")


def journal_id(path: Path) -> str:
    """Return the id of the journal at a path, from ``FILE.id``; it is made where there is none.

    Raises:
        StateError: the file is unsafe, holds something else, or cannot be made.
    """
    file = path.with_name(f"{path.name}.id")
    try:
        text = read_private(file)
    except FileNotFoundError:
        create_private(file, f"{new_id()}\n".encode())
        text = read_private(file)
    if _ID.fullmatch(text.strip()) is None:
        raise StateError(
            f"{file} is not the id of a journal. Restore it from a backup; or remove it, and what "
            "the gateway stored right before it ended last may be missing from the journal."
        )
    return text.strip().decode()
