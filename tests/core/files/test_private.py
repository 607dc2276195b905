"""Replace a private file whole, and only while it is the one that was read."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from core.errors import StateError
from core.files.private import append_private, replace_private, sync_private, touch_private


def test_what_changed_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """An edit that arrives while the draft is written stays; no draft is left."""
    path = tmp_path / "state"
    path.write_bytes(b"old")

    def edited() -> bool:
        path.write_bytes(b"edited")
        return False

    assert not replace_private(path, b"ours", still=edited)
    assert path.read_bytes() == b"edited"
    assert replace_private(path, b"ours")
    assert path.read_bytes() == b"ours"
    assert [one.name for one in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize(
    ("write", "synced"), [(replace_private, True), (partial(replace_private, durable=False), False)]
)
def test_a_file_is_on_disk_when_it_is_replaced(
    tmp_path: Path,
    write: Callable[[Path, bytes], bool],
    synced: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its content and its name, unless the caller can do without."""
    asked: list[str] = []
    sync = os.fsync

    def noted(fd: int) -> None:
        asked.append(str(Path(f"/proc/self/fd/{fd}").readlink()))
        sync(fd)

    monkeypatch.setattr(os, "fsync", noted)
    write(tmp_path / "state", b"ours")

    assert (str(tmp_path) in asked) is synced
    assert any(one.startswith(f"{tmp_path}/") for one in asked) is synced


def test_what_is_appended_is_synced_by_its_own_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing file is not made, and a link is not followed."""
    path, synced = tmp_path / "state", list[int]()
    monkeypatch.setattr(os, "fdatasync", synced.append)
    assert not append_private(path, b"x")
    assert not path.exists()
    replace_private(path, b"one\n")
    assert append_private(path, b"two\n")
    assert (path.read_bytes(), synced) == (b"one\ntwo\n", [])
    sync_private(path)
    assert len(synced) == 1

    (tmp_path / "link").symlink_to(path)
    with pytest.raises(StateError):
        append_private(tmp_path / "link", b"x")
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_touched_file_is_private_and_keeps_its_content(tmp_path: Path) -> None:
    """It is made if there is none; through a link nothing is made."""
    path = tmp_path / "mark"
    touch_private(path)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"", 0o600)
    path.write_bytes(b"kept")
    touch_private(path)
    assert path.read_bytes() == b"kept"
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError):
        touch_private(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()
