"""Say which file an export could not write, and why."""

import asyncio
from pathlib import Path

import pytest

from bot.evidence.export import VERIFIER, export
from bot.evidence.journal_slice import ExportScope
from core.audit.journal import AuditJournal
from core.errors import BadRequest
from tests.support.file_size import files_of_at_most


def refusal(folder: Path) -> str:
    """Export a journal of one record; return why that cannot be done, without the folder."""
    with AuditJournal(folder / "audit.jsonl") as journal:
        asyncio.run(journal.append("start", {"run": "a"}))
    to = folder / "out.jsonl"
    with pytest.raises(BadRequest) as caught:
        export(folder / "audit.jsonl", lambda _: (), ExportScope(), to)
    return str(caught.value).removeprefix(f"{folder}/")


def test_the_program_that_checks_it_is_named(tmp_path: Path) -> None:
    """It is written first, under a name that nobody chose."""
    (tmp_path / VERIFIER).symlink_to("missing/verify.py")

    assert refusal(tmp_path) == "verify.py cannot be written: No such file or directory."


def test_the_export_is_named(tmp_path: Path) -> None:
    """Nothing is written over."""
    (tmp_path / "out.jsonl").write_text("earlier")

    assert refusal(tmp_path) == (
        "out.jsonl is there already, so nothing was written. Name another file, or remove it."
    )
    assert (tmp_path / "out.jsonl").read_text() == "earlier"


def test_a_full_disk_names_no_file(tmp_path: Path) -> None:
    """Then it is the export's own."""
    with files_of_at_most(4096):
        assert refusal(tmp_path) == "out.jsonl cannot be written: File too large."
