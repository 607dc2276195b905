"""Find a missing, swapped, cut, emptied or restored segment, and name its file."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import core
from core.audit.journal import AuditJournal
from core.audit.verify import verify
from core.errors import JournalError

ROOT = Path(core.__file__).parents[1]
EACH = 3


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """Write a journal of three finished segments and the one being written."""
    path = tmp_path / "audit.jsonl"
    with AuditJournal(path) as journal:
        for turn in range(4):
            for number in range(EACH):
                await journal.append("decision", {"turn": turn, "number": number})
            if turn < 3:
                await journal.rotate("uid:7")
    return path


def part(path: Path, number: int) -> Path:
    """Return a segment's file."""
    return path.with_name(f"{path.name}.{number:06d}")


def swap(path: Path) -> None:
    """Give two segments each other's name."""
    one, two, aside = part(path, 2), part(path, 3), path.with_name("aside")
    one.rename(aside)
    two.rename(one)
    aside.rename(two)


def cut(path: Path) -> None:
    """Remove the last line of the second segment."""
    lines = part(path, 2).read_bytes().splitlines(keepends=True)
    part(path, 2).write_bytes(b"".join(lines[:-1]))


def change(path: Path) -> None:
    """Change a value in the first segment."""
    part(path, 1).write_bytes(part(path, 1).read_bytes().replace(b'"turn":0', b'"turn":9', 1))


def put_back(path: Path) -> None:
    """Replace the file being written with an older segment."""
    shutil.copyfile(part(path, 3), path)


def test_a_whole_journal_passes(path: Path) -> None:
    """The negative control of every test below."""
    verdict = verify(path)
    assert (verdict.ok, verdict.records, verdict.segments) == (True, 4 * EACH + 3, 4)


@pytest.mark.parametrize(
    ("tamper", "file", "line", "why"),
    [
        (lambda path: part(path, 1).unlink(), "audit.jsonl.000001", 1, "segment 1 is missing"),
        (lambda path: part(path, 2).unlink(), "audit.jsonl.000002", 1, "segment 2 is missing"),
        (lambda path: part(path, 3).unlink(), "audit.jsonl.000003", 1, "segment 3 is missing"),
        (swap, "audit.jsonl.000002", 1, "it begins segment 3, 2 is due"),
        (cut, "audit.jsonl.000003", 1, "its seq is 8, 7 is due"),
        (change, "audit.jsonl.000001", 1, "it was changed"),
        (put_back, "audit.jsonl", 5, "11 are left"),
        (lambda path: path.write_bytes(b""), "audit.jsonl", 1, "does not continue"),
        (lambda path: path.unlink(), "audit.jsonl", 1, "cut off"),
        (
            lambda path: part(path, 2).write_bytes(b""),
            "audit.jsonl.000003",
            1,
            "its seq is 8, 4 is due",
        ),
    ],
    ids=[
        "first missing",
        "middle missing",
        "last missing",
        "swapped",
        "cut",
        "changed",
        "put back",
        "emptied",
        "removed",
        "segment emptied",
    ],
)
def test_tampering_is_found(
    path: Path, tamper: Callable[[Path], object], file: str, line: int, why: str
) -> None:
    """Each kind of change is found, with the file, its line and the reason."""
    tamper(path)
    verdict = verify(path)
    assert not verdict.ok
    assert why in verdict.why
    assert (verdict.file, verdict.first_bad_line) == (file, line)


def test_the_oldest_segments_can_be_kept_elsewhere(path: Path) -> None:
    """With the oldest expected segment given, the rest is checked from it on."""
    part(path, 1).unlink()
    assert verify(path, first=2).ok
    part(path, 2).unlink()
    assert verify(path, first=2).why == "segment 2 is missing"
    assert verify(path, first=3).ok
    assert verify(path, first=4).records == EACH + 1
    assert not verify(path, first=5).ok


def test_a_segment_alone_can_be_checked(path: Path, tmp_path: Path) -> None:
    """A copy in an archive is checked on its own."""
    away = tmp_path / "archive"
    away.mkdir()
    shutil.copyfile(part(path, 2), away / "audit.jsonl.000002")
    assert verify(away / "audit.jsonl.000002", first=2).records == EACH + 1
    cut(away / "audit.jsonl")
    assert verify(away / "audit.jsonl.000002", first=2).ok, "its end is known by the next one only"


@pytest.mark.parametrize("tamper", [put_back, lambda path: path.write_bytes(b"")])
def test_a_gateway_does_not_start_on_a_journal_that_was_put_back(
    path: Path, tamper: Callable[[Path], object]
) -> None:
    """It would write next to what was acknowledged; also without its head file."""
    tamper(path)
    with pytest.raises(JournalError, match="as evidence"):
        AuditJournal(path)
    path.with_name("audit.jsonl.head").unlink()
    with pytest.raises(JournalError, match="as evidence"):
        AuditJournal(path)


def test_a_gateway_starts_without_segments_that_were_moved_away(path: Path) -> None:
    """Keeping them elsewhere is what rotation is for."""
    for number in (1, 2, 3):
        part(path, number).unlink()
    AuditJournal(path).close()
    assert verify(path, first=4).ok


def test_it_runs_offline_with_the_standard_library_only(path: Path) -> None:
    """The offline check walks the segments too."""
    command = [sys.executable, "-S", "-m", "core.audit.verify", str(path)]
    good = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert good.stdout.startswith("ok: 15 records in 4 segments, head "), good.stderr
    part(path, 2).unlink()
    bad = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert bad.returncode == 1
    assert bad.stdout.startswith("broken: audit.jsonl.000002 line 1: segment 2 is missing")
