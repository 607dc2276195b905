"""Fill the disk from the sandbox: a run ends before it takes what others need."""

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.errors import HostUnavailable
from core.hosts.sandbox.tmp_dir import Scratch
from core.runner.supervisor.processes import held_files
from core.runner.supervisor.processes.held_files import Look, held
from core.runner.supervisor.protocol import Private
from tests.faults import sandbox_attacks as attacks
from tests.faults.sandbox_disk_attacks import (
    HOLD_S,
    LIMIT,
    MIB,
    WAYS,
    filled,
    filled_in_each_way,
)
from tests.faults.sandbox_escapes import vector
from tests.support.sandbox import PYTHON, sandbox

PLENTY = 1 << 40


async def test_a_run_that_fills_its_tmp_is_ended(tmp_path: Path) -> None:
    """Whether its files still have names or not, however they got their content."""
    async with sandbox(tmp_path, private_bytes=LIMIT * MIB) as house:
        found = await filled_in_each_way(house, hold_s=HOLD_S)
        next_one = await house.run("touch /tmp/x")
    left = list((house.home / "sandbox").iterdir())

    for way, done in found.items():
        assert "sayso: the private /tmp held more than 64 MiB" in done.output.text, (way, done)
        assert "ESCAPED" not in done.output.text, way
        assert (done.exit_code, done.signal) == (None, 9), way
    assert (next_one.exit_code, left) == (0, [])


async def test_without_the_limit_it_would_not_be(tmp_path: Path) -> None:
    """The control: the same fits where more is allowed, and the runs end on their own.

    Much more, because what other programs write to this disk counts while descriptors are in
    transit.
    """
    async with sandbox(tmp_path, private_bytes=1024 * 1024 * MIB) as house:
        found = await filled_in_each_way(house, hold_s=0)

    assert {way: done.output.text for way, done in found.items()} == dict.fromkeys(
        WAYS, "ESCAPED\n"
    )


async def test_what_was_removed_counts_no_more(tmp_path: Path) -> None:
    """A run may write any amount, as long as it never holds more than its limit."""
    line = "for n in 1 2 3 4 5 6 7 8; do head -c 40m /dev/zero > /tmp/f && sleep 0.2; done"
    async with sandbox(tmp_path, private_bytes=LIMIT * MIB) as house:
        done = await house.run(("/bin/sh", "-c", f"{line}; echo WORKED"))

    assert done.output.text == "WORKED\n"


async def test_all_commands_of_a_line_count_together(tmp_path: Path) -> None:
    """They share one folder; the one that goes over its limit ends the line."""
    fill = "head -c 24m /dev/zero > /tmp/{}; sleep {}"
    pauses = (0, 0, HOLD_S)
    line = "; ".join(f"sh -c '{fill.format(*one)}' x; echo {one[0]}" for one in enumerate(pauses))
    async with sandbox(tmp_path, private_bytes=LIMIT * MIB) as house:
        done = await house.run(line)

    assert done.output.text.startswith("0\n1\nsayso: the private /tmp held more"), done


@contextmanager
def small_disk(folder: Path, mib: int) -> Iterator[Path]:
    """Yield a new file system."""
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "none", disk], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def reserve(disk: Path, mib: int) -> None:
    """Use up this much of a disk."""
    with (disk / "taken").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, mib * MIB)


def left_on(disk: Path) -> int:
    """Return the MiB that are left."""
    now = os.statvfs(disk)
    return now.f_bavail * now.f_frsize // MIB


class Unbounded(Scratch):
    """Private folders that nothing watches."""

    def limits(self, path: Path) -> Private:
        """Return no limits."""
        return {**super().limits(path), "bytes": PLENTY, "spared": []}


@pytest.mark.parametrize(
    ("way", "where", "guarded"),
    [
        ("written", "/tmp", True),
        ("removed", "/tmp", True),
        ("written", "workspace", True),
        ("written", "/tmp", False),
        ("written", "workspace", False),
    ],
)
async def test_the_last_of_the_disk_is_left_to_the_store(
    way: str, where: str, guarded: bool, tmp_path: Path
) -> None:
    """A fifth of a small disk: whether /tmp is filled or a workspace that is on it as well."""
    with small_disk(tmp_path, 800) as disk:
        async with sandbox(disk, private_bytes=PLENTY) as house:
            if not guarded:
                house.host._scratch = Unbounded(house.home / "sandbox")
            reserve(disk, 560)
            folder = where if where == "/tmp" else str(house.workspace)
            # It cannot be faster than 100 MB a second, so that a slow machine reaches it in time.
            hold_s = HOLD_S if guarded else 0
            many = {"FILES": 20, "EACH": 16, "PAUSE": 0.01}
            done = await filled(house, way, folder, hold_s=hold_s, **many)
            left = left_on(disk)
            await house.host._scratch.settle()

    assert ("ESCAPED" in done.output.text) is not guarded, done
    if guarded:
        assert f"the file system of {house.home} has less than 160 MiB left" in done.output.text
        assert left > 0


async def test_nothing_starts_on_a_full_disk(tmp_path: Path) -> None:
    """It would be ended at once; the message says what to do."""
    with small_disk(tmp_path, 100) as disk:
        async with sandbox(disk) as house:
            ran = await house.run("true")
            reserve(disk, 85)
            with pytest.raises(HostUnavailable, match=r"less than 20 MiB left.*Free some space"):
                await house.run("true")

    assert ran.exit_code == 0


async def test_folders_in_memory_are_full_at_their_size(tmp_path: Path) -> None:
    """The home, /var/tmp and /dev/shm; /dev, /run and / take nothing at all."""
    inside = [str(Path.home()), "/var/tmp", "/dev/shm", "/dev", "/run", "/home", "/"]
    async with sandbox(tmp_path, private_bytes=LIMIT * MIB) as house:
        done = await house.run(vector(attacks.FILLS_MEMORY, PLACES=inside, MANY=5))
        control = await house.run_outside(
            vector(attacks.FILLS_MEMORY, PLACES=[str(house.workspace)], MANY=5)
        )

    assert done.output.text.split() == [word for one in inside for word in ("TRIED", one)]
    assert "ESCAPED" in control.output.text


def test_a_file_with_two_names_counts_once(tmp_path: Path) -> None:
    """Because it uses space once; and folders count as well."""
    (tmp_path / "one").write_bytes(bytes(MIB))
    (tmp_path / "two").hardlink_to(tmp_path / "one")

    assert MIB <= held(str(tmp_path), PLENTY, 0, Look(str)) < 1.5 * MIB


def test_too_many_files_are_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small: a file system may run out of inodes before it runs out of space."""
    for number in range(11):
        (tmp_path / str(number)).touch()
    monkeypatch.setattr(held_files, "MOST_FILES", 10)

    assert held(str(tmp_path), 5 * MIB, 0, Look(str)) > 5 * MIB


_SENDS = """
import subprocess, sys
sys.path.append(sys.argv[1])
from core.runner.supervisor.processes import held_files
held_files._MOST_S = 0.0
if sys.argv[2]:
    child = subprocess.Popen(["sleep", "60"])
print(held_files.sends(held_files.Look(str)))
if sys.argv[2]:
    child.kill()
"""
_AS_NOBODY = """
import os, sys
sys.path.insert(0, sys.argv[2])
from core.runner.supervisor.processes.held_files import Look, held
os.setgid(65534)
os.setuid(65534)
os.mkdir(sys.argv[1] + "/closed")
open(sys.argv[1] + "/closed/file", "wb").write(bytes(1 << 20))
os.chmod(sys.argv[1] + "/closed", int(sys.argv[3], 8))
print(held(sys.argv[1], 1 << 40, 7 << 20, Look(str)) >= 7 << 20)
"""


@pytest.mark.parametrize("mode", ["000", "700"], ids=["closed", "control"])
def test_what_is_closed_counts_for_all_that_is_gone(mode: str) -> None:
    """A folder that removed its own rights may hold all that the file system lost since."""
    folder = Path(f"/var/tmp/sayso-{secrets.token_hex(4)}")
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    words = (PYTHON, "-c", _AS_NOBODY, str(folder), str(Path.cwd()), mode)
    try:
        done = subprocess.run(words, check=True, capture_output=True, text=True)
    finally:
        subprocess.run(["rm", "-rf", str(folder)], check=True)

    assert done.stdout == f"{mode == '000'}\n"


@pytest.mark.parametrize("late", [True, False], ids=["late", "control"])
def test_a_look_that_takes_too_long_counts_all_that_is_gone(
    late: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run can make it take any time; it does not gain space by that."""
    (tmp_path / "file").write_bytes(bytes(MIB))
    if late:
        monkeypatch.setattr(held_files, "_MOST_S", 0.0)

    assert (held(str(tmp_path), PLENTY, 7 * MIB, Look(str)) >= 7 * MIB) is late


@pytest.mark.parametrize("children", [False, True], ids=["none", "control"])
def test_without_processes_there_is_nothing_to_be_late_with(*, children: bool) -> None:
    """A run that is over sends nothing, however little time there is."""
    words = (PYTHON, "-c", _SENDS, str(Path.cwd()), "1" if children else "")
    done = subprocess.run(words, check=True, capture_output=True, text=True)

    assert done.stdout == f"{children}\n"


def test_the_disk_is_watched_during_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """It could be full when the check is over."""
    monkeypatch.setattr(held_files, "_PAUSE_S", 0.0)
    look, calm = Look(lambda: "no room"), Look(str)

    assert (look.goes_on(), look.lacking) == (False, "no room")
    assert (calm.goes_on(), calm.lacking) == (True, "")
