"""Whose a TCP connection of this machine is, by the kernel's own table."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.executor_setup.archive import interpreter
from core.runner import tcp_peer
from tests.support.executors import UID

CONNECT = (
    "import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); "
    "print(s.getsockname()[1], flush=True); sys.stdin.read()"
)


@contextmanager
def connected_as(uid: int, host: str, listener: socket.socket) -> Iterator[socket.socket]:
    """Have a process of this user connect to an address; yield our end."""
    words = (interpreter(), "-I", "-S", "-c", CONNECT, host, str(listener.getsockname()[1]))
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=uid, text=True
    ) as started:
        accepted, _ = listener.accept()
        with accepted:
            assert started.stdout is not None
            assert int(started.stdout.readline()) == accepted.getpeername()[1]
            yield accepted
        started.communicate()


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
    """Over both families, and where one end's socket is of the other family."""
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


def test_who_closed_the_connection_is_nobody() -> None:
    """The kernel names user 0 for such an end, which is no answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        accepted, peer = listener.accept()
        with accepted:
            assert tcp_peer.uid_of(peer, accepted.getsockname()) == os.geteuid()
            client.close()
            named = [one for one in tcp_peer.ends() if one.local.endswith(f":{peer[1]:04X}")]
            assert [("0", 0)] == [(one.inode, one.uid) for one in named]
            assert tcp_peer.uid_of(peer, accepted.getsockname()) is None
