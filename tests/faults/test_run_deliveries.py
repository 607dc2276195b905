"""A racer renames another file over a script after its approval, at every moment (issue 10)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.swaps import KINDS

_FULL = os.environ.get("SAYSO_FULL_SWAPS") == "1"
_SWAPS = 2000 if _FULL else 12
_CONTROL_SWAPS = 40
_GATEWAY, _OTHER = 65534, 61234


def raced(folder: Path, kind: str, swaps: int, racer: int, *off: str) -> dict[str, int]:
    """Return how often the approved content, other content or nothing ran."""
    words = (str(folder), kind, str(swaps), str(_GATEWAY), str(racer), *off)
    done = subprocess.run(
        (sys.executable, "-m", "tests.faults.swaps", *words),
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr
    return {"good": 0, "evil": 0, "nothing": 0} | json.loads(done.stdout)


@pytest.fixture
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that both users reach and may write to."""
    folder = tmp_path_factory.mktemp("shared")
    for one in (folder, *list(folder.parents)[:2]):
        one.chmod(0o777)
    return folder


@pytest.mark.parametrize("racer", [_GATEWAY, _OTHER], ids=["same user", "other user"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_approved_is_what_is_read(shared: Path, kind: str, racer: int) -> None:
    """Python, sh, `#!`, node, perl and ELF, sourced, wrapped, late: never what nobody saw."""
    seen = raced(shared, kind, _SWAPS, racer)

    assert seen["evil"] == 0
    assert seen["good"] > 0
    assert sum(seen.values()) == _SWAPS


@pytest.mark.parametrize("kind", ["python", "node", "unread"])
def test_without_the_delivery_swaps_win(shared: Path, kind: str) -> None:
    """The control: the same racer, the same moments."""
    assert raced(shared, kind, _CONTROL_SWAPS, _OTHER, "off")["evil"] > 0
