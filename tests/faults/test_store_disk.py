"""Fill the disk: nothing may start, everything may end, and nothing is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.core.store.mutants import Mutation, mutated

_ROOT = Path(__file__).parents[2]


def _watch(folder: Path, source: Path, package: str) -> dict[str, Any]:
    """Run the child in a mount namespace, where it may mount a disk of 16 MB."""
    disk = folder / "disk"
    disk.mkdir()
    private = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "-r"]
    done = subprocess.run(
        [*private, sys.executable, "-m", "tests.faults.full_disk", str(disk), str(source), package],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def test_a_full_disk_lets_denials_through_and_nothing_else(tmp_path: Path) -> None:
    """No question, allow or start; deny, cancel and results are recorded; freed space cures it."""
    seen = _watch(tmp_path, _ROOT, "core.store")
    asked = seen.pop("asked")
    assert asked > 10
    assert seen == {
        "create": "StoreFull",
        "begin": "StoreFull",
        "allow": "StoreFull",
        "deny": "won=True",
        "cancel": "EndState",
        "finish": "bool",
        "queued": 0,
        "pending": asked - 2,
        "after": "Created",
        "late allow": "won=True",
    }


def test_without_the_ballast_not_even_a_denial_is_recorded(tmp_path: Path) -> None:
    """The negative control: the reserve is what lets the denial through."""
    mutation = Mutation(
        "no ballast",
        "engine/sqlite/disk_reserve.py",
        "os.posix_fallocate(fd, 0, BALLAST_BYTES)",
        "fd",
    )
    code = mutated(mutation, tmp_path)
    seen = _watch(tmp_path, tmp_path, code.package)
    assert seen["deny"] == "StoreFull"
