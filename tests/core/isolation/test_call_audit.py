"""Record calls of executors in order, without anything waiting for it."""

import asyncio
import json
import logging
from pathlib import Path

import pytest

from core.audit.journal import AuditJournal
from core.isolation.call_audit import KIND, CallAudit, Caller

IDLE = Caller("e1", "agent")
BUSY = Caller("e1", "agent", "a run", "a session")


def calls(path: Path) -> list[dict[str, object]]:
    """Return the records of calls."""
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [one for one in records if one["kind"] == KIND]


async def test_every_call_is_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """To the journal, not to the log; what the executor serves is named while it serves it."""
    caplog.set_level(logging.INFO)
    path = tmp_path / "audit.jsonl"
    journal = AuditJournal(path)
    audit = CallAudit(journal)
    audit.note(IDLE, "ping", 2, "ok")
    audit.note(BUSY, "m" * 100, 7, "r" * 1_000)
    async with asyncio.timeout(20):
        await audit.stop()
    journal.close()

    first, second = calls(path)
    assert (first["method"], first["bytes"], first["result"]) == ("ping", 2, "ok")
    assert "run" not in first
    assert (second["run"], second["session"]) == ("a run", "a session")
    assert (second["method"], second["result"]) == ("m" * 64, "r" * 200)
    assert KIND not in caplog.text


async def test_a_journal_that_fails_is_told_and_holds_nobody_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each call that is not written is in the log; the end is not waited for forever."""
    journal = AuditJournal(tmp_path / "audit.jsonl")
    journal.close()
    audit = CallAudit(journal, debug=True)
    with caplog.at_level(logging.INFO):
        audit.note(IDLE, "ping", 2, "ok")
        audit.note(IDLE, "ping", 2, "ok")
        async with asyncio.timeout(20):
            await audit.stop()

    assert caplog.text.count("a call of an executor is not in the journal") == 2
    assert caplog.text.count("executor e1 of agent: ping ok") == 2
