"""On a full disk appends fail, nothing half written stays, and freed space lets it continue."""

import json
import os
import subprocess
import sys
from pathlib import Path

import core

ROOT = Path(core.__file__).parents[1]
SCRIPT = """
import asyncio, json, sys
from pathlib import Path
from core.audit.journal import AuditJournal
from core.audit.verify import verify
from core.errors import JournalError

class Unguarded(AuditJournal):
    def _undo(self):
        pass

    def _require_its_place(self):
        pass

async def fill(journal, acknowledged):
    for number in range(10_000):
        try:
            await journal.append("k", {"number": number, "pad": "x" * 333})
        except JournalError as error:
            return str(error)
        acknowledged.append(number)

async def main(path, kind):
    ballast = path.with_name("ballast")
    ballast.write_bytes(bytes(16384))
    acknowledged = []
    journal = kind(path)
    first = await fill(journal, acknowledged)
    again = await fill(journal, [])
    full = verify(path)
    ballast.unlink()
    await journal.append("k", {"number": -1})
    journal.close()
    verdict = verify(path)
    print(json.dumps({
        "error": first, "again": again, "acknowledged": len(acknowledged), "full": full.ok,
        "full_records": full.records, "ok": verdict.ok, "records": verdict.records,
        "why": verdict.why,
    }))

asyncio.run(main(Path(sys.argv[1]), Unguarded if sys.argv[2] == "unguarded" else AuditJournal))
"""


def run_on_tiny_disk(folder: Path, guard: str) -> dict[str, object]:
    """Run the script on a 128 KiB file system in its own mount namespace."""
    rights = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    mount = 'mount -t tmpfs -o size=128k none "$1" && exec "$2" -c "$3" "$1/audit.jsonl" "$4"'
    command = ["unshare", *rights, "--mount", "sh", "-c", mount, "sh"]
    done = subprocess.run(
        [*command, str(folder), sys.executable, SCRIPT, guard],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads(done.stdout)
    return result


def test_a_full_disk_refuses_and_recovers(tmp_path: Path) -> None:
    """Every acknowledged record is there, no other; after space is freed the chain continues."""
    result = run_on_tiny_disk(tmp_path, "guarded")
    acknowledged = result["acknowledged"]
    assert isinstance(acknowledged, int)
    assert acknowledged > 50
    assert "No space left" in str(result["error"])
    assert "Nothing runs until it is writable" in str(result["again"])
    assert (result["full"], result["full_records"]) == (True, acknowledged)
    assert (result["ok"], result["records"]) == (True, acknowledged + 1)


def test_without_the_guard_the_checker_fails(tmp_path: Path) -> None:
    """Negative control: with the half line left in place, the chain is found broken."""
    result = run_on_tiny_disk(tmp_path, "unguarded")
    assert not result["full"]
    assert not result["ok"]
    assert "hash" in str(result["why"])
