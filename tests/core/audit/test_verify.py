"""Find tampering and name the first bad line; an intact journal passes."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import core
from core.audit.chain import Head, fields, read_head, sealed
from core.audit.journal import AuditJournal
from core.audit.verify import verify

ROOT = Path(core.__file__).parents[1]
LINES = 6


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """Write a journal of six records, about 250 bytes each."""
    path = tmp_path / "audit.jsonl"
    with AuditJournal(path) as journal:
        for number in range(LINES):
            await journal.append("decision", {"number": number, "decision": "deny"})
    return path


def test_a_whole_journal_passes(path: Path) -> None:
    """The negative control of every test below: unchanged, the verdict is good."""
    verdict = verify(path)
    assert (verdict.ok, verdict.records, verdict.first_bad_line) == (True, LINES, None)


def forged(lines: list[bytes]) -> list[bytes]:
    """Rewrite line 3 and seal it and all that follow again, as a user with write access could."""
    head, done = Head(), []
    for number, _ in enumerate(lines):
        word = "allow" if number == 2 else "deny"
        line, head = sealed(fields({"number": number, "decision": word}), "decision", head)
        done.append(line)
    return done


@pytest.mark.parametrize(
    ("change", "bad", "why"),
    [
        (lambda s: [*s[:2], s[2].replace(b"deny", b"full"), *s[3:]], 3, "changed"),
        (lambda s: [*s[:2], *s[3:]], 3, "seq is 4, 3 is due"),
        (lambda s: [*s[:2], s[3], s[2], *s[4:]], 3, "seq is 4"),
        (lambda s: [*s[:3], s[2], *s[3:]], 4, "seq is 3"),
        (lambda s: s[1:], 1, "seq is 2"),
        (lambda s: [*s[:-1], s[-1][:-20]], 6, "does not end"),
        (lambda s: s[:-1], 6, "6 lines were acknowledged, 5 are left"),
        (lambda _: [], 1, "cut off"),
        (forged, 6, "rewritten"),
        (lambda s: [*s, b"\0" * 4096], 7, "does not end"),
        (lambda s: [*s, b"\n"], 7, "does not end"),
    ],
    ids=[
        "tamper",
        "delete",
        "reorder",
        "repeat",
        "behead",
        "tear",
        "truncate",
        "empty",
        "forge",
        "pad",
        "blank",
    ],
)
def test_tampering_is_found(
    path: Path, change: Callable[[list[bytes]], list[bytes]], bad: int, why: str
) -> None:
    """Each kind of change is found at its first line, with the reason."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(change(lines)))
    verdict = verify(path)
    assert (verdict.ok, verdict.first_bad_line) == (False, bad)
    assert verdict.records == bad - 1
    assert why in verdict.why


def test_a_cut_and_its_forged_note_show_against_a_head_kept_elsewhere(path: Path) -> None:
    """Forging both files is caught by a head that was recorded off the host."""
    note = path.with_name("audit.jsonl.head")
    kept = read_head(note.read_bytes())
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    note.unlink()
    assert verify(path).ok
    assert verify(path, kept).first_bad_line == 4


def test_that_the_end_was_not_checked_is_in_the_verdict(path: Path) -> None:
    """Without the head file, lines cut off at the end do not show; the control has it."""
    noted = verify(path)
    path.with_name(f"{path.name}.head").unlink()
    whole = verify(path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    cut = verify(path)

    assert (noted.end_checked, noted.unchecked) == (True, "")
    assert (whole.ok, whole.end_checked, cut.ok, cut.end_checked) == (True, False, True, False)
    assert "at its end was not checked" in cut.unchecked


def test_a_missing_journal_is_not_whole(tmp_path: Path) -> None:
    """A missing file gives a verdict, not a traceback."""
    assert not verify(tmp_path / "none").ok


def test_it_runs_offline_with_the_standard_library_only(path: Path) -> None:
    """An auditor needs Python and nothing else: ``-S`` hides every installed package."""
    command = [sys.executable, "-S", "-m", "core.audit.verify"]
    good = subprocess.run([*command, str(path)], cwd=ROOT, capture_output=True, text=True)  # noqa: PLW1510 - the code is asserted
    assert (good.returncode, good.stdout[:14]) == (0, "ok: 6 records,")
    assert "note: " not in good.stdout
    path.with_name(f"{path.name}.head").unlink()
    alone = subprocess.run([*command, str(path)], cwd=ROOT, capture_output=True, text=True)  # noqa: PLW1510 - the code is asserted
    assert "note: whether lines are missing at its end was not checked" in alone.stdout
    path.write_bytes(path.read_bytes()[:-1])
    bad = subprocess.run([*command, str(path)], cwd=ROOT, capture_output=True, text=True)  # noqa: PLW1510 - the code is asserted
    assert bad.returncode == 1
    assert bad.stdout.startswith("broken: line 6: ")
    misuse = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)  # noqa: PLW1510 - the code is asserted
    assert misuse.returncode == 2
