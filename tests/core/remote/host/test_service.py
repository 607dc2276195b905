"""Renew a run's lease by valid frames that arrive while it lasts, and answer few strangers."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from core.planning.planner import Planner
from core.remote.acl.acl import Acl
from core.remote.denials import Notice, RemoteDenial
from core.remote.host.active_runs import Session
from core.remote.host.admission import AdmissionContext
from core.remote.host.counters import Strangers
from core.remote.host.exec_log import open_exec_log
from core.remote.host.lease import Lease, LeaseEnd
from core.remote.host.service import Service
from core.remote.trust.contacts import Contacts
from core.remote.trust.envelope import Kind, Sealed, Sealer
from core.remote.trust.replay_window import Freshness, wall_clock_ms
from core.remote.wire.frames import End
from core.remote.wire.link import LinkLost
from core.runner.runner import Runner
from core.trust.identity import Identity
from core.trust.ids import new_id
from tests.support.remote_machines import acl_text, contact_of, two_machines


@dataclass
class Host:
    """A host with one run in progress, and its requester."""

    service: Service
    session: Session
    client: Identity

    def said(self, kind: Kind, request_id: str = "", by: Identity | None = None) -> Sealed:
        """Return what the client says about a request, by default about the run."""
        sealer = Sealer(by or self.client, self.service.context.machine_id)
        return sealer.seal(kind, request_id or self.session.request_id, wall_clock_ms())


@pytest.fixture
async def host(tmp_path: Path) -> Host:
    """Return a host on which nothing is spawned."""
    own, client = Identity.new(), Identity.new()
    contacts = Contacts(contacts=(contact_of(client),))
    fresh = Freshness(started_ms=wall_clock_ms() - 60_000)
    context = AdmissionContext(own.machine_id, Acl.parse(acl_text(client)), lambda: contacts, fresh)
    log = open_exec_log(tmp_path / "exec.log", list)
    service = Service(context, Runner(), Planner(), log)
    session = Session(client.agent_id, client.machine_id, new_id(), "/bin/sleep", Lease())
    return Host(service, session, client)


async def test_who_started_a_run_renews_and_cancels_it(host: Host) -> None:
    """A renewal counts as one, a cancellation ends the lease."""
    assert host.service.take(host.said(Kind.RENEW), host.session)
    assert host.session.lease.ended is None

    assert not host.service.take(host.said(Kind.CANCEL), host.session)
    assert host.session.lease.ended is LeaseEnd.CANCELLED


async def test_nothing_else_renews_it(host: Host) -> None:
    """No payload, a stranger's, the same again, or one about another run."""
    right = host.said(Kind.RENEW)
    assert host.service.take(right, host.session)

    assert not host.service.take(right, host.session)
    assert not host.service.take(right.model_copy(update={"payload": "{}"}), host.session)
    assert not host.service.take(host.said(Kind.RENEW, by=Identity.new()), host.session)
    assert not host.service.take(host.said(Kind.CANCEL, new_id()), host.session)
    assert host.session.lease.ended is None
    assert host.service.counters.denied[RemoteDenial.REPLAYED] == 1


async def test_beyond_a_bound_strangers_get_neither_an_answer_nor_an_entry(tmp_path: Path) -> None:
    """They are counted; who is known is served all the same."""
    stranger = Identity.new()
    async with two_machines(tmp_path) as host:
        host.service.strangers = Strangers(burst=2, a_second=0, _left=2)
        for _ in range(2):
            answer = await host.say(host.sealed("echo", "x", identity=stranger))
            assert isinstance(answer, End)
            assert answer.denial_reason is not None
        for _ in range(3):
            with pytest.raises(LinkLost):
                await host.say(host.sealed("echo", "x", identity=stranger))
        done = await host.run("echo", "hello")

        assert host.service.counters.unheard == 3
        assert host.kinds().count("denied") == 2
        assert done.code == 0


async def test_a_run_that_is_denied_has_not_finished(tmp_path: Path) -> None:
    """Diagnostics count it by its reason, and what was odd about a run only if there was one."""
    large = ("head", "-c", "64", "/dev/zero")
    async with two_machines(
        tmp_path, vectors=[large], max_stdout_bytes=32, warn_stdout_bytes=16
    ) as host:
        counters = host.service.counters
        denied = await host.run("head", "-c", "65", "/dev/zero")
        assert denied.denial_reason is RemoteDenial.ARGV_NOT_ALLOWED
        assert (counters.finished, counters.truncated, [*counters.recent]) == (0, 0, [])
        done = await host.run(*large)

    assert (done.code, done.truncated) == (0, True)
    assert counters.denied == {RemoteDenial.ARGV_NOT_ALLOWED: 1}
    assert (counters.finished, counters.truncated) == (1, 1)
    assert [one.warning for one in counters.recent] == [Notice.STDOUT_LARGE]
