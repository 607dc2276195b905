"""Verify the journal for a caller who may read, as `sayso audit verify` does."""

from pathlib import Path
from typing import cast

from bot.intake.methods.audit import AuditMethods, Rotate
from bot.intake.registry.method import invoke, table_of
from core.audit.journal import AuditJournal
from core.model.access import Scope
from tests.support.api_tokens import Api
from tests.support.gate import gate_at


async def test_a_whole_journal_and_a_changed_one(tmp_path: Path) -> None:
    """How many records are good, and the first line that is not."""
    path = tmp_path / "other.jsonl"
    journal = AuditJournal(path)
    for number in range(3):
        await journal.append("note", {"number": number})
    journal.close()
    (method,) = (
        one
        for one in table_of([AuditMethods(cast("Rotate", None), path)]).values()
        if one.name == "audit.verify"
    )
    async with gate_at(tmp_path) as gate:
        reader = await Api.of(gate).caller("reader", Scope.READ)
        whole = await invoke(method, {}, reader)
        path.write_bytes(path.read_bytes().replace(b'"number":1', b'"number":7', 1))
        changed = await invoke(method, {}, reader)

    assert isinstance(whole, dict)
    assert isinstance(changed, dict)
    assert (whole["ok"], whole["records"], whole["segments"]) == (True, 3, 1)
    assert (changed["ok"], changed["records"], changed["firstBadLine"]) == (False, 1, 2)
