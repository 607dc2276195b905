"""Listen at ``--socket PATH`` for the one client that may connect, as S2 defines."""

import os
import socket
import stat
import struct

PATIENCE_S = 5.0
_CREDENTIALS = struct.Struct("iII")


class NoClient(Exception):
    """No client is served; the message says why."""


def accepted(path: str, patience_s: float = PATIENCE_S) -> socket.socket:
    """Return the connection of the first client, which must be the same user, or root.

    Raises:
        NoClient: the folder is open to others, the path cannot be used, or no one connected.
    """
    folder = os.path.dirname(path) or "."  # noqa: PTH120 - outside the import budget
    try:
        found = os.lstat(folder)
    except OSError as error:
        raise NoClient(f"{folder}: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise NoClient(f"{folder} must be a folder of this user's with mode 0700")
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(path)
            os.chmod(path, 0o600)  # noqa: PTH101 - outside the import budget
            listener.listen(1)
            listener.settimeout(patience_s)
            return _first(listener)
        except TimeoutError as error:
            raise NoClient(f"nobody connected within {patience_s * 1000:.0f} ms") from error
        except OSError as error:
            raise NoClient(f"{path}: {error.strerror}") from error
        finally:
            _remove(path)


def _first(listener: socket.socket) -> socket.socket:
    client, _ = listener.accept()
    client.settimeout(None)
    raw = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, _ = _CREDENTIALS.unpack(raw)
    if uid not in {0, os.geteuid()}:
        client.close()
        raise NoClient(f"user {uid} connected, and may not")
    return client


def _remove(path: str) -> None:
    try:
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            os.unlink(path)  # noqa: PTH108 - outside the import budget
    except OSError:
        return
