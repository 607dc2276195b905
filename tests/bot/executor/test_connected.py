"""Find whose process connected, by the kernel's own tables."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.executor import connected
from bot.executor_setup.archive import interpreter
from tests.support.executors import UID

HOST, OTHER = "127.0.0.1", "127.0.0.2"
CONNECT = (
    "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); "
    "print(s.getsockname()[1], flush=True); sys.stdin.read()"
)
ORPHANED = (
    "import os, time\nfirst = os.getpid()\nif os.fork():\n os._exit(0)\nos.setsid()\n"
    f"while os.getppid() == first:\n time.sleep(0.01)\n{CONNECT}"
)
"""It connects when its parent has ended, not a moment before."""
MAPPED = CONNECT.replace("'127.0.0.1'", "'::ffff:127.0.0.1'")


@contextmanager
def connecting(code: str, to: int, uid: int | None = None) -> Iterator[int]:
    """Have another process connect; yield its port."""
    started = subprocess.Popen(
        [interpreter(), "-I", "-S", "-c", code, str(to)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        user=uid,
    )
    assert started.stdout is not None
    try:
        yield int(started.stdout.readline())
    finally:
        started.communicate()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Yield a socket to connect to."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


@pytest.mark.parametrize(
    ("code", "uid", "expected"),
    [
        pytest.param(CONNECT, None, True, id="the control: a child"),
        pytest.param(MAPPED, None, True, id="the control: a child over IPv6"),
        pytest.param(ORPHANED, None, False, id="a process of this user that is no child"),
        pytest.param(CONNECT, UID, False, id="another user's"),
    ],
)
def test_only_the_own_family_is_let_in(
    listener: socket.socket, code: str, uid: int | None, expected: bool
) -> None:
    """Neither another user's process nor one that something else has started is believed."""
    own = listener.getsockname()
    with connecting(code, own[1], uid) as port:
        assert connected.by_descendant((HOST, port), own) is expected


def test_the_port_of_the_own_familys_connection_lets_nobody_in(listener: socket.socket) -> None:
    """Another user takes it on another loopback address; both then have the same port."""
    own = listener.getsockname()
    with connecting(CONNECT, own[1]) as port:
        from_there = CONNECT.replace(
            "int(sys.argv[1]))", f"int(sys.argv[1])), None, ({OTHER!r}, {port})"
        )
        with connecting(from_there, own[1], UID) as same:
            assert same == port
            assert connected.by_descendant((HOST, port), own)
            assert not connected.by_descendant((OTHER, port), own)


def test_a_connection_that_is_gone_is_nobodys(listener: socket.socket) -> None:
    """Nor is a port that never was one."""
    own = listener.getsockname()
    with socket.create_connection(own) as client:
        peer = client.getsockname()
        assert connected.by_descendant(peer, own)
        assert not connected.by_descendant(peer, (HOST, own[1] + 1))
    assert not connected.by_descendant((HOST, 0), own)
