"""Give a command its bound files as they were approved, and what it writes itself."""

import asyncio
import itertools
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import SpawnError
from core.model.stdio import Capture, Stdio
from core.runner.limits import Limits
from core.runner.runner import Runner
from core.runner.supervisor.pinned_files import open_notifier
from tests.support.runs import Start, new_run, planned, request, running, script
from tests.support.waiting import until

GOOD, EVIL = "echo good\n", "echo evil\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with a script, and a slow shell that reports its start."""
    place = tmp_path / "place"
    place.mkdir()
    script(place / "x.sh", GOOD)
    script(place / "wait", "#!/bin/sh\ntouch ready\nwhile ! [ -e go ]; do sleep 0.01; done\n")
    return place


async def printed(runner: Runner, line: str, place: Path, change: Callable[[], object]) -> str:
    """Run a line whose first command waits; make a change in the meantime."""
    plan = planned(request(line, cwd=place, timeout_ms=60_000))
    task = asyncio.ensure_future(runner.run(new_run(), plan, Start()))
    await until((place / "ready").exists)
    change()
    (place / "go").touch()
    return (await task).output.text


def replaced(place: Path) -> None:
    """Rename another script over the script."""
    script(place / "new", EVIL).rename(place / "x.sh")


def moved(place: Path) -> None:
    """Replace the folder with another."""
    shutil.copytree(place, place.with_name("copy"))
    script(place.with_name("copy") / "x.sh", EVIL)
    place.rename(place.with_name("old"))
    place.with_name("copy").rename(place)


def test_this_machine_can_deliver() -> None:
    """The kernel has what it needs; otherwise the tests of this file fail."""
    assert open_notifier.fault() == ""


@pytest.mark.parametrize(
    "line",
    [
        "./wait $(true); sh x.sh",
        "./wait $(true); . ./x.sh",
        "sh -c './wait; . ./x.sh; true $(true)'",
        "./wait $(true); cat x.sh | sh",
        "./wait $(true); sh {place}/x.sh",
        "./wait $(true); sh {place}/../{name}/x.sh",
        "./wait $(true); sh <x.sh",
        "./wait $(true); (cd / && sh {place}/x.sh)",
    ],
)
async def test_a_script_is_what_was_approved_however_late(place: Path, line: str) -> None:
    """A shell that reads it seconds after its start, by any name."""
    async with running() as runner:
        said = await printed(
            runner, line.format(place=place, name=place.name), place, lambda: replaced(place)
        )

    assert said == "good\n"


async def test_root_reads_another_users_script_as_approved(place: Path) -> None:
    """The file itself, under a lease; for users other than root it would be a copy (swaps.py)."""
    os.chown(place / "x.sh", 65534, -1)
    script(place / "x.sh", GOOD)
    async with running() as runner:
        said = await printed(runner, "./wait $(true); sh x.sh", place, lambda: replaced(place))

    assert said.startswith("good\n")


async def test_a_folder_in_the_folders_place_changes_nothing(place: Path) -> None:
    """The name leads to another folder, which contains another script."""
    async with running() as runner:
        plan = planned(request(f"./wait $(true); sh {place}/x.sh", cwd=place))
        task = asyncio.ensure_future(runner.run(new_run(), plan, Start()))
        await until((place / "ready").exists)
        moved(place)
        for one in (place, place.with_name("old")):
            (one / "go").touch()

        assert (await task).output.text == "good\n"


@pytest.mark.parametrize(
    "line",
    [
        "cat evil > x.sh; sh x.sh $(true)",
        "mv evil x.sh; sh x.sh $(true)",
        "rm x.sh; cp evil x.sh; sh x.sh $(true)",
        "ln -f evil x.sh; sh x.sh $(true)",
        "rm x.sh; ln -s evil x.sh; sh x.sh $(true)",
        "sed -i s/good/evil/ x.sh; sh x.sh $(true)",
        "cd ..; mv {name} other; mkdir {name}; cp other/evil {name}/x.sh; sh {name}/x.sh $(true)",
        "cd ..; mkdir n; mv {name}/evil n/x.sh; mv {name} o; mv n {name}; sh {name}/x.sh $(true)",
        "cp evil x.sh.js; sh x.sh.js; : $(true) sh x.sh",
    ],
)
async def test_a_command_reads_what_it_wrote_itself(place: Path, line: str) -> None:
    """The approved text says what happens to the file."""
    (place / "evil").write_text(EVIL)
    async with running() as runner:
        plan = planned(request(line.format(name=place.name), cwd=place))
        done = await runner.run(new_run(), plan, Start())

    assert done.output.text == "evil\n"


async def test_a_mode_that_is_changed_is_no_other_content(place: Path) -> None:
    """It shows in the file's ctime, as the swap of its name does."""
    async with running() as runner:
        plan = planned(request("chmod 755 x.sh $(true); sleep 0.1; ./x.sh", cwd=place))

        assert (await runner.run(new_run(), plan, Start())).output.text == "good\n"


async def test_content_that_others_wrote_meanwhile_is_not_read(place: Path) -> None:
    """In place, after the time for which writers wait: nothing of it runs, and it is reported."""

    def overwrite() -> None:
        (place / "x.sh").write_text(EVIL)

    async with running() as runner:
        said = await printed(runner, "./wait $(true); sh x.sh", place, overwrite)

    assert "evil" not in said
    assert f"sayso: `{place}/x.sh` changed after it was approved, so it was not read\n" in said


async def test_a_script_sees_its_own_name_and_file(place: Path) -> None:
    """`$0`, the vector and a lock on the file itself are as usual."""
    script(
        place / "x.sh",
        '#!/bin/sh -e\necho "$0 $*"\nexec 9<"$0"; flock -n 9; stat -Lc %i /dev/fd/9\n',
    )
    inode = (place / "x.sh").stat().st_ino
    async with running() as runner:
        plan = planned(request("./x.sh 'a b' c", cwd=place))
        done = await runner.run(new_run(), plan, Start())

    assert done.output.text == f"{place}/x.sh a b c\n{inode}\n"


async def test_nothing_comes_about_where_nothing_was(place: Path) -> None:
    """A script that was missing is missing, even if one appears in the meantime."""
    async with running() as runner:
        plan = planned(request("sh absent.sh", cwd=place))
        start = Start(before_claim=lambda: script(place / "absent.sh", EVIL))
        done = await runner.run(new_run(), plan, start)

    assert "evil" not in done.output.text
    assert done.exit_code != 0


@pytest.mark.parametrize("streams", ["", "2>&1 | cat"])
async def test_many_processes_open_many_files(place: Path, streams: str) -> None:
    """Every opening of a whole tree is answered, in parallel too, and programs end as usual."""
    (place / "files").mkdir()
    for number in range(200):
        (place / "files" / str(number)).write_text("x\n")
    script(place / "x.sh", "for i in 1 2 3 4; do cat files/* | wc -l & done; wait\n")
    async with running() as runner:
        plan = planned(request(f"sh x.sh {streams}", cwd=place))
        done = await runner.run(new_run(), plan, Start())

    assert done.output.text == "200\n" * 4
    assert done.exit_code == 0


@pytest.mark.parametrize("line", ["cat many/* | sh", "(cat many/* | sh)"])
async def test_a_line_may_be_bound_to_hundreds_of_files(place: Path, line: str) -> None:
    """More than its limit of open files: the supervisor keeps each of them open."""
    (place / "many").mkdir()
    for number in range(300):
        (place / "many" / str(number)).write_text(f"echo {number}\n")
    async with running() as runner:
        done = await runner.run(new_run(), planned(request(line, cwd=place)), Start())

    assert sorted(map(int, done.output.text.split())) == list(range(300))


async def test_too_few_descriptors_are_no_drift(place: Path) -> None:
    """Nothing changed, so nobody is to be asked again for that."""
    for number in range(30):
        (place / f"n{number}").write_text("echo\n")
    async with running(Limits(open_files=40)) as runner:
        with pytest.raises(SpawnError, match="Too many open files"):
            await runner.run(new_run(), planned(request("cat n* | sh", cwd=place)), Start())


async def test_a_terminal_is_the_commands_own(place: Path) -> None:
    """A script at a terminal is delivered as well."""
    script(place / "x.sh", "test -t 1 && tty >/dev/null && echo good\n")
    async with running() as runner:
        plan = planned(request("sh x.sh", cwd=place, stdio=Stdio(capture=Capture.PTY)))
        done = await runner.run(new_run(), plan, Start())

    assert "good" in done.output.text


async def test_what_a_supervisor_cannot_look_at_is_not_opened(place: Path) -> None:
    """Without a free descriptor it lets no call through to what the name means by then."""
    start = Start()
    async with running() as runner:
        plan = planned(request("./wait $(true); sh x.sh", cwd=place, timeout_ms=60_000))
        task = asyncio.ensure_future(runner.run(new_run(), plan, start))
        await until((place / "ready").exists)
        assert start.identity is not None
        supervisor = start.identity[0]
        before = resource.prlimit(supervisor, resource.RLIMIT_NOFILE)
        replaced(place)
        # No lower: poll(2) itself would fail, and the supervisor end before it answers.
        resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (_lowest_free(supervisor), before[1]))
        (place / "go").touch()
        done = await task

    assert "evil" not in done.output.text
    assert done.exit_code != 0


def _lowest_free(pid: int) -> int:
    taken = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}  # noqa: PTH208
    return next(fd for fd in itertools.count() if fd not in taken)


async def test_supervisors_keep_nothing_of_a_run(place: Path) -> None:
    """After many runs by one supervisor it has as many descriptors as before."""
    async with running() as runner:
        plan = planned(request("sh x.sh", cwd=place))
        counts = []
        for _ in range(6):
            start = Start()
            await runner.run(new_run(), plan, start)
            assert start.identity is not None
            counts.append((start.identity[0], len(os.listdir(f"/proc/{start.identity[0]}/fd"))))  # noqa: PTH208

    by_supervisor: dict[int, set[int]] = {}
    for pid, count in counts:
        by_supervisor.setdefault(pid, set()).add(count)
    assert all(len(found) <= 2 for found in by_supervisor.values())


async def test_a_folder_is_called_what_it_was(place: Path) -> None:
    """A command that asks where it is learns of no other name that its folder got meanwhile."""
    script(place / "x.sh", "exec /bin/pwd -P\n")

    def renamed() -> None:
        moved(place)
        (place.with_name("old") / "go").touch()

    async with running() as runner:
        line = "./wait $(true); sh x.sh"
        assert f"{place}\n" == await printed(runner, line, place, renamed)


async def test_a_name_leads_where_it_led(place: Path) -> None:
    """A script that asks whether its name is a link learns of none that came in between."""
    script(place / "x.sh", "readlink x.sh || echo none; readlink link\n")
    (place / "link").symlink_to("elsewhere")

    def linked() -> None:
        script(place / "new", EVIL)
        (place / "x.sh").rename(place / "old")
        (place / "x.sh").symlink_to("new")

    async with running() as runner:
        line = "./wait $(true); sh x.sh"
        assert await printed(runner, line, place, linked) == "none\nelsewhere\n"


async def test_what_would_be_read_instead_is_not_there(place: Path) -> None:
    """A longer name that an interpreter tries: the approved one may vanish in between."""
    (place / "x.sh.js").write_text(EVIL)
    (place / "y.js").write_text("data\n")
    async with running() as runner:
        line = "./wait $(true); cat x.sh$(echo .js) y$(echo .js); sh x.sh"
        text = await printed(runner, line, place, lambda: None)

    assert "evil" not in text
    assert text.endswith("data\ngood\n")
