import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import HostUnavailable, PlanDrift
from core.files.file_identity import identity
from core.planning.paths.pins import Fingerprints
from core.planning.planner import Planner
from core.planning.verify import is_warm, verify, warm
from tests.support.descriptors import none_left
from tests.support.runs import copy_of, drifts, planned, request, script


def in_place(path: Path, content: bytes) -> None:
    """Overwrite a file's bytes and restore its mtime, as an attacker would."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_an_untouched_plan_opens(tmp_path: Path) -> None:
    """What is unchanged since its approval is opened once each, and closed again."""
    copy_of("true", tmp_path / "tool")
    plan = planned(request("./tool | ./tool | ls", cwd=tmp_path))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count of names

    with verify(plan) as opened:
        assert len(opened.files) == 2
        assert os.fstat(opened.cwd).st_ino == plan.cwd.inode

    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - a count of names


def test_a_file_put_in_the_place_of_the_approved_one_is_seen(tmp_path: Path) -> None:
    """A rename swap is another inode, even with equal content."""
    tool = copy_of("true", tmp_path / "tool")
    plan = planned(request("./tool", cwd=tmp_path))
    assert not drifts(plan)

    copy_of("true", tmp_path / "other").rename(tool)

    assert drifts(plan)


def test_bytes_overwritten_in_place_are_seen(tmp_path: Path) -> None:
    """Same inode, size and mtime: the content shows it, and ctime makes us look."""
    tool = script(tmp_path / "tool", "#!/bin/sh\necho good\n")
    plan = planned(request("./tool", cwd=tmp_path))
    assert not drifts(plan)

    in_place(tool, b"#!/bin/sh\necho evil\n")

    assert drifts(plan)


def test_an_overwrite_within_a_clock_tick_is_seen(tmp_path: Path) -> None:
    """A hash that is younger than the clock's tick is not trusted from memory."""
    tool = script(tmp_path / "tool", "#!/bin/sh\necho 0000\n")
    for number in range(1, 200):
        plan = planned(request("./tool", cwd=tmp_path))
        in_place(tool, b"#!/bin/sh\necho %04d\n" % number)
        assert drifts(plan)


def test_a_changed_script_operand_is_seen(tmp_path: Path) -> None:
    """What the interpreter would read is bound like the interpreter."""
    (tmp_path / "x.sh").write_text("echo good")
    plan = planned(request("sh x.sh", cwd=tmp_path))
    assert not drifts(plan)

    in_place(tmp_path / "x.sh", b"echo evil")

    assert drifts(plan)


def test_a_link_that_leads_elsewhere_is_seen(tmp_path: Path) -> None:
    """An alternative that was switched after the approval is another program."""
    copy_of("true", tmp_path / "one")
    copy_of("false", tmp_path / "two")
    (tmp_path / "tool").symlink_to("one")
    plan = planned(request("./tool", cwd=tmp_path))
    assert not drifts(plan)

    (tmp_path / "tool").unlink()
    (tmp_path / "tool").symlink_to("two")

    assert drifts(plan)


@pytest.mark.parametrize("how", ["gone", "another", "link"])
def test_another_working_directory_is_seen(tmp_path: Path, how: str) -> None:
    """The directory is bound by identity: removed, replaced or linked away are all drift."""
    place = tmp_path / "place"
    place.mkdir()
    plan = planned(request("true", cwd=place))
    assert not drifts(plan)

    place.rename(tmp_path / "old")
    if how == "another":
        place.mkdir()
    elif how == "link":
        place.symlink_to("old")

    assert drifts(plan)


def test_a_removed_program_is_seen(tmp_path: Path) -> None:
    """A binary that vanished denies the run and is named."""
    tool = copy_of("true", tmp_path / "tool")
    plan = planned(request("./tool", cwd=tmp_path))
    tool.unlink()

    with pytest.raises(PlanDrift, match="tool"), verify(plan):
        pytest.fail("it was opened")


def test_a_pin_that_was_altered_is_seen() -> None:
    """Another hash in the plan fits neither the digest nor the file."""
    plan = planned(request("true"))
    pin = plan.commands[0].executable
    assert pin is not None
    forged = replace(pin, sha256="0" * 64)

    assert drifts(replace(plan, commands=(replace(plan.commands[0], executable=forged),)))


def test_warming_reads_what_verifying_needs(tmp_path: Path) -> None:
    """After a restart the hashes are computed apart from the event loop."""
    tool = copy_of("true", tmp_path / "tool")
    plan = planned(request("./tool", cwd=tmp_path))
    os.utime(tool)
    assert not is_warm(plan)

    wait_until_settled(tool)
    warm(plan)

    assert is_warm(plan)
    assert not drifts(plan)


def wait_until_settled(path: Path) -> None:
    """Wait until a file's last change is older than the clock's tick."""
    while time.time_ns() - path.stat().st_ctime_ns < 30_000_000:
        time.sleep(0.005)


@pytest.mark.parametrize(("mode", "remembered"), [(0o755, True), (0o775, False), (0o757, False)])
def test_no_hash_of_what_others_may_write_to_is_remembered(
    tmp_path: Path, mode: int, remembered: bool
) -> None:
    """Through a mapping they change it, and none of its times."""
    cache, path = Fingerprints(), tmp_path / "tool"
    path.write_text("good")
    path.chmod(mode)
    wait_until_settled(path)
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        cache.of(file.fileno(), status)

    assert (cache.known(identity(status)) is not None) == remembered


def test_the_memory_of_hashes_is_bounded(tmp_path: Path) -> None:
    """The least recently used hash is forgotten first."""
    cache = Fingerprints(bound=2)
    files = [tmp_path / str(number) for number in range(3)]
    for path in files:
        path.write_text(path.name)
    wait_until_settled(files[-1])
    keys = []
    for path in files:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            cache.of(file.fileno(), status)
            keys.append(status)

    assert [cache.known(identity(key)) is not None for key in keys] == [False, True, True]


@pytest.mark.parametrize("line", ["uv run x.py", "uv run python x.py", "uv run coverage run x.py"])
def test_a_script_that_a_runner_starts_must_stay_as_it_was(tmp_path: Path, line: str) -> None:
    """Always allowed by its words alone, `uv run x.py` would run whatever x.py becomes."""
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin" / "uv", "#!/bin/sh\n")
    code = tmp_path / "x.py"
    code.write_text("1")
    plan = planned(request(line, cwd=tmp_path), Planner((str(tmp_path / "bin"), "/usr/bin")))
    with verify(plan):
        pass

    code.write_text("2")

    with pytest.raises(PlanDrift, match=r"x\.py"), verify(plan):
        pass


@pytest.mark.parametrize(
    ("line", "appears"),
    [
        ("mocha -r x", "x.js"),
        ("mocha -r x", "x/index.js"),
        ("timeout 5 mocha -r x", "x"),
        ("perl -I. -MTool a.pl", "Tool.pm"),
    ],
)
def test_what_was_no_file_may_not_become_code(tmp_path: Path, line: str, appears: str) -> None:
    """Whoever asked without it there, or was always allowed without it, must not get to run it."""
    script(tmp_path / "mocha", "#!/bin/sh\n")
    (tmp_path / "a.pl").touch()
    plan = planned(request(line, cwd=tmp_path), Planner((str(tmp_path), "/usr/bin")))
    with verify(plan):
        pass
    (tmp_path / appears).parent.mkdir(exist_ok=True)
    (tmp_path / appears).touch()

    with pytest.raises(PlanDrift, match="did not exist when this was asked"), verify(plan):
        pass


@pytest.mark.parametrize(
    ("line", "found", "appears"),
    [
        ("env -C sub sh x.sh", "x.sh", "sub/x.sh"),
        ("make -C sub -f x.sh", "x.sh", "sub/x.sh"),
        ("node --cwd=sub x.sh", "sub/x.sh", "x.sh"),
        ("node --cwd=sub --import ./x.sh y", "sub/x.sh", "x.sh"),
    ],
)
def test_a_script_may_not_appear_in_the_other_folder(
    tmp_path: Path, line: str, found: str, appears: str
) -> None:
    """It is not known whether a program changes to a folder: what is in either may be what runs."""
    (tmp_path / "sub").mkdir()
    (tmp_path / found).touch()
    plan = planned(request(line, cwd=tmp_path))
    (tmp_path / appears).touch()

    with pytest.raises(PlanDrift, match="was not a file when this was asked"), verify(plan):
        pass


@pytest.mark.parametrize("left", range(3))
def test_what_cannot_be_looked_at_has_not_drifted(tmp_path: Path, left: int) -> None:
    """No descriptor is left for the folder or a file: that says nothing about what was approved."""
    copy_of("true", tmp_path / "tool")
    plan = planned(request("./tool | /bin/true | /bin/ls", cwd=tmp_path))
    with none_left(but=left), pytest.raises(HostUnavailable, match="Too many open files"):
        verify(plan).__enter__()
    assert not drifts(plan)
