"""kill -9 of the writer at random points loses no acknowledged record and breaks no chain."""

import json
import random
import select
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import core
from core.audit.journal import AuditJournal
from core.audit.verify import verify

ROOT = Path(core.__file__).parents[1]
CYCLES = 12
WRITER = """
import asyncio, os, sys
from pathlib import Path
from core.audit.journal import AuditJournal

async def write(journal, cycle, task):
    for number in range(100_000):
        name = f"{cycle}.{task}.{number}"
        await journal.append("k", {"name": name})
        os.write(1, f"{name}\\n".encode())

async def main(path, cycle):
    journal = AuditJournal(path)
    await asyncio.gather(*(write(journal, cycle, task) for task in range(8)))

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


def killed_writer(path: Path, cycle: int, after_s: float) -> list[str]:
    """Start a writer, kill it some time after its first record; return what it acknowledged."""
    command = [sys.executable, "-c", WRITER, str(path), str(cycle)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert select.select([writer.stdout], [], [], 30)[0]
        time.sleep(after_s)
        writer.kill()
        text = writer.stdout.read().decode()
    names = text.split("\n")
    return names[:-1]


def tear(path: Path, dice: random.Random) -> None:
    """Leave half of the next line, as a power cut can."""
    lines = path.read_bytes().splitlines(keepends=True)
    with path.open("ab") as file:
        file.write(lines[-1][: dice.randrange(1, len(lines[-1]))])


def test_kill_9_loses_nothing(tmp_path: Path) -> None:
    """Over twelve crashes, half of them tearing a line, each acknowledged record is there once."""
    path, dice = tmp_path / "audit.jsonl", random.Random(7)  # repeatable, no secret
    acknowledged: list[str] = []
    for cycle in range(CYCLES):
        acknowledged += killed_writer(path, cycle, dice.uniform(0.0, 0.03))
        if cycle % 2:
            tear(path, dice)
            assert not verify(path).ok
    AuditJournal(path).close()
    verdict = verify(path)
    assert verdict.ok, verdict.why
    records = [json.loads(line) for line in path.read_text().splitlines()]
    written = Counter(record["name"] for record in records if record["kind"] == "k")
    assert len(acknowledged) >= CYCLES
    assert all(written[name] == 1 for name in acknowledged)
    assert sum(record["kind"] == "recovered" for record in records) == CYCLES // 2


def test_without_the_repair_the_checker_fails(tmp_path: Path) -> None:
    """Negative control: a writer that continues after a torn line breaks the chain."""
    path, dice = tmp_path / "audit.jsonl", random.Random(7)  # repeatable, no secret
    killed_writer(path, 0, 0.01)
    whole = verify(path)
    if whole.ok:
        tear(path, dice)
    else:  # the kill itself came in the middle of a line
        assert whole.first_bad_line == whole.records + 1
    with path.open("ab") as file:
        file.write(path.read_bytes().splitlines(keepends=True)[0])
    assert verify(path).first_bad_line == whole.records + 1
