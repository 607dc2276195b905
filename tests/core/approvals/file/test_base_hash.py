"""Replace a file only if it still is what was read, with a record first."""

import json
from pathlib import Path

import pytest

from core.approvals.file.base_hash import present_hash, replace_recorded
from core.approvals.file.file import ApprovalsFile
from core.audit.journal import AuditJournal
from core.errors import ApprovalsFileError, BadRequest, Conflict
from core.model.identity import AgentId

GOOD = '{"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/opt/a"}]}}}'

NAMELESS = '{"version": 1, "agents": {"x\\n": {}}}'


def kinds(folder: Path) -> list[str]:
    """Return the kinds of the journal's records."""
    return [json.loads(line)["kind"] for line in (folder / "a.jsonl").read_text().splitlines()]


async def test_the_record_has_the_hash_before_and_after(tmp_path: Path) -> None:
    """What it says about the new content is what the file then has."""
    file = ApprovalsFile(tmp_path / "exec-approvals.json")
    before = present_hash(file)
    with AuditJournal(tmp_path / "a.jsonl") as journal:
        await replace_recorded(file, journal, GOOD, before, "uid:1")
    (record,) = map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())

    assert (before, present_hash(file)) == (record["before"], record["after"])
    assert "uid:1" == record["by"]


async def test_what_is_refused_leaves_no_record(tmp_path: Path) -> None:
    """An invalid text, and a file that has changed since; the control leaves one."""
    file = ApprovalsFile(tmp_path / "exec-approvals.json")
    base = present_hash(file)
    with AuditJournal(tmp_path / "a.jsonl") as journal:
        with pytest.raises(ApprovalsFileError):
            await replace_recorded(file, journal, '{"version": 2}', base, "uid:1")
        with pytest.raises(BadRequest):
            await replace_recorded(file, journal, NAMELESS, base, "uid:1")
        with pytest.raises(Conflict):
            await replace_recorded(file, journal, GOOD, "0" * 64, "uid:1")
        refused = kinds(tmp_path)
        await replace_recorded(file, journal, GOOD, base, "uid:1")

    assert ([], ["approvals file"]) == (refused, kinds(tmp_path))


def test_what_an_editor_saves_meanwhile_is_kept(tmp_path: Path) -> None:
    """An editor takes no lock: the check is repeated when all is written except the name."""
    file = ApprovalsFile(tmp_path / "exec-approvals.json")
    file.replace(GOOD)
    base, checks = present_hash(file), []

    def check() -> None:
        checks.append(present_hash(file))
        if checks[-1] != base:
            raise Conflict
        edited = GOOD.replace("/opt/a", "/opt/edited")
        (tmp_path / "exec-approvals.json").write_text(edited)

    with pytest.raises(Conflict):
        file.replace(GOOD, check)

    assert ["/opt/edited"] == [one.pattern for one in file.entries(AgentId("main"))]
    assert 2 == len(checks)
