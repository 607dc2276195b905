"""Cancel one's own requests at once, and others' by asking the host that is named."""

from pathlib import Path

import pytest

from core.remote.client.call import Call
from core.remote.client.client import Client
from core.remote.denials import RemoteDenial
from core.remote.trust.contacts import Contact, Trust
from core.remote.trust.envelope import Order, Sealer
from core.trust.identity import Identity
from tests.support.remote_machines import contact_of, contacts_of

TRUSTED, BLOCKED, NOWHERE = Identity.new(), Identity.new(), Identity.new()
ADDRESS = "unix:/nowhere.sock"


@pytest.fixture
def client(tmp_path: Path) -> Client:
    """Return a client with a contact, one that is not trusted, and one without an address."""
    known = contacts_of(
        tmp_path,
        contact_of(TRUSTED, address=ADDRESS),
        contact_of(BLOCKED, name="b", address=ADDRESS, trust=Trust.REJECT),
        contact_of(NOWHERE, name="n"),
    )
    return Client(Identity.new(), known)


@pytest.mark.parametrize(
    ("request_id", "agent", "cancelled", "asked"),
    [
        ("own", None, True, []),
        ("own", TRUSTED, True, []),
        ("other", None, False, []),
        ("other", TRUSTED, True, [TRUSTED.machine_id]),
        ("other", BLOCKED, False, []),
        ("other", NOWHERE, False, []),
        ("other", Identity.new(), False, []),
    ],
)
async def test_what_is_cancelled_and_where(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    request_id: str,
    agent: Identity | None,
    asked: list[str],
    *,
    cancelled: bool,
) -> None:
    """One of ours is not asked about; of others only a trusted contact is asked."""
    at: list[str] = []

    async def there(_: Client, contact: Contact, _id: str) -> bool:
        at.append(contact.machine_id)
        return True

    monkeypatch.setattr(Client, "_cancel_there", there)
    own = Call("a", Order(argv=("/bin/x",)), Sealer(client.identity, "m"), request_id="own")
    client._calls["own"] = own

    assert await client.cancel(request_id, agent.agent_id if agent else None) is cancelled
    assert own.cancelled.is_set() is (request_id == "own")
    assert at == asked


async def test_what_cannot_be_asked_is_a_result(client: Client) -> None:
    """Nothing is sent to an unknown contact, one that is not trusted, nor with too much input."""
    order = Order(argv=("/bin/x",))

    async def denial(who: Identity) -> RemoteDenial | None:
        return (await client.run(who.agent_id, order)).denial_reason

    assert await denial(Identity.new()) is RemoteDenial.CONTACT_UNKNOWN
    assert await denial(NOWHERE) is RemoteDenial.CONTACT_UNKNOWN
    assert await denial(BLOCKED) is RemoteDenial.UNTRUSTED
    assert list(client) == []
