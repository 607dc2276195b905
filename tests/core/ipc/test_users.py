"""Find the owners of a machine's additional uids."""

from pathlib import Path

import pytest

from core.ipc import users
from core.ipc.users import owner_of


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have a file of this test's own say who owns them."""
    found = tmp_path / "subuid"
    monkeypatch.setattr(users, "SUBORDINATE", found)
    return found


def test_a_further_uid_is_its_users(file: Path) -> None:
    """By name or by number; a line that is not a row of subuid(5) says nothing."""
    file.write_text("# none\nana:100000:65536\n1001:165536:10\n\nbob:x:1\n:::\nbob:-5:9\n")
    found = [owner_of(uid) for uid in (99999, 100000, 165535, 165536, 165545, 165546, 4)]
    assert found == ["", "ana", "ana", "1001", "1001", "", ""]


def test_it_is_read_anew_when_it_changes(file: Path) -> None:
    """Uids assigned while the gateway runs count; a missing or odd file assigns none."""
    assert owner_of(100000) == ""
    file.write_text("ana:100000:1\n")
    assert owner_of(100000) == "ana"
    file.write_text("beatrice:100000:1\n")
    assert owner_of(100000) == "beatrice"
    file.write_bytes(b"\xff:100000:1\n")
    assert owner_of(100001) == ""
    file.unlink()
    file.mkdir()
    assert owner_of(100000) == ""
