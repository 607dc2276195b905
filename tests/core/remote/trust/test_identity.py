from pathlib import Path

import pytest

from core.errors import NotFound, StateError
from core.remote.trust.certificate import TLS_FILE, fingerprint
from core.remote.trust.contacts import FILE, Contacts, ContactsFile, Trust
from core.remote.trust.identity import AGENT_KEY, MACHINE_KEY, Identity, is_signed
from tests.support.remote_machines import contact_of

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
    """A new key would be a new id: nobody gets one by damaging a file."""
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
    """Another key, another text, and what is no signature at all fail."""
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


def test_contacts_are_kept_and_forgotten(tmp_path: Path) -> None:
    """What was added is there for the next reader, what was removed is not."""
    peer = Identity.new()
    file = ContactsFile(tmp_path)
    file.change(lambda contacts: contacts.added(contact_of(peer)))
    assert file.read().trusts(peer.agent_id, peer.machine_id)

    file.change(lambda contacts: contacts.removed("peer"))
    assert not file.read().trusts(peer.agent_id, peer.machine_id)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_trust_is_for_one_agent_on_one_machine() -> None:
    """Known on another machine, rejected, or unknown: not trusted."""
    peer, other = Identity.new(), Identity.new()
    accepted = Contacts(contacts=(contact_of(peer),))
    rejected = Contacts(contacts=(contact_of(peer, trust=Trust.REJECT),))

    assert accepted.trusts(peer.agent_id, peer.machine_id)
    assert not accepted.trusts(peer.agent_id, other.machine_id)
    assert not accepted.trusts(other.agent_id, peer.machine_id)
    assert not rejected.trusts(peer.agent_id, peer.machine_id)


def test_a_name_or_an_agent_stands_once(tmp_path: Path) -> None:
    """A second one is refused and the first stays."""
    file, peer = ContactsFile(tmp_path), Identity.new()
    file.change(lambda contacts: contacts.added(contact_of(peer)))

    for twin in (contact_of(Identity.new()), contact_of(peer, name="other")):
        with pytest.raises(StateError, match="already"):
            file.change(lambda contacts, twin=twin: contacts.added(twin))
    with pytest.raises(NotFound, match="No contact"):
        file.change(lambda contacts: contacts.removed("nobody"))
    assert file.read().of_agent(peer.agent_id) is not None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"version":2,"contacts":[]}',
        '{"contacts":[],"contacts":[]}',
        '{"contacts":[],"more":1}',
        '{"contacts":[{"name":"x"}]}',
        "[" * 100_000,
        f'{{"contacts":[{{"name":"X","agent_id":"{"a" * 64}","machine_id":"{"b" * 64}"}}]}}',
        f'{{"contacts":[{{"name":"x","agent_id":"{"A" * 64}","machine_id":"{"b" * 64}"}}]}}',
        (
            f'{{"contacts":[{{"name":"x","agent_id":"{"a" * 64}","machine_id":"{"b" * 64}",'
            f'"trust":"yes"}}]}}'
        ),
        (
            f'{{"contacts":[{{"name":"x","agent_id":"{"a" * 64}","machine_id":"{"b" * 64}",'
            f'"address":"127.0.0.1:1"}}]}}'
        ),
    ],
)
def test_a_malformed_contacts_file_is_refused(tmp_path: Path, text: str) -> None:
    """Unknown and doubled keys, ill ids and words, and TLS without a fingerprint."""
    path = tmp_path / FILE
    path.write_text(text)
    path.chmod(0o600)

    with pytest.raises(StateError, match=FILE):
        ContactsFile(tmp_path).read()


def test_a_contacts_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """Whoever writes it says who is trusted."""
    ContactsFile(tmp_path).write(Contacts())
    (tmp_path / FILE).chmod(0o660)

    with pytest.raises(StateError, match="chmod 600"):
        ContactsFile(tmp_path).read()


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1:22",
        "0.0.0.0:22",
        "example.org:22",
        "127.0.0.1",
        "127.0.0.1:x",
        "127.0.0.1:99999",
        "unix:rel",
        "unix:/a\n",
        "",
        ":22",
        "[::]:1",
        "127.0.0.1:\uff15",
    ],
)
def test_only_this_machine_is_an_address(address: str) -> None:
    """Loopback and Unix sockets; another machine is reached through a tunnel."""
    with pytest.raises(ValueError):
        contact_of(Identity.new(), address=address, fingerprint="c" * 64)


@pytest.mark.parametrize("address", ["127.0.0.1:8793", "[::1]:8793", "unix:/run/exec.sock"])
def test_addresses_are_written_as_they_are_read(address: str) -> None:
    """What the file keeps is what the person wrote."""
    assert contact_of(Identity.new(), address=address, fingerprint="c" * 64).address == address
