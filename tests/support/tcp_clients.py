"""Connect to a port of this machine as another Unix user."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from bot.executor_setup.archive import interpreter

_CONNECT = (
    "import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); "
    "print(s.getsockname()[1], flush=True); sys.stdin.read()"
)


@contextmanager
def connected_as(uid: int, host: str, listener: socket.socket) -> Iterator[socket.socket]:
    """Have a process of this user connect to an address; yield our end."""
    words = (interpreter(), "-I", "-S", "-c", _CONNECT, host, str(listener.getsockname()[1]))
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=uid, text=True
    ) as started:
        accepted, _ = listener.accept()
        with accepted:
            assert started.stdout is not None
            assert int(started.stdout.readline()) == accepted.getpeername()[1]
            yield accepted
        started.communicate()
