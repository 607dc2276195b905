"""A private file is replaced whole, and only while it is the one that was read."""

from pathlib import Path

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
