"""Identify the sender of a request: by address, and on this machine by Unix user."""

import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.types import Scope

from bot.api.http.client import Client, address_of, client_of, count_failure
from bot.api.http.errors import Fault, FaultCode
from bot.api.http.rate_limits import Buckets
from core.ipc import users
from tests.support.executors import UID
from tests.support.tcp_clients import connected_as


@pytest.mark.parametrize(
    ("client", "address"),
    [
        (("10.0.0.7", 4711), "10.0.0.7"),
        (("2001:db8:1:2:3:4:5:6", 1), "2001:db8:1:2::"),
        (("2001:db8:1:2:ffff::1", 1), "2001:db8:1:2::"),
        (("::ffff:10.0.0.7", 1), "10.0.0.7"),
        (("fe80::1%eth0", 1), "fe80::"),
        (("testclient", 1), "testclient"),
        (None, "unknown"),
    ],
)
def test_one_network_is_one_address(client: tuple[str, int] | None, address: str) -> None:
    """A client with a network of IPv6 has one address' worth of rates."""
    scope: Scope = {"client": client, "server": ("192.0.2.1", 8791)}
    assert address_of(scope) == address
    assert client_of(scope) == Client(address)


@contextmanager
def _request(uid: int) -> Iterator[Scope]:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        connected_as(uid, "127.0.0.1", listener) as ours,
    ):
        yield {"client": ours.getpeername(), "server": ours.getsockname()}


def test_users_of_one_address_are_counted_apart() -> None:
    """They share the loopback address, and nothing else."""
    with _request(os.geteuid()) as own, _request(UID) as other:
        clients = client_of(own), client_of(other)
        assert [one.uid for one in clients] == [os.geteuid(), UID]
        assert clients[0].key != clients[1].key
        assert clients[0].local
        assert clients[1].local


def test_one_user_of_many_addresses_and_uids_is_one_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of 127.0.0.0/8 is everyone's, and additional uids are their user's."""
    subordinate = tmp_path / "subuid"
    subordinate.write_text("eve:200000:65536\n")
    monkeypatch.setattr(users, "SUBORDINATE", subordinate)
    here = [Client(f"127.0.0.{end}", 1000, local=True).key for end in (1, 2)]
    further = {Client("127.0.0.1", uid, local=True).key for uid in (200_000, 265_535)}
    gone = {Client(f"127.0.0.{end}", None, local=True).key for end in (1, 2)}
    assert (len(set(here)), len(further), len(gone)) == (1, 1, 1)
    others = {Client("127.0.0.1", uid, local=True).key for uid in (1001, 265_536)}
    others |= {Client("10.0.0.7").key, Client("10.0.0.8").key}
    assert len({*here, *further, *gone, *others}) == 7


def test_the_kernel_is_asked_once_for_a_request() -> None:
    """What was found counts until its end, even if the client has gone."""
    with _request(UID) as scope:
        found = client_of(scope)
    assert client_of(scope) is found
    gone = client_of({"client": scope["client"], "server": scope["server"]})
    assert gone == Client("127.0.0.1", None, local=True)


def test_without_a_descriptor_nobody_is_taken_for_somebody() -> None:
    """It says that the system could not be asked, not that the person is unknown."""
    with _request(os.geteuid()) as scope:
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
        try:
            with pytest.raises(Fault) as refused:
                client_of(scope)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert refused.value.code is FaultCode.UNAVAILABLE
        assert client_of(scope).uid == os.geteuid()


def test_a_client_that_fails_too_often_has_to_wait() -> None:
    """The failures before that cost nothing, and another client's are its own."""
    failed = Buckets(rate=0.01, burst=2)
    one: Scope = {"client": ("10.0.0.7", 1)}
    other: Scope = {"client": ("10.0.0.8", 1)}
    count_failure(failed, one)
    count_failure(failed, one)
    with pytest.raises(Fault) as refused:
        count_failure(failed, one)
    assert refused.value.code is FaultCode.TOO_MANY
    count_failure(failed, other)
