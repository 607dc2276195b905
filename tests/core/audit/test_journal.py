"""Check that records are durable, in order and from one writer when ``append`` returns."""

import asyncio
import json
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from core.audit.journal import AuditJournal
from core.audit.verify import verify
from core.errors import JournalError

GOAL_P50_MS = 0.4


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the journal."""
    return tmp_path / "audit.jsonl"


def records(path: Path) -> list[dict[str, object]]:
    """Read the journal as any program would."""
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_record_is_there_when_append_returns(path: Path) -> None:
    """Another process sees the record at once, whole and chained."""
    with AuditJournal(path) as journal:
        await journal.append("decision", {"runId": "r1", "decision": "allow"})
        (record,) = records(path)
        assert record["runId"] == "r1"
        assert verify(path).ok
        assert journal.head.hash == verify(path).head


def test_the_files_are_private(path: Path) -> None:
    """Journal and head file have mode 0600."""
    AuditJournal(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.with_name("audit.jsonl.head").stat().st_mode) == 0o600


async def test_each_record_is_synced_before_append_returns(path: Path) -> None:
    """The interpreter's own trace of the writer: write, fdatasync, and only then the answer."""
    order: list[str] = []

    def trace(_: FrameType, event: str, called: object) -> None:
        if event == "c_call" and called in {os.write, os.fdatasync}:
            order.append("write" if called is os.write else "sync")

    threading.setprofile(trace)
    try:
        journal = AuditJournal(path)
    finally:
        threading.setprofile(None)
    for number in range(3):
        await journal.append("k", {"number": number})
        order.append("answered")
    journal.close()
    assert order == ["write", "sync", "answered"] * 3


async def test_thirty_two_callers_keep_their_order(path: Path) -> None:
    """Concurrent appends are each written once; one caller's records stay in its order."""
    callers, each = 32, 25

    async def write(caller: int) -> None:
        for number in range(each):
            await journal.append("k", {"caller": caller, "number": number})

    with AuditJournal(path) as journal:
        await asyncio.gather(*(write(caller) for caller in range(callers)))
    found = records(path)
    assert [record["seq"] for record in found] == list(range(1, callers * each + 1))
    for caller in range(callers):
        own = [record["number"] for record in found if record["caller"] == caller]
        assert own == list(range(each))
    assert verify(path).ok


async def test_callers_share_the_wait_for_the_disk(path: Path) -> None:
    """Group commit: 32 callers take far less than 32 times the time of one."""
    with AuditJournal(path) as journal:
        # Another test may have the cores for a moment; a journal without groups never passes.
        tries = [await _alone_and_together(journal) for _ in range(6)]
    assert any(together < alone / 2 for alone, together in tries), tries


async def _alone_and_together(journal: AuditJournal) -> tuple[float, float]:
    """Return the seconds that 64 records take one by one, and in two groups of 32."""
    begin = time.perf_counter()
    for _ in range(64):
        await journal.append("k", {})
    middle = time.perf_counter()
    for _ in range(2):
        await asyncio.gather(*(journal.append("k", {}) for _ in range(32)))
    return middle - begin, time.perf_counter() - middle


async def test_the_chain_goes_on_over_a_restart(path: Path) -> None:
    """Closing and opening leaves one chain and no extra record."""
    for turn in range(3):
        with AuditJournal(path) as journal:
            await journal.append("k", {"turn": turn})
    assert [record["seq"] for record in records(path)] == [1, 2, 3]
    assert verify(path).records == 3


async def test_a_lost_head_file_is_made_again(path: Path) -> None:
    """Without its head file the journal is read from the start."""
    with AuditJournal(path) as journal:
        await journal.append("k", {})
    note = path.with_name("audit.jsonl.head")
    for text in (None, b"", b"\0" * 107):
        note.unlink() if text is None else note.write_bytes(text)
        with AuditJournal(path) as journal:
            await journal.append("k", {})
        assert verify(path).ok
    assert verify(path).records == 4


async def test_a_second_writer_is_refused(path: Path) -> None:
    """One journal has one writer, also within one process; closing frees it."""
    with AuditJournal(path) as journal:
        with pytest.raises(JournalError, match="another process"):
            AuditJournal(path)
        await journal.append("k", {})
    AuditJournal(path).close()


async def test_a_closed_journal_refuses(path: Path) -> None:
    """After ``close`` nothing is lost silently."""
    journal = AuditJournal(path)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        await journal.append("k", {})


async def test_a_record_that_is_not_json_is_refused_alone(path: Path) -> None:
    """A bad record fails its caller; the next ones are written."""
    with AuditJournal(path) as journal:
        odd: list[dict[str, object]] = [{"x": object()}, {"seq": 3}, {"x": float("inf")}]
        for bad in odd:
            with pytest.raises(JournalError, match="cannot be journalled"):
                await journal.append("k", bad)
        await journal.append("k", {"fine": "\ud800\0"})
    assert verify(path).records == 1


@pytest.mark.parametrize("mode", [0o640, 0o606])
def test_a_wider_mode_is_refused(path: Path, mode: int) -> None:
    """A journal that others can read or write is refused."""
    AuditJournal(path).close()
    path.chmod(mode)
    with pytest.raises(JournalError, match="chmod 600"):
        AuditJournal(path)


def test_a_link_or_folder_is_refused(path: Path) -> None:
    """The journal is a file of its own."""
    target = path.with_name("target")
    target.touch(mode=0o600)
    path.symlink_to(target)
    with pytest.raises(JournalError, match="cannot be opened"):
        AuditJournal(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(JournalError, match="cannot be opened"):
        AuditJournal(path)


def test_nothing_stays_open(path: Path) -> None:
    """Opening, refusing and closing give every descriptor back."""
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the kernel's list of descriptors
    with AuditJournal(path), pytest.raises(JournalError):
        AuditJournal(path)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above


@pytest.mark.benchmark
async def test_one_append_costs_little_more_than_the_disk(path: Path) -> None:
    """p50 is at most 0.4 ms, or four times a bare write and fdatasync of the same run."""
    record: dict[str, object] = {"runId": "x" * 26, "argv": ["/usr/bin/git", "status"]}
    bare, own = [], []
    floor = os.open(path.with_name("floor"), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    with AuditJournal(path) as journal:
        for _ in range(300):
            begin = time.perf_counter()
            os.write(floor, b"x" * 300)
            os.fdatasync(floor)
            middle = time.perf_counter()
            await journal.append("decision", record)
            own.append(time.perf_counter() - middle)
            bare.append(middle - begin)
    os.close(floor)
    p50, base = sorted(own)[150] * 1e3, sorted(bare)[150] * 1e3
    print(f"append p50 {p50:.3f} ms, floor {base:.3f} ms, ratio {p50 / base:.2f}")
    assert p50 <= max(GOAL_P50_MS, 4 * base)


def _removed(path: Path) -> None:
    path.rename(path.with_name("kept"))


def _replaced(path: Path) -> None:
    """As ``sed -i`` does: the same text in another file."""
    text = path.read_bytes()
    _removed(path)
    path.write_bytes(text)
    path.chmod(0o600)


def _linked(path: Path) -> None:
    _removed(path)
    path.symlink_to("kept")


def _cut_off(path: Path) -> None:
    path.with_name("kept").write_bytes(path.read_bytes())
    os.truncate(path, 5)


def _written_to(path: Path) -> None:
    path.with_name("kept").write_bytes(path.read_bytes())
    with path.open("ab") as file:
        file.write(b"x")


@pytest.mark.parametrize("spoil", [_removed, _replaced, _linked, _cut_off, _written_to])
async def test_nothing_is_written_where_nobody_would_find_it(
    path: Path, spoil: Callable[[Path], None]
) -> None:
    """Each append is refused while the file is changed; once it is restored, they continue."""
    with AuditJournal(path) as journal:
        await journal.append("k", {"number": 1})
        spoil(path)
        for _ in range(2):
            with pytest.raises(JournalError, match="by another process while the gateway ran"):
                await journal.append("k", {"number": 2})
        kept = path.with_name("kept")
        if spoil in {_cut_off, _written_to}:
            path.write_bytes(kept.read_bytes())
        else:
            kept.replace(path)
        await journal.append("k", {"number": 3})
    assert [one["number"] for one in records(path)] == [1, 3]
    assert verify(path).ok
