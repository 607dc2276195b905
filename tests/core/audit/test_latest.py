"""Find the last record of a run from the end of the journal, however large that is."""

import time
from pathlib import Path

from core.audit import latest as module
from core.audit.chain import Head, fields, sealed
from core.audit.journal import AuditJournal
from core.audit.latest import begins_ms, last_at_ms, latest

_LATER_MS = 4_102_444_800_000
"""The year 2100."""


async def filled(path: Path) -> None:
    """Write a journal of several blocks; a run's records are far apart."""
    with AuditJournal(path) as journal:
        await journal.append("decision", {"run": "a"})
        await journal.append("decision", {"run": "b"})
        await journal.append("finish", {"run": "a", "exit_code": 3})
        for number in range(40):
            await journal.append("pad", {"run": f"pad{number}", "pad": "x" * 100_000})
        await journal.append("start", {"run": "b", "in": {"run": "a"}})


async def test_the_last_record_counts(tmp_path: Path) -> None:
    """One run's is blocks before the end, one's is the last line, one has none."""
    await filled(tmp_path / "audit.jsonl")

    found = latest(tmp_path / "audit.jsonl", {"a", "b", "c"}, 0)

    assert {run: record["kind"] for run, record in found.items()} == {"a": "finish", "b": "start"}
    assert found["a"]["exit_code"] == 3


async def test_what_is_older_than_the_run_is_not_read(tmp_path: Path) -> None:
    """Only the last block is read if everything wanted is younger."""
    await filled(tmp_path / "audit.jsonl")
    assert set(latest(tmp_path / "audit.jsonl", {"a", "b"}, _LATER_MS)) == {"b"}


async def test_a_changed_line_is_no_record(tmp_path: Path) -> None:
    """No one creates an ending by writing one over another."""
    path = tmp_path / "audit.jsonl"
    await filled(path)
    path.write_bytes(path.read_bytes().replace(b'"exit_code":3', b'"exit_code":0'))

    assert latest(path, {"a"}, 0)["a"]["kind"] == "decision"


async def test_a_line_longer_than_a_block_is_read_whole(tmp_path: Path) -> None:
    """A record of three blocks is one record."""
    path = tmp_path / "audit.jsonl"
    with AuditJournal(path) as journal:
        await journal.append("finish", {"run": "a"})
        await journal.append("finish", {"run": "b", "pad": "x" * 3 * module._BLOCK})

    assert set(latest(path, {"a", "b"}, 0)) == {"a", "b"}


def test_many_runs_are_found_in_one_reading(tmp_path: Path) -> None:
    """The time grows with the journal, not with that times the runs: it took 18 seconds."""
    path, runs, head, lines = tmp_path / "audit.jsonl", range(3_000), Head(), []
    for run in runs:
        for kind in ("ask", "resolve", "start", "finish"):
            line, head = sealed(fields({"run": f"run{run}", "text": "x" * 700}), kind, head)
            lines.append(line)
    path.write_bytes(b"".join(lines))
    began = time.monotonic()

    found = latest(path, {f"run{run}" for run in runs}, 0, ("ask",))

    assert len(found) == len(runs)
    assert {record["kind"] for record in found.values()} == {"ask"}
    assert time.monotonic() - began < 10


async def test_a_journal_knows_its_last_moment(tmp_path: Path) -> None:
    """To a second or so of the clock here; one without a record has none."""
    path, empty = tmp_path / "audit.jsonl", tmp_path / "empty"
    empty.touch()
    assert last_at_ms(empty) is None
    before = time.time() * 1000
    await filled(path)

    last = last_at_ms(path)
    assert last is not None
    assert before - 1000 <= last <= time.time() * 1000 + 1000
    assert begins_ms(path) is None, "all of it is here"
