"""When the disk fails, no append is acknowledged; the journal continues once it works."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import core
from tests.faults.failing_disk import failing_disk

ROOT = Path(core.__file__).parents[1]
SCRIPT = """
import asyncio, json, os, sys
from pathlib import Path
from core.audit.journal import AuditJournal
from core.audit.verify import verify
from core.errors import JournalError

class Unguarded(AuditJournal):
    def _heal(self):
        raise JournalError(self._broken)

async def append(journal, number):
    try:
        await journal.append("k", {"number": number})
    except JournalError as error:
        return str(error)
    return ""

async def main(path, how, kind):
    switch = Path(os.environ["FAILING_SWITCH"])
    journal = kind(path)
    told = [await append(journal, 1)]
    switch.write_text(how)
    told += [await append(journal, 2), await append(journal, 3)]
    switch.unlink()
    told.append(await append(journal, 4))
    journal.close()
    verdict = verify(path)
    lines = [json.loads(line).get("number") for line in path.read_text().splitlines()]
    print(json.dumps({"told": told, "ok": verdict.ok, "lines": lines}))

asyncio.run(main(Path(sys.argv[1]), sys.argv[2], Unguarded if sys.argv[3] else AuditJournal))
"""


@pytest.mark.parametrize("how", ["all", "sync"])
@pytest.mark.parametrize("control", ["", "control"])
def test_a_journal_goes_on_when_the_disk_works_again(
    tmp_path: Path, how: str, control: str
) -> None:
    """What was acknowledged is there and nothing else; the control needs a restart."""
    home = tmp_path / "home"
    home.mkdir()
    disk = failing_disk(home, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(home / "audit.jsonl"), how, control],
        cwd=ROOT,
        env={**os.environ, **disk.environ()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)

    assert [bool(words) for words in found["told"]] == [False, True, True, bool(control)]
    assert found["ok"]
    assert found["lines"] == ([1] if control else [1, 4])
