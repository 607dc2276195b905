"""A private file is replaced whole, and only while it is the one that was read."""

import os
from pathlib import Path

import pytest

from core.files.private import replace_private


def test_what_changed_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """An edit that comes while the draft is written stays; no draft is left."""
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


@pytest.mark.parametrize(("options", "synced"), [({}, True), ({"durable": False}, False)])
def test_a_file_is_on_disk_when_it_is_replaced(
    tmp_path: Path, options: dict[str, bool], synced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its content and its name, unless the caller can do without."""
    asked: list[str] = []
    sync = os.fsync

    def noted(fd: int) -> None:
        asked.append(str(Path(f"/proc/self/fd/{fd}").readlink()))
        sync(fd)

    monkeypatch.setattr(os, "fsync", noted)
    replace_private(tmp_path / "state", b"ours", **options)

    assert (str(tmp_path) in asked) is synced
    assert any(one.startswith(f"{tmp_path}/") for one in asked) is synced
