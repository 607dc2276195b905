"""End a segment and begin the next; a kill on the way leaves an intact journal."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import core
from core.audit.chain import Head
from core.audit.journal import AuditJournal
from core.audit.latest import latest
from core.audit.rotate import begin_next
from core.audit.segments import finished
from core.audit.verify import verify
from core.errors import JournalError

ROOT = Path(core.__file__).parents[1]
CHILD = """
import asyncio, os, signal, sys, threading
from pathlib import Path
import core.audit.journal as journal_module
from core.audit import rotate
from core.audit.journal import AuditJournal
from core.audit.segments import Start, first_line, segment_path

def careless(path, file, number, head, by):
    '''The control: move the file away, then make the next one.'''
    ended = segment_path(path, number)
    path.rename(ended)
    new = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    line, first = first_line(Start(number + 1, rotate.Head(head.seq, 0, head.hash)), ended, by)
    os.write(new, line)
    os.fsync(new)
    return new, first

path, fatal, control = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "careless"
if control:
    journal_module.begin_next = careless
calls = 0
armed = threading.Event()

def trace(frame, event, called):
    '''End the process the hard way at the fatal call of the operating system.'''
    global calls
    module = getattr(called, "__module__", "")
    if event != "c_call" or not armed.is_set() or module not in ("posix", "fcntl"):
        return
    calls += 1
    if calls == fatal:
        os.kill(os.getpid(), 9)

threading.setprofile(trace)
journal = AuditJournal(path)
threading.setprofile(None)

async def main():
    for number in range(3):
        await journal.append("start", {"run": f"r{number}"})
    armed.set()
    await journal.rotate("uid:7")
    armed.clear()

asyncio.run(main())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the journal."""
    return tmp_path / "audit.jsonl"


def killed(path: Path, fatal: int, how: str = "careful") -> bool:
    """Rotate in a process that ends at its ``fatal``-th system call; return whether it did."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(fatal), how],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    return done.returncode != 0


def seqs(path: Path) -> list[int]:
    """Return the numbers of all records in all files, in order."""
    files = [*finished(path).values(), path]
    return [json.loads(line)["seq"] for file in files for line in file.read_text().splitlines()]


async def test_the_chain_continues_in_the_next_segment(path: Path) -> None:
    """The first record of a segment names the one before it, and its last hash."""
    with AuditJournal(path) as journal:
        await journal.append("decision", {"run": "r1"})
        ended = await journal.rotate("uid:7")
        await journal.append("finish", {"run": "r1"})
    assert (ended.file, ended.number, ended.seq) == (path.with_name("audit.jsonl.000001"), 1, 1)
    first = json.loads(path.read_text().splitlines()[0])
    assert (first["kind"], first["segment"], first["previous"]) == ("segment", 2, ended.file.name)
    assert first["prev"] == first["previous_hash"] == ended.hash
    assert first["by"] == "uid:7"
    verdict = verify(path)
    assert (verdict.ok, verdict.records, verdict.segments) == (True, 3, 2)
    assert ended.file.stat().st_mode & 0o777 == 0o600


async def test_records_that_come_while_it_rotates_are_kept_in_order(path: Path) -> None:
    """Eight callers append while the journal is rotated five times: nothing lost, nothing twice."""

    async def write(caller: int) -> None:
        for number in range(20):
            await journal.append("k", {"caller": caller, "number": number})

    with AuditJournal(path) as journal:
        writing = [asyncio.create_task(write(caller)) for caller in range(8)]
        for turn in range(5):
            await journal.append("k", {"turn": turn})
            await journal.rotate("uid:7")
        await asyncio.gather(*writing)
    assert seqs(path) == list(range(1, 8 * 20 + 5 + 5 + 1))
    assert verify(path).ok


async def test_a_restart_goes_on_where_the_segment_ends(path: Path) -> None:
    """Opened again, a rotated journal continues, also right after the rotation."""
    for turn in range(3):
        with AuditJournal(path) as journal:
            await journal.append("k", {"turn": turn})
            await journal.rotate("uid:7")
    path.with_name("audit.jsonl.head").unlink()
    with AuditJournal(path) as journal:
        await journal.append("k", {})
    assert seqs(path) == list(range(1, 8))
    assert verify(path).ok


async def test_an_empty_segment_is_not_ended(path: Path) -> None:
    """Rotating twice makes one segment; so does rotating a journal without records."""
    with AuditJournal(path) as journal:
        with pytest.raises(JournalError, match="no records"):
            await journal.rotate("uid:7")
        await journal.append("k", {})
        await journal.rotate("uid:7")
        with pytest.raises(JournalError, match="no records"):
            await journal.rotate("uid:7")
    assert len(finished(path)) == 1


async def test_a_full_file_is_rotated_by_itself(path: Path) -> None:
    """Past ``rotate_bytes`` the next segment is begun."""
    with AuditJournal(path, 4096) as journal:
        for number in range(60):
            await journal.append("k", {"number": number, "text": "x" * 100})
    segments = finished(path)
    assert len(segments) >= 3
    assert all(4096 <= file.stat().st_size < 3 * 4096 for file in segments.values())
    assert verify(path).ok


async def test_a_failed_rotation_changes_nothing(path: Path) -> None:
    """With another file in the segment's place, the journal continues in its file."""
    with AuditJournal(path) as journal:
        await journal.append("k", {})
        path.with_name("audit.jsonl.000001").write_text("another")
        with pytest.raises(JournalError, match="cannot be rotated: File exists"):
            await journal.rotate("uid:7")
        path.with_name("audit.jsonl.000001").unlink()
        await journal.append("k", {})
    assert verify(path).records == 2
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "audit.jsonl",
        "audit.jsonl.head",
    ]


def test_a_link_to_the_journal_is_not_rotated(path: Path) -> None:
    """What its name leads to is another file's business: nothing is made beside either."""
    kept = path.with_name("kept")
    file = os.open(kept, os.O_RDWR | os.O_CREAT, 0o600)
    path.symlink_to(kept)

    with pytest.raises(OSError, match="not the file that is being written"):
        begin_next(path, file, 1, Head(), "uid:7")
    os.close(file)
    assert path.is_symlink()
    assert sorted(one.name for one in path.parent.iterdir()) == [path.name, kept.name]


async def test_nobody_else_gets_the_journal_between_two_segments(path: Path) -> None:
    """While a gateway rotates, every other writer is refused, whatever the file's current name."""
    with AuditJournal(path) as journal:
        for _ in range(20):
            await journal.append("k", {})
            rotation = asyncio.create_task(journal.rotate("uid:7"))
            while not rotation.done():
                with pytest.raises(JournalError, match="another process"):
                    AuditJournal(path)
                await asyncio.sleep(0)
            await rotation
    assert verify(path).ok


async def test_the_last_record_of_a_run_is_found_in_an_older_segment(path: Path) -> None:
    """Recovery reads backwards over segments; what was moved away is not searched."""
    with AuditJournal(path) as journal:
        await journal.append("finish", {"run": "old", "exit_code": 1})
        await journal.rotate("uid:7")
        await journal.append("finish", {"run": "middle", "exit_code": 2})
        await journal.rotate("uid:7")
        await journal.append("finish", {"run": "new", "exit_code": 3})
    found = latest(path, {"old", "middle", "new", "none"}, 0)
    assert {run: record["exit_code"] for run, record in found.items()} == {
        "old": 1,
        "middle": 2,
        "new": 3,
    }
    path.with_name("audit.jsonl.000001").unlink()
    assert set(latest(path, {"old", "middle"}, 0)) == {"middle"}


def test_killed_at_each_step_the_journal_is_whole(path: Path) -> None:
    """SIGKILL at every system call of a rotation: it verifies at once and continues after."""
    fatal, rotated = 0, set()
    while True:
        fatal += 1
        folder = path.parent / str(fatal)
        folder.mkdir()
        journal = folder / path.name
        was_killed = killed(journal, fatal)
        verdict = verify(journal)
        assert verdict.ok, (fatal, verdict)
        assert verdict.records in {3, 4}
        asyncio.run(_goes_on(journal, verdict.records))
        rotated.add(verdict.records == 4)
        if not was_killed:
            break
    assert fatal > 10, "the rotation was not cut at its steps"
    assert rotated == {False, True}, "both sides of the step that counts were tried"


async def _goes_on(path: Path, records: int) -> None:
    with AuditJournal(path) as journal:
        await journal.append("k", {})
        await journal.rotate("uid:7")
    verdict = verify(path)
    assert (verdict.ok, verdict.records) == (True, records + 2), verdict
    assert not path.with_name("audit.jsonl.next").exists()
    assert set(latest(path, {"r0", "r1", "r2"}, 0)) == {"r0", "r1", "r2"}


def test_a_careless_rotation_is_caught_by_the_same_look(path: Path) -> None:
    """The negative control: a rotation that renames first leaves a journal that is not intact."""
    broken = []
    for fatal in range(1, 12):
        folder = path.parent / str(fatal)
        folder.mkdir()
        was_killed = killed(folder / path.name, fatal, "careless")
        broken.append(not verify(folder / path.name).ok)
        if not was_killed:
            break
    assert any(broken)
