"""Cancel one's own requests at once, and others' by asking the host that is named."""

import asyncio
from pathlib import Path

import pytest

from core.remote.client.call import Call
from core.remote.client.client import Client
from core.remote.denials import Notice, RemoteDenial
from core.remote.trust.contacts import Trust
from core.remote.trust.envelope import Order, Sealer
from core.trust.identity import Identity
from tests.support.remote_machines import contact_of, contacts_of, two_machines
from tests.support.waiting import until

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


async def test_own_requests_are_cancelled_without_asking(client: Client) -> None:
    """Whatever host is named: nobody listens at its address."""
    own = Call("a", Order(argv=("/bin/x",)), Sealer(client.identity, "m"), request_id="own")
    client._calls["own"] = own

    assert await client.cancel("own", NOWHERE.agent_id)
    assert own.cancelled.is_set()
    own.cancelled.clear()
    assert await client.cancel("own")
    assert own.cancelled.is_set()


async def test_others_are_cancelled_by_a_trusted_host_that_is_named(tmp_path: Path) -> None:
    """As a second process of this machine does; no other host is asked."""
    async with two_machines(tmp_path, unix=True) as host:
        running = asyncio.ensure_future(host.run("sleep", "60"))
        await until(lambda: [*host.service.context.sessions])
        (call,) = host.client

        async def cancelled(agent: Identity | None, **changes: object) -> bool:
            contact = host.contact.model_copy(update=changes)
            other = Client(host.identity, contacts_of(tmp_path / "other", contact))
            return await other.cancel(call.request_id, agent.agent_id if agent else None)

        assert not await cancelled(None)
        assert not await cancelled(NOWHERE)
        assert not await cancelled(host.host, trust=Trust.REJECT)
        assert not await cancelled(host.host, address=None)
        assert not running.done()
        assert await cancelled(host.host)
        ended = await running
    # It may have been cancelled before its process was started.
    assert Notice.CANCELLED in ended.warnings or ended.denial_reason is RemoteDenial.CANCELLED


async def test_what_cannot_be_asked_is_a_result(client: Client) -> None:
    """Nothing is sent to an unknown contact, one that is not trusted, nor with too much input."""
    order = Order(argv=("/bin/x",))

    async def denial(who: Identity) -> RemoteDenial | None:
        return (await client.run(who.agent_id, order)).denial_reason

    assert await denial(Identity.new()) is RemoteDenial.CONTACT_UNKNOWN
    assert await denial(NOWHERE) is RemoteDenial.CONTACT_UNKNOWN
    assert await denial(BLOCKED) is RemoteDenial.UNTRUSTED
    assert list(client) == []
