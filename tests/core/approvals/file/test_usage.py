"""Record last uses: gathered, shown, written when idle to the file, worth no permission."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.approvals.file.file import ApprovalsFile
from core.approvals.file.last_use import LastUse
from core.approvals.file.usage import Usage
from core.model.identity import DEFAULT_AGENT

RG = ("main", "/usr/bin/rg")
FD = ("main", "/usr/bin/fd")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file that lists two programs for the agent main."""
    path = tmp_path / "exec-approvals.json"
    approvals = ApprovalsFile(path)
    for entry in (RG, FD):
        approvals.add(*entry)
    return path


def use(at_ms: int) -> LastUse:
    """Return a use at a time."""
    return LastUse(at_ms, "rg -n word", "/usr/bin/rg")


def usage(path: Path, quiet_s: float = 60, longest_s: float = 60) -> Usage:
    """Return the uses of a file."""
    return Usage(ApprovalsFile(path), quiet_s, longest_s)


def listed(path: Path) -> list[dict[str, Any]]:
    """Return the entries as they are in the file."""
    entries: list[dict[str, Any]] = json.loads(path.read_text())["agents"]["main"]["allowlist"]
    return entries


def soon(holds: Callable[[], bool]) -> bool:
    """Return whether a condition holds within ten seconds."""
    deadline = time.monotonic() + 10
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    return holds()


def test_a_thousand_notes_are_one_write(path: Path) -> None:
    """They are written together when idle, in the seed's fields (S1), mode 0600."""
    noted = usage(path, quiet_s=1.5)
    for at_ms in range(1000):
        noted.note(*RG, use(at_ms))
    assert "lastUsedAt" not in listed(path)[0]
    assert soon(lambda: "lastUsedAt" in listed(path)[0])
    used, unused = listed(path)
    assert (999, "rg -n word", "/usr/bin/rg") == (
        used["lastUsedAt"],
        used["lastUsedCommand"],
        used["lastResolvedPath"],
    )
    assert "lastUsedAt" not in unused
    assert path.stat().st_mode & 0o777 == 0o600
    inode = path.stat().st_ino
    assert (noted._timer, noted._notes) == (None, {}), "a second write would come"
    noted.flush()
    assert path.stat().st_ino == inode


@pytest.mark.parametrize("longest_s", [0.5, 60])
def test_what_is_used_all_the_time_is_written_now_and_then(path: Path, longest_s: float) -> None:
    """It waits for an idle moment, but not forever."""
    noted = usage(path, 0.2, longest_s)
    without_a_pause(0.2, path, noted.flush, lambda: noted.note(*RG, use(1)))
    assert ("lastUsedAt" in listed(path)[0]) is (longest_s < 60)
    noted.flush()


def without_a_pause(
    most_s: float, path: Path, begin: Callable[[], object], act: Callable[[], object]
) -> None:
    """Do something constantly for 1.5 s; start over if the machine froze."""
    unused = path.read_text()
    for _ in range(20):
        begin()
        path.write_text(unused)
        began = last = time.monotonic()
        longest = 0.0
        while last - began < 1.5:
            act()
            time.sleep(0.02)
            now = time.monotonic()
            longest, last = max(longest, now - last), now
        if longest < most_s:
            return
    raise AssertionError(f"no time without a pause of {most_s} s")


@pytest.mark.parametrize("mark", [".exec-approvals.json.swp", ".#exec-approvals.json"])
def test_an_editor_is_waited_for(path: Path, mark: str) -> None:
    """While it has the file open, nothing is written; readers still know the use."""
    path.with_name(mark).touch()
    noted = usage(path, 0.1)
    noted.note(*RG, use(7))
    time.sleep(0.5)
    assert "lastUsedAt" not in listed(path)[0]
    assert noted.read()[RG] == use(7)
    path.with_name(mark).unlink()
    assert soon(lambda: "lastUsedAt" in listed(path)[0])
    noted.flush()  # or the copy of what is good is written to a folder that is gone


def test_a_file_that_somebody_changes_is_waited_for(path: Path) -> None:
    """A file that was saved a moment ago is left alone."""
    noted = usage(path, 0.3)

    without_a_pause(0.3, path, lambda: noted.note(*RG, use(7)), path.touch)
    assert "lastUsedAt" not in listed(path)[0]
    assert soon(lambda: "lastUsedAt" in listed(path)[0])
    noted.flush()


def test_no_edit_is_lost(path: Path) -> None:
    """An editor that saves while uses are written keeps each of its lines."""
    noted = usage(path)
    stop = threading.Event()

    def write() -> None:
        at_ms = 1
        while not stop.is_set():
            noted.note(*RG, use(at_ms))
            noted.flush()
            at_ms += 1

    writer = threading.Thread(target=write)
    writer.start()
    editor = ApprovalsFile(path)
    for number in range(50):
        editor.add("main", f"/opt/{number}")
    stop.set()
    writer.join()

    assert {f"/opt/{number}" for number in range(50)} <= {one["pattern"] for one in listed(path)}
    assert listed(path)[0]["lastUsedAt"] > 0


def test_flush_writes_at_once_and_only_if_there_is_something(path: Path) -> None:
    """The last notes of a gateway that stops are kept."""
    before = path.read_bytes()
    noted = usage(path)
    noted.flush()
    assert path.read_bytes() == before
    noted.note(*RG, use(5))
    assert noted.read()[RG].at_ms == 5
    noted.flush()
    assert usage(path).read() == {RG: use(5)}


def test_two_writers_keep_the_newest_of_each_entry(path: Path) -> None:
    """Writing merges with existing records; an older use never hides a newer one."""
    first, second = usage(path), usage(path)
    first.note(*RG, use(9))
    first.note(*FD, use(1))
    second.note(*RG, use(3))
    second.note(*RG, use(2))
    first.flush()
    assert second.read()[RG].at_ms == 9
    second.flush()
    assert {key: found.at_ms for key, found in usage(path).read().items()} == {RG: 9, FD: 1}


def test_a_use_changes_no_rule(path: Path) -> None:
    """What the file means stays the same object, so that no index is built again."""
    file = ApprovalsFile(path)
    noted, before = Usage(file), file.entries(DEFAULT_AGENT)
    noted.note(*RG, use(5))
    noted.flush()
    assert file.entries(DEFAULT_AGENT) is before
    assert ApprovalsFile(path).entries(DEFAULT_AGENT) == before


def test_an_entry_that_is_gone_comes_not_back(path: Path) -> None:
    """Its last use has no entry to go with; nothing is written for it."""
    noted = usage(path)
    noted.note(*FD, use(5))
    ApprovalsFile(path).remove(*FD)
    before = path.read_bytes()
    noted.flush()
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["", "{", '{"version": 2}'])
def test_a_corrupt_file_is_left_alone(
    path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """People must repair it; the records wait until they have."""
    good = path.read_bytes()
    path.write_text(text)
    noted = usage(path)
    assert noted.read() == {}
    noted.note(*RG, use(1))
    noted.flush()
    assert path.read_text() == text
    assert "not written yet" in caplog.text
    path.write_bytes(good)
    noted.flush()
    assert usage(path).read() == {RG: use(1)}


def test_what_is_shown_has_what_was_noted(path: Path) -> None:
    """S1's three fields appear with each used entry; the file itself is not touched."""
    before = path.read_bytes()
    noted = usage(path)
    noted.note(*RG, use(7))
    agents = noted.shown()["agents"]
    assert isinstance(agents, dict)
    used, unused = agents["main"]["allowlist"]
    assert used["lastUsedAt"] == 7
    assert "lastUsedAt" not in unused
    assert path.read_bytes() == before


@pytest.mark.parametrize("written", [True, 1e999, -1, 2**60])
def test_a_time_that_is_none_is_no_use(path: Path, written: float) -> None:
    """What others wrote there stops nothing."""
    text = json.loads(path.read_text())
    text["agents"]["main"]["allowlist"][0]["lastUsedAt"] = written
    path.write_text(json.dumps(text).replace("Infinity", "1e999"))
    if not isinstance(written, bool):
        assert usage(path).read() == {}


def test_a_long_command_is_cut(path: Path) -> None:
    """The statistics keep at most 500 characters of a command."""
    noted = usage(path)
    noted.note(*RG, LastUse(1, "x" * 9000, "/usr/bin/rg"))
    noted.flush()
    assert len(usage(path).read()[RG].command) == 500
