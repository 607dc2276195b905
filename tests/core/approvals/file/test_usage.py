"""Last-used statistics: gathered, merged, shown, and worth no permission."""

import json
import time
from pathlib import Path

import pytest

from core.approvals.file.file import ApprovalsFile
from core.approvals.file.usage import LastUse, UsageFile, with_usage

RG = ("main", "/usr/bin/rg")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the file stands."""
    return tmp_path / "exec-approvals.usage.json"


def use(at_ms: int) -> LastUse:
    """Return a use at a time."""
    return LastUse(at_ms, "rg -n word", "/usr/bin/rg")


def test_a_thousand_notes_are_one_write(path: Path) -> None:
    """Notes are gathered for the interval and then written together, without being asked."""
    file = UsageFile(path, interval_s=0.05)
    for at_ms in range(1000):
        file.note(*RG, use(at_ms))
    assert not path.exists()
    deadline = time.monotonic() + 10
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert json.loads(path.read_text())["agents"]["main"]["/usr/bin/rg"]["lastUsedAt"] == 999
    assert path.stat().st_mode & 0o777 == 0o600
    inode = path.stat().st_ino
    time.sleep(0.1)
    assert path.stat().st_ino == inode


def test_flush_writes_at_once_and_only_if_there_is_something(path: Path) -> None:
    """The last notes of a gateway that stops are kept."""
    file = UsageFile(path, interval_s=60)
    file.flush()
    assert not path.exists()
    file.note(*RG, use(5))
    assert file.read()[RG].at_ms == 5
    file.flush()
    assert UsageFile(path).read() == {RG: use(5)}


def test_two_writers_keep_the_newest_of_each_entry(path: Path) -> None:
    """Writing merges with what is there; an older use never hides a newer one."""
    first, second = UsageFile(path, 60), UsageFile(path, 60)
    first.note(*RG, use(9))
    first.note("other", "/usr/bin/fd", use(1))
    second.note(*RG, use(3))
    second.note(*RG, use(2))
    first.flush()
    second.flush()
    assert {key: found.at_ms for key, found in UsageFile(path).read().items()} == {
        RG: 9,
        ("other", "/usr/bin/fd"): 1,
    }


@pytest.mark.parametrize("text", ["", "{", '{"agents": {"main": {"/a": {"lastUsedAt": "x"}}}}'])
def test_a_corrupt_file_costs_only_statistics(
    path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It counts as empty, is reported, and is replaced by the next write."""
    path.touch(mode=0o600)
    path.write_text(text)
    file = UsageFile(path, 60)
    assert file.read() == {}
    assert "starting afresh" in caplog.text
    file.note(*RG, use(1))
    file.flush()
    assert UsageFile(path).read() == {RG: use(1)}


def test_an_unwritable_folder_keeps_the_notes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A failed write is reported, and its notes are there for the next one."""
    folder = tmp_path / "later"
    file = UsageFile(folder / "usage.json", 60)
    file.note(*RG, use(1))
    file.flush()
    assert "cannot write" in caplog.text
    folder.mkdir()
    file.flush()
    assert file.read() == {RG: use(1)}
    file.note(*RG, use(2))
    file.flush()
    assert UsageFile(folder / "usage.json").read() == {RG: use(2)}


def test_what_is_shown_has_the_seeds_fields(path: Path) -> None:
    """S1's three fields appear with each entry that was used; the file itself is not touched."""
    approvals = ApprovalsFile(path.with_name("exec-approvals.json"))
    approvals.add(*RG)
    approvals.add("main", "/usr/bin/fd")
    before = path.with_name("exec-approvals.json").read_bytes()
    shown = with_usage(approvals.shown(), {RG: use(7)})
    agents = shown["agents"]
    assert isinstance(agents, dict)
    used, unused = agents["main"]["allowlist"]
    assert used["lastUsedAt"] == 7
    assert used["lastUsedCommand"] == "rg -n word"
    assert used["lastResolvedPath"] == "/usr/bin/rg"
    assert "lastUsedAt" not in unused
    assert path.with_name("exec-approvals.json").read_bytes() == before


def test_a_long_command_is_cut(path: Path) -> None:
    """The statistics hold at most 500 characters of a command."""
    file = UsageFile(path, 60)
    file.note(*RG, LastUse(1, "x" * 9000, "/usr/bin/rg"))
    file.flush()
    assert len(UsageFile(path).read()[RG].command) == 500
