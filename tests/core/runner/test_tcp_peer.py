"""Find the owner of a TCP connection of this machine in the kernel's own table."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from core.runner import tcp_peer
from tests.support.executors import UID
from tests.support.gateway_process import ROOT
from tests.support.tcp_clients import connected_as


@pytest.mark.parametrize("uid", [os.geteuid(), UID])
@pytest.mark.parametrize(
    ("listen", "host"),
    [
        pytest.param("127.0.0.1", "127.0.0.1", id="IPv4"),
        pytest.param("127.0.0.1", "::ffff:127.0.0.1", id="an IPv6 socket to IPv4"),
        pytest.param("::1", "::1", id="IPv6"),
        pytest.param("::", "127.0.0.1", id="IPv4 to an IPv6 socket"),
    ],
)
def test_the_user_at_the_other_end_is_found(uid: int, listen: str, host: str) -> None:
    """Over both families, and if one end's socket is of the other family."""
    family = socket.AF_INET6 if ":" in listen else socket.AF_INET
    with (
        socket.create_server((listen, 0), family=family, dualstack_ipv6=listen == "::") as listener,
        connected_as(uid, host, listener) as ours,
    ):
        peer, own = ours.getpeername()[:2], ours.getsockname()[:2]
        assert tcp_peer.uid_of(peer, own) == uid
        assert tcp_peer.uid_of(own, peer) == os.geteuid()
        assert tcp_peer.uid_of((peer[0], peer[1]), (own[0], own[1] ^ 1)) is None
        assert tcp_peer.uid_of(("192.0.2.7", peer[1]), own) is None


@pytest.mark.parametrize(("listen", "host"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1")])
def test_a_kernel_without_single_questions_has_a_table(listen: str, host: str) -> None:
    """Both ways find the same end among others, and none for a connection that is not there."""
    family = socket.AF_INET6 if ":" in listen else socket.AF_INET
    with (
        socket.create_server((listen, 0), family=family) as listener,
        connected_as(os.geteuid(), host, listener),
        connected_as(UID, host, listener) as ours,
    ):
        peer, own = ours.getpeername()[:2], ours.getsockname()[:2]
        holders = [tcp_peer._looked_up(peer, own), tcp_peer._looked_up(own, peer)]

        assert holders == [tcp_peer._asked(peer, own), tcp_peer._asked(own, peer)]
        assert [one.uid for one in holders if one is not None] == [UID, os.geteuid()]
        assert tcp_peer._looked_up(peer, (own[0], own[1] ^ 1)) is None


def test_who_closed_the_connection_is_nobody() -> None:
    """The kernel names user 0 for such an end, which is not an answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        accepted, peer = listener.accept()
        with accepted:
            own = accepted.getsockname()
            assert tcp_peer.uid_of(peer, own) == os.geteuid()
            client.close()
            assert [("0", 0)] == [(one.inode, one.uid) for one in _ends_between(peer, own)]
            assert tcp_peer.uid_of(peer, own) is None


def _ends_between(local: tcp_peer.Address, remote: tcp_peer.Address) -> list[tcp_peer.TcpEnd]:
    """Return what the table has of one connection; others may have the same local port."""
    named = (tcp_peer._written(local)[0], tcp_peer._written(remote)[0])
    return [one for one in tcp_peer.ends() if (one.local, one.remote) == named]


def test_many_connections_of_others_cost_nothing() -> None:
    """Any user may leave thousands of closed connections in the kernel's table."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        accepted, peer = listener.accept()
        with accepted:
            # On a busy machine the kernel takes some of their ports again (tcp_tw_reuse).
            for _ in range(20):
                if len(list(tcp_peer.ends())) > 4_000:
                    break
                for _ in range(1_000):
                    socket.create_connection(listener.getsockname()).close()
                    listener.accept()[0].close()
            assert len(list(tcp_peer.ends())) > 4_000  # the control
            table = _seconds(lambda: list(tcp_peer.ends()))
            assert _seconds(lambda: tcp_peer.uid_of(peer, accepted.getsockname())) < table / 20


def _seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes, the best of five."""

    def once() -> float:
        began = time.perf_counter()
        call()
        return time.perf_counter() - began

    return min(once() for _ in range(5))


def test_a_listener_on_the_peers_port_is_not_the_peer() -> None:
    """The kernel falls back on the listener, to which no one is connected."""
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        assert tcp_peer.uid_of(one.getsockname(), two.getsockname()) is None
        named = _ends_between(one.getsockname(), ("0.0.0.0", 0))
        assert [end.uid for end in named] == [os.geteuid()]  # the control


_MASKED = """
import os, socket, sys
from core.runner import tcp_peer
own, peer = socket.socket(fileno=int(sys.argv[1])), None
print(tcp_peer.uid_of(own.getpeername(), own.getsockname()))
"""


@pytest.mark.parametrize("mapped", [False, True], ids=["masked", "the control"])
def test_users_without_a_number_here_are_nobody(*, mapped: bool) -> None:
    """In a user namespace the kernel shows all of them as one (user_namespaces(7))."""
    uid = os.geteuid() if mapped else UID
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        connected_as(uid, "127.0.0.1", listener) as ours,
    ):
        words = ("unshare", "--user", "--map-root-user", sys.executable, "-c", _MASKED)
        ran = subprocess.run(
            (*words, str(ours.fileno())),
            pass_fds=(ours.fileno(),),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    assert ran.stdout.strip() == ("0" if mapped else "None")


@pytest.mark.parametrize(
    ("files", "masked"),
    [
        ({"overflowuid": "65534\n", "uid_map": "0 0 4294967295\n"}, False),
        ({"overflowuid": "65534\n", "uid_map": "0 1000 1\n1 100000 65536\n"}, False),
        ({"overflowuid": "65534\n", "uid_map": "0 1000 1\n1 100000 65533\n"}, True),
        ({"overflowuid": "99\n", "uid_map": "0 1000 1\n"}, False),
        ({"overflowuid": "65534\n"}, False),
        ({}, False),
    ],
)
def test_the_number_of_all_users_without_one_is_nobodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], *, masked: bool
) -> None:
    """If the namespace has no such user of its own; a kernel without namespaces masks nobody."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    def at_test(path: str, **options: str) -> IO[str]:
        return (tmp_path / Path(path).name).open(**options)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(tcp_peer, "open", at_test, raising=False)

    assert tcp_peer._is_masked.__wrapped__(65534) is masked
