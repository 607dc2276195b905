"""Find the gateway running on a home, so that a second one can name it."""

import os
import socket
import struct
import time

from bot.cli.listings import moment

_LEFT_S, _LOOK_S = 5.0, 0.02
_PATIENCE_S = 2.0


def refuse_second(home: str) -> None:
    """Refuse to start a gateway while another one listens in this home.

    One that starts at the same moment is refused by the lock of the journal.

    Raises:
        AnotherGateway: one is running; the message has its pid, start, socket, and what to do.
    """
    path = f"{home}/gateway.sock"
    pid = listener(path)
    patience = time.monotonic() + _LEFT_S
    while pid and not _lives(pid) and time.monotonic() < patience:
        time.sleep(_LOOK_S)
        pid = listener(path)
    if pid is None:
        return
    from core.errors import AnotherGateway  # noqa: PLC0415 - for this case only

    since = moment(round(os.stat(path).st_mtime * 1000))  # noqa: PTH116 - see bot.cli.paths
    raise AnotherGateway(
        f"A gateway is already running on {home}: pid {pid}, since {since}, socket {path}. Use it "
        f"(`sayso status`), stop it with `kill {pid}`, or set SAYSO_HOME to run another one beside "
        "it."
    )


def _lives(pid: int) -> bool:
    """Return whether a process is alive.

    If one was killed while starting a program, the child that was not yet that program still
    listens.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def listener(path: str) -> int | None:
    """Return the pid of the process that listens on a socket, ``None`` if none does.

    It does not have to answer: the kernel knows it (SO_PEERCRED, unix(7)).
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_PATIENCE_S)
        try:
            connection.connect(path)
            found = connection.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
            )
        except OSError:
            return None
    pid, _, _ = struct.unpack("3i", found)
    return int(pid)
