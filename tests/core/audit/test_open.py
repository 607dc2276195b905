"""Repair on opening what a crash tore, and refuse what was changed."""

from pathlib import Path

import pytest

from core.audit.chain import Head, head_text
from core.audit.journal import AuditJournal
from core.audit.verify import verify
from core.errors import JournalError


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """Write a journal of three records."""
    path = tmp_path / "audit.jsonl"
    with AuditJournal(path) as journal:
        for number in range(3):
            await journal.append("decision", {"number": number})
    return path


def lagging(path: Path) -> list[bytes]:
    """Make the head file lag behind, as after a power cut; return the lines."""
    lines = path.read_bytes().splitlines(keepends=True)
    first = Head(1, len(lines[0]), lines[0][-67:-3].decode())
    path.with_name("audit.jsonl.head").write_bytes(head_text(first))
    return lines


@pytest.mark.parametrize("torn", [b"{", b"\0" * 5000, b"\xff\n\n{}\n", b'{"at":"2026","hash":"'])
def test_a_torn_end_is_cut_off_and_recorded(path: Path, torn: bytes) -> None:
    """What was never acknowledged goes; its size and hash stay in a ``recovered`` record."""
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert not verify(path).ok
    AuditJournal(path).close()
    after = path.read_bytes()
    assert after.startswith(whole)
    assert b'"kind":"recovered"' in after
    assert f'"removedBytes":{len(torn)}'.encode() in after
    assert verify(path).records == 4


def test_acknowledged_lines_that_the_note_missed_are_kept(path: Path) -> None:
    """A head file that lags behind costs nothing, torn end or not."""
    lines = lagging(path)
    path.write_bytes(b"".join(lines) + lines[-1][:40])
    AuditJournal(path).close()
    assert path.read_bytes().startswith(b"".join(lines))
    assert verify(path).records == 4


def test_lines_cut_off_the_end_are_refused(path: Path) -> None:
    """A journal that lost acknowledged lines is evidence, not something to continue."""
    lines = path.read_bytes().splitlines(keepends=True)
    for left in (lines[:2], []):
        path.write_bytes(b"".join(left))
        with pytest.raises(JournalError, match="line 3, which was acknowledged"):
            AuditJournal(path)
        assert path.read_bytes() == b"".join(left)


@pytest.mark.parametrize("bad", [1, 2])
def test_a_change_before_whole_lines_is_refused(path: Path, bad: int) -> None:
    """Only an end that was not sealed is repaired; the file is left as it is."""
    lines = lagging(path)
    lines.append(lines[2])
    lines[bad] = lines[bad].replace(b"number", b"lumber")
    path.write_bytes(b"".join(lines))
    with pytest.raises(JournalError, match=rf"line {bad + 1}: .*tampered"):
        AuditJournal(path)
    assert path.read_bytes() == b"".join(lines)


def test_moving_both_files_away_begins_anew(path: Path) -> None:
    """The solution that the error names works."""
    path.unlink()
    with pytest.raises(JournalError, match=r"move it and audit\.jsonl\.head away together"):
        AuditJournal(path)
    path.unlink(missing_ok=True)
    path.with_name("audit.jsonl.head").unlink()
    AuditJournal(path).close()
    assert verify(path).ok
