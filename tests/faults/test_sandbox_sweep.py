"""Leave files behind that lend the rights of the gateway's user: the sweep clears them.

The system call filter comes first; here it is removed, so that the second line of defence is
tested.
"""

import os
import shutil
import stat
import struct
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from core.hosts.sandbox.backends import bubblewrap
from core.hosts.sandbox.filesystem.sweep import Moment, Sweep
from core.hosts.sandbox.filesystem.workspace_check import Checks
from core.model.result import Finished
from tests.support.descriptors import none_left
from tests.support.sandbox import HomeBeside, sandbox
from tests.support.waiting import until

ATTACKS = {
    "set-user-ID": "cp /usr/bin/id x; chmod 4755 x",
    "set-group-ID": "cp /usr/bin/id x; chmod 2755 x",
    "both": "cp /usr/bin/id x; chmod 6755 x",
    "in a deep folder": """
        p=$PWD; for i in $(seq 150); do mkdir d$i && cd d$i; done
        cp /usr/bin/id x; chmod 4755 x""",
    "in a folder that cannot be read": "mkdir d; cp /usr/bin/id d/x; chmod 4755 d/x; chmod 311 d",
    "under a name that disguises": """
        cp /usr/bin/id x; chmod 4755 x; mv x "$(printf 'a\\n\\033[1m')" """,
    "with a date of long ago": "cp /usr/bin/id x; chmod 4755 x; touch -d 2001-01-01 x",
    "by a hard link": "cp /usr/bin/id x; chmod 4755 x; mkdir d; ln x d/y",
}
LETS_THROUGH = struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000)


@pytest.fixture
def unfiltered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every system call through."""
    monkeypatch.setattr(bubblewrap, "filter_for", lambda **_: LETS_THROUGH)


async def nothing(self: Checks, sweep: Sweep) -> None:
    """Walk nowhere: the control."""
    del self, sweep


def marked(folder: Path) -> list[str]:
    """Return all files that lend rights."""
    words = ("/usr/bin/find", str(folder), "-type", "f", "-perm", "/6000", "-printf", "%f\\n")
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


async def ran(house: HomeBeside, script: str) -> Finished:
    """Run a script inside."""
    return await house.run(("/bin/sh", "-c", script))


@pytest.mark.usefixtures("unfiltered")
@pytest.mark.parametrize("swept", [True, False], ids=["swept", "control"])
@pytest.mark.parametrize("name", ATTACKS)
async def test_no_mark_is_left(
    name: str, swept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was marked no longer is when the result exists, and the result names it."""
    if not swept:
        monkeypatch.setattr(Checks, "walk", nothing)
    async with sandbox(tmp_path, protect=()) as house:
        done = await ran(house, ATTACKS[name])
        left = marked(house.workspace)

    assert (left == []) is swept
    assert ("set-user-ID or similar; the bit was removed" in " ".join(done.findings)) is swept


@pytest.mark.usefixtures("unfiltered")
async def test_what_was_marked_before_stays(tmp_path: Path) -> None:
    """A program of the owner's and a folder whose group is inherited are left as they are."""
    async with sandbox(tmp_path) as house:
        program, shared = house.workspace / "own", house.workspace / "shared"
        shutil.copy("/usr/bin/id", program)
        program.chmod(0o4755)
        shared.mkdir()
        shared.chmod(0o2770)
        await until(lambda: Moment.now().wall_ns > program.stat().st_ctime_ns)
        done = await ran(house, "mkdir shared/new && touch shared/new/f")
        modes = [one.stat().st_mode & 0o7000 for one in (program, shared, shared / "new")]

    assert modes == [0o4000, 0o2000, 0o2000]
    assert done.findings == ()


def test_a_capability_is_taken_away(tmp_path: Path) -> None:
    """File capabilities lend rights as well; outside of a sandbox only root can set them."""
    began = Moment.now()
    (program := tmp_path / "x").write_text("")
    os.setxattr(program, "security.capability", struct.pack("=5I", 0x02000001, 1 << 7, 0, 0, 0))
    sweep = swept(tmp_path, began)

    assert sweep.cleared == ["x"]
    assert "security.capability" not in os.listxattr(program)


def swept(folder: Path, began: Moment) -> Sweep:
    """Walk through a folder to the end."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    sweep = Sweep(fd, began.as_dated())
    assert sweep.go_on(60)
    os.close(fd)
    return sweep


@pytest.mark.parametrize("step_s", [-86_400, -3600, 3600, 86_400])
def test_a_clock_that_is_set_meanwhile_hides_nothing(step_s: int, tmp_path: Path) -> None:
    """The moment is kept by a clock that no one sets, and compared by the one that dates files."""
    now = Moment.now()
    # As if the wall clock had been set by this much between a run's start and its end.
    began = Moment(now.wall_ns - step_s * 10**9 - 10**9, now.elapsed_ns - 10**9)
    (program := tmp_path / "x").write_text("")
    program.chmod(0o4755)

    assert (began.wall_ns <= program.stat().st_ctime_ns) is (step_s > 0), "else it is no control"
    assert swept(tmp_path, began).cleared == ["x"]


def test_links_lead_nowhere(tmp_path: Path) -> None:
    """Neither a linked file nor the content of a linked folder is inspected."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    began = Moment.now()
    for folder in (inside, outside):
        folder.mkdir()
    (program := outside / "x").write_text("")
    program.chmod(0o4755)
    (inside / "folder").symlink_to(outside)
    (inside / "file").symlink_to(program)
    sweep = swept(inside, began)

    assert (sweep.cleared, sweep.complete) == ([], True)
    assert program.stat().st_mode & stat.S_ISUID
    assert swept(outside, began).cleared == ["x"], "else the first proves nothing"


SWAPS = """
import ctypes, sys
exchange = ctypes.CDLL(None).renameat2
a, b = (one.encode() for one in sys.argv[1:])
print(flush=True)
while True:
    exchange(-100, a, -100, b, 2)
"""


def test_a_racing_rename_does_not_lead_out(tmp_path: Path) -> None:
    """A folder constantly swapped for a link to another: nothing outside is changed."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    began = Moment.now()
    for folder in (inside / "d", outside):
        folder.mkdir(parents=True)
        (folder / "x").write_text("")
        (folder / "x").chmod(0o4755)
    (tmp_path / "link").symlink_to(outside)
    walks = 0
    words = (sys.executable, "-I", "-S", "-c", SWAPS, inside / "d", tmp_path / "link")
    with subprocess.Popen(words, stdout=subprocess.PIPE) as racer:
        assert racer.stdout is not None
        racer.stdout.readline()
        until_s = time.monotonic() + 1.5
        while time.monotonic() < until_s:
            swept(inside, began)
            walks += 1
        racer.kill()

    assert walks > 20
    assert (outside / "x").stat().st_mode & stat.S_ISUID


def test_a_folder_that_is_moved_out_ends_the_walk(tmp_path: Path) -> None:
    """Upwards only the folder that the walk came from is entered again."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    deep = inside.joinpath(*(["d"] * 80))
    deep.mkdir(parents=True)
    (outside / "beside").mkdir(parents=True)
    began = Moment.now()
    (program := outside / "beside" / "x").write_text("")
    program.chmod(0o4755)
    fd = os.open(inside, os.O_PATH | os.O_DIRECTORY)
    sweep = Sweep(fd, began.as_dated())
    while not sweep.go_on(0) and sweep.entries < 79:
        pass
    inside.joinpath(*(["d"] * 10)).rename(outside / "moved")
    sweep.go_on(60)
    os.close(fd)

    assert not sweep.complete
    assert program.stat().st_mode & stat.S_ISUID


@pytest.mark.parametrize("place", [".", "d"])
def test_an_owner_without_rights_looks_all_the_same(place: str, tmp_path: Path) -> None:
    """As a user other than root: a folder that can no longer be read, even the workspace."""
    began = Moment.now()
    (tmp_path / "d").mkdir()
    (program := tmp_path / "d" / "x").write_text("")
    for one in (tmp_path, tmp_path / "d", program):
        os.chown(one, 65534, 65534)
    program.chmod(0o4755)
    (tmp_path / place).chmod(0o111)
    fd = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    if (child := os.fork()) == 0:
        os.setresuid(65534, 65534, 65534)
        sweep = Sweep(fd, began.as_dated())
        os._exit(0 if sweep.go_on(60) and sweep.complete and sweep.cleared == ["d/x"] else 1)
    _, status = os.waitpid(child, 0)
    os.close(fd)

    assert status == 0
    assert (tmp_path / place).stat().st_mode & 0o777 == 0o111
    assert program.stat().st_mode & 0o7777 == 0o755


def open_now() -> set[str]:
    """Return this process's descriptors."""
    return {one.name for one in Path("/proc/self/fd").iterdir()}


def test_the_walk_gives_its_descriptors_back(tmp_path: Path) -> None:
    """However deep it is, few are open, and none afterwards."""
    tmp_path.joinpath(*(["d"] * 300)).mkdir(parents=True)
    before = open_now()
    fd = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    sweep, most = Sweep(fd, 0), 0
    while not sweep.go_on(0):
        most = max(most, len(open_now() - before))
    os.close(fd)

    assert (sweep.complete, sweep.entries) == (True, 300)
    assert most < 80
    assert open_now() == before


def test_a_walk_ends_in_time(tmp_path: Path) -> None:
    """A large workspace delays nothing: the walk stops, and says that it is not complete."""
    for number in range(3000):
        (tmp_path / str(number)).touch()
    fd = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    sweep = Sweep(fd, 0)
    over = sweep.go_on(0)
    sweep.close()
    os.close(fd)

    assert (over, sweep.complete) == (False, False)
    assert sweep.entries < 3000


@pytest.mark.parametrize(("free", "whole"), [(1, False), (2, False), (9, True)])
def test_a_walk_that_could_not_look_is_not_complete(free: int, whole: bool, tmp_path: Path) -> None:
    """Without descriptors a folder is left out and reported; with enough (control) none is."""
    began = Moment.now()
    (tmp_path / "d").mkdir()
    (program := tmp_path / "d" / "x").write_text("")
    program.chmod(0o4755)
    root = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    sweep = Sweep(root, began.as_dated())
    with none_left(but=free):
        sweep.go_on(60)
    os.close(root)

    assert (sweep.complete, sweep.cleared) == (whole, ["d/x"] if whole else [])


def id_as_nobody(program: Path) -> str:
    """Return the user that another one becomes by running a program."""
    words = (str(program), "-u")
    return subprocess.run(words, user=65534, capture_output=True, text=True, check=True).stdout


@pytest.mark.usefixtures("unfiltered")
async def test_the_marked_program_lends_nothing_to_others() -> None:
    """The whole attack: another user runs what the sandbox left, and gains no other identity."""
    with TemporaryDirectory(dir="/srv") as reachable:
        Path(reachable).chmod(0o755)
        async with sandbox(Path(reachable), protect=()) as house:
            await ran(house, "cp /usr/bin/id x; chmod 4755 x")
            others = id_as_nobody(house.workspace / "x")
            (house.workspace / "x").chmod(0o4755)
            control = id_as_nobody(house.workspace / "x")

    assert (others, control) == ("65534\n", "0\n")
