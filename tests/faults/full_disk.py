"""Fill a real, tiny disk under a store; run in its own mount namespace.

Arguments: a folder to mount on, the folder of the store's package, the package's name. Prints one
JSON object that says what worked at which moment.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from core.model.identity import ApprovalId
from tests.support.store_records import ALICE, DENY, HALF_HOUR, ONCE, draft, finished, run_draft

_MEGABYTE = 1024 * 1024


def _fill(folder: Path, leave: int) -> Path:
    """Write a file that leaves ``leave`` bytes."""
    disk = os.statvfs(folder)
    filler = folder / "filler"
    filler.write_bytes(b"x" * (disk.f_bavail * disk.f_frsize - leave))
    return filler


async def _try(store: Any, op: Any, *args: Any) -> str:
    try:
        got = await store.write(op, *args)
    except Exception as error:  # noqa: BLE001 - what it is, is the result
        return type(error).__name__
    return f"won={got.won}" if hasattr(got, "won") else str(type(got).__name__)


async def _ask_until_full(store: Any, approvals: Any) -> list[ApprovalId]:
    asked: list[ApprovalId] = []
    while await _try(store, approvals.create, question := draft(timeout_ms=HALF_HOUR)) == "Created":
        asked.append(question.id)
    return asked


async def _watch(folder: Path, package: str) -> dict[str, object]:
    store = await import_module(f"{package}.open").open_store(f"sqlite:///{folder}/state.db")
    approvals, runs = import_module(f"{package}.approvals"), import_module(f"{package}.runs.runs")
    running = run_draft()
    await store.write(runs.begin, running)
    filler = _fill(folder, 2 * _MEGABYTE)
    asked = await _ask_until_full(store, approvals)
    seen: dict[str, object] = {
        "asked": len(asked),
        "create": await _try(store, approvals.create, draft()),
        "begin": await _try(store, runs.begin, run_draft()),
        "allow": await _try(store, approvals.answer, approvals.Ballot(asked[0], ONCE, ALICE, None)),
        "deny": await _try(store, approvals.answer, approvals.Ballot(asked[1], DENY, ALICE, None)),
        "cancel": await _try(store, approvals.cancel, asked[2], "gone"),
        "finish": await _try(store, runs.finish, running.id, finished(running.id)),
        "queued": len(await store.read(runs.queued, 10)),
        "pending": len(await store.read(approvals.pending, 100_000)),
    }
    filler.unlink()
    until = time.monotonic() + 5
    while time.monotonic() < until and seen.get("after") != "Created":
        seen["after"] = await _try(store, approvals.create, draft())
        await asyncio.sleep(0.1)
    seen["late allow"] = await _try(
        store, approvals.answer, approvals.Ballot(asked[0], ONCE, ALICE, None)
    )
    await store.close()
    return seen


def main() -> None:
    """Mount, fill, print."""
    folder, source, package = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    sys.path.insert(0, source)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)], check=True)
    print(json.dumps(asyncio.run(_watch(folder, package))))


if __name__ == "__main__":
    main()
