"""Change a script through memory after its approval, as its owner (issue 10).

mmap(2): the times of a file change at the first write to a page of a mapping, and not at those that
follow; on tmpfs they never do. So device, inode, size and times prove nothing about its content.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.mapped_writes import LATE, LINES

_GATEWAY, _OTHER = 65534, 61234


@pytest.fixture(params=[None, "/dev/shm"], ids=["disk", "tmpfs"])
def shared(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Return a folder that both users reach and may write to."""
    with tempfile.TemporaryDirectory(dir=request.param) as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


def ran(folder: Path, writer: int, *off: str) -> dict[str, str]:
    """Return what each line printed."""
    words = (str(folder), str(_GATEWAY), str(writer), *off)
    done = subprocess.run(
        (sys.executable, "-m", "tests.faults.mapped_writes", *words),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert isinstance(seen, dict)
    return seen


def test_what_its_owner_writes_through_memory_is_not_run(shared: Path) -> None:
    """Scripts of another user and a program: the file changed, though only its content tells."""
    seen = ran(shared, _OTHER)

    assert seen.keys() == {*LINES, LATE}
    assert {line: said for line, said in seen.items() if line != LATE} == dict.fromkeys(
        LINES, "nothing"
    )
    assert "evil" not in seen[LATE].split()


def test_nor_is_a_script_that_the_same_user_changes(shared: Path) -> None:
    """No time changes, no one has it mapped any more, and nothing was renamed."""
    seen = ran(shared, _GATEWAY)

    assert {"evil"}.isdisjoint(word for said in seen.values() for word in said.split())


def test_without_the_look_at_content_it_is(shared: Path) -> None:
    """The control: the same writes."""
    seen = ran(shared, _OTHER, "off")

    assert [seen[line] for line in LINES if line != "./tool Written by"] == ["evil"] * 6
    assert seen["./tool Written by"] == "Written by"  # that ran, changed


@pytest.mark.slow
def test_without_it_the_same_user_changes_them_too(shared: Path) -> None:
    """The control: on a disk the times reveal the late one."""
    seen = ran(shared, _GATEWAY, "off")

    assert [seen[line] for line in LINES if line != "./tool Written by"] == ["evil"] * 6
    assert ("evil" in seen[LATE].split()) == shared.is_relative_to("/dev/shm")
