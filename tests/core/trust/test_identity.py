from pathlib import Path

import pytest

from core.errors import StateError
from core.trust.certificate import TLS_FILE, fingerprint
from core.trust.identity import AGENT_KEY, MACHINE_KEY, Identity, is_signed

KEYS = (AGENT_KEY, MACHINE_KEY)


def test_ids_are_64_hex_digits_of_a_public_key_and_last(tmp_path: Path) -> None:
    """The second reading of a home is the same agent on the same machine."""
    first, again = Identity.load(tmp_path), Identity.load(tmp_path)

    assert (first.agent_id, first.machine_id) == (again.agent_id, again.machine_id)
    assert first.agent_id != first.machine_id
    assert len(first.agent_id) == len(bytes.fromhex(first.agent_id)) * 2 == 64


def test_keys_are_made_private(tmp_path: Path) -> None:
    """Mode 0600, whatever the umask was."""
    Identity.load(tmp_path)
    fingerprint(tmp_path)

    for name in (*KEYS, TLS_FILE):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted((*KEYS, TLS_FILE))


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("fault", ["open to others", "a link", "damaged", "another kind of key"])
def test_an_unsafe_or_damaged_key_is_refused_and_never_replaced(
    tmp_path: Path, name: str, fault: str
) -> None:
    """A new key would be a new id: no one gets one by damaging a file."""
    Identity.load(tmp_path)
    path = tmp_path / name
    before = path.read_bytes()
    if fault == "open to others":
        path.chmod(0o640)
    elif fault == "a link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    else:
        before = b"junk" if fault == "damaged" else (tmp_path / _tls(tmp_path)).read_bytes()
        path.write_bytes(before if fault == "damaged" else b"-----BEGIN X-----\n")
        before = path.read_bytes()

    with pytest.raises(StateError, match=name):
        Identity.load(tmp_path)
    assert path.read_bytes() == before


def _tls(home: Path) -> str:
    fingerprint(home)
    return TLS_FILE


def test_a_signature_is_one_keys_over_one_text() -> None:
    """Another key, another text, and what is not a signature at all fail."""
    one, other = Identity.new(), Identity.new()
    signature = one.agent.sign(b"text").hex()

    assert is_signed(one.agent_id, signature, b"text")
    assert not is_signed(one.agent_id, signature, b"texu")
    assert not is_signed(other.agent_id, signature, b"text")
    assert not is_signed(one.machine_id, signature, b"text")
    assert not is_signed(one.agent_id, "00" * 64, b"text")
    assert not is_signed("zz", signature, b"text")


def test_the_certificate_lasts_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    """Its fingerprint is what contacts pin."""
    assert fingerprint(tmp_path) == fingerprint(tmp_path)
    (tmp_path / TLS_FILE).write_text("junk")

    with pytest.raises(StateError, match="every contact"):
        fingerprint(tmp_path)
