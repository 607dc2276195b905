"""Open a sealed secret with its key, for its use, and not otherwise."""

import base64
from pathlib import Path

import pytest

from core.errors import StateError
from core.trust.sealing import SEALED, Seals

GIVEN = base64.b64encode(bytes(range(32))).decode()


def test_it_opens_as_it_was(tmp_path: Path) -> None:
    """By a file that is made at first, mode 0600, and is read again; no two results are alike."""
    seals = Seals(tmp_path / "key")
    sealed = [seals.seal("JBSWY3DP", "totp:ana") for _ in range(2)]
    assert sealed[0] != sealed[1]
    assert all(one.startswith(SEALED) and "JBSWY3DP" not in one for one in sealed)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert Seals(tmp_path / "key").opened(sealed[0], "totp:ana") == "JBSWY3DP"


def test_looking_makes_no_key(tmp_path: Path) -> None:
    """Only sealing makes one, so a lost key is not replaced unnoticed."""
    assert Seals(tmp_path / "key").opened(f"{SEALED}00000000:AAAA", "totp:ana") is None
    assert not (tmp_path / "key").exists()


def test_nothing_else_opens_it(tmp_path: Path) -> None:
    """Another use, another key, a changed text, an unsealed one; the control is the first."""
    seals, other = Seals(tmp_path / "key"), Seals(tmp_path / "other")
    sealed = seals.seal("JBSWY3DP", "totp:ana")
    other.seal("x", "y")
    assert seals.opened(sealed, "totp:ana") == "JBSWY3DP"
    assert seals.opened(sealed, "totp:bo") is None
    assert other.opened(sealed, "totp:ana") is None
    for changed in (sealed[:-4] + "AAA=", sealed[:-8], sealed + "!", "JBSWY3DP", ""):
        assert seals.opened(changed, "totp:ana") is None


def test_a_given_key_is_used_instead(tmp_path: Path) -> None:
    """Of several gateways over one database, each opens what another sealed; no file is made."""
    sealed = Seals(tmp_path / "a", GIVEN).seal("JBSWY3DP", "totp:ana")
    assert Seals(tmp_path / "b", GIVEN).opened(sealed, "totp:ana") == "JBSWY3DP"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "short", base64.b64encode(b"x" * 16).decode(), "%" * 44])
def test_what_is_no_key_is_named(tmp_path: Path, text: str) -> None:
    """In the settings and in the file; nothing is sealed with it."""
    with pytest.raises(StateError, match=r"store\.key in the configuration does not hold 32 bytes"):
        Seals(tmp_path / "key", text).seal("s", "u")
    (tmp_path / "key").write_text(text)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(StateError, match="Restore it from a backup"):
        Seals(tmp_path / "key").seal("s", "u")
