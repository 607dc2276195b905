"""Name a journal once, by a file beside it."""

from pathlib import Path

import pytest

from core.errors import StateError
from core.gate.journal.journal_id import journal_id


def test_a_journal_keeps_its_id(tmp_path: Path) -> None:
    """Others have other ids; nobody else may read or write the file."""
    mine = journal_id(tmp_path / "audit.jsonl")

    assert mine == journal_id(tmp_path / "audit.jsonl")
    assert mine != journal_id(tmp_path / "other.jsonl")
    assert (tmp_path / "audit.jsonl.id").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "me", "0" * 31, "0" * 33, "0" * 32 + "\n" + "0" * 32])
def test_what_is_no_id_is_refused(tmp_path: Path, text: str) -> None:
    """It is not replaced either: another id would own nothing of what is stored."""
    file = tmp_path / "audit.jsonl.id"
    file.write_text(text)
    file.chmod(0o600)

    with pytest.raises(StateError, match="is not the id of a journal"):
        journal_id(tmp_path / "audit.jsonl")
    assert file.read_text() == text
