from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import NotFound, StateError
from core.remote.trust.contacts import FILE, Contact, Contacts, ContactsFile, Trust
from core.trust.identity import Identity
from tests.support.remote_machines import contact_of
from tests.support.tables import rows


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


def adding(contact: Contact) -> Callable[[Contacts], Contacts]:
    """Return the change that adds a contact."""
    return lambda contacts: contacts.added(contact)


def test_a_name_or_an_agent_stands_once(tmp_path: Path) -> None:
    """A second one is refused and the first stays."""
    file, peer = ContactsFile(tmp_path), Identity.new()
    file.change(lambda contacts: contacts.added(contact_of(peer)))

    for twin in (contact_of(Identity.new()), contact_of(peer, name="other")):
        with pytest.raises(StateError, match="already"):
            file.change(adding(twin))
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
    """Unknown and doubled keys, malformed ids and words, and TLS without a fingerprint."""
    path = tmp_path / FILE
    path.write_text(text)
    path.chmod(0o600)

    with pytest.raises(StateError, match=FILE):
        ContactsFile(tmp_path).read()


def test_a_contacts_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """The writer of the file says who is trusted."""
    ContactsFile(tmp_path).write(Contacts())
    (tmp_path / FILE).chmod(0o660)

    with pytest.raises(StateError, match="chmod 600"):
        ContactsFile(tmp_path).read()


@rows(
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
