"""Listen on a Unix socket for known users only (S0 "Socket auth", S1 "Security notes").

The owner's socket is 0600 in a folder of 0700. A shared one can be reached by every user, and only
those that are listed are served. On both the kernel says who connects (SO_PEERCRED). A lock file
next to the socket says whether a gateway lives; a socket without one that answers is left over and
replaced.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import socket
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import AnotherGateway, StateError
from core.ipc.connection_slots import Places
from core.ipc.errors import Code
from core.ipc.fair_turns import FairTurns
from core.ipc.frames import error_frame
from core.ipc.jsonrpc import Connection, Handler, Limits
from core.ipc.peer import Peer, peer_of
from core.ipc.room import FREE, Room

__all__ = ["LONGEST_PATH", "Peer", "Server", "check_shared_folder", "listen"]

_LOG = logging.getLogger(__name__)
LONGEST_PATH = 107
"""Bytes of a socket's path (unix(7): sun_path has 108 with its NUL)."""
MAX_CONNECTIONS = 256
DEFAULT_GRACE_S = 5.0
_BACKLOG = 128
_ACCEPTED_AT_ONCE = 32
"""A request that has come is read before as many newcomers as may wait were accepted behind it."""
_LINGER_S = 0.5
_MOST_DISMISSED = 64
"""Refused connections that are waited for at a time; more are closed at once."""


@dataclass(slots=True)
class Server:
    """A listening socket and its connections; made by ``listen``."""

    path: Path
    methods: Mapping[str, Handler]
    uids: frozenset[int]
    shared: bool
    limits: Limits
    places: Places
    own: bool
    lock: int
    room: Room
    turns: FairTurns | None
    _connections: dict[Connection, asyncio.Task[None]] = field(default_factory=dict)
    _hurrying: dict[Connection, asyncio.TimerHandle] = field(default_factory=dict)
    _dismissed: int = 0
    _listener: asyncio.Server | None = None
    _inode: int = 0

    async def start(self) -> None:
        """Bind and listen; ``listen`` calls this."""
        bound = _bound(self.path, 0o666 if self.shared else 0o600)
        self._inode = self.path.stat().st_ino
        self._listener = await asyncio.start_unix_server(
            self._accept, sock=bound, limit=FREE, backlog=_ACCEPTED_AT_ONCE
        )
        bound.listen(_BACKLOG)  # asyncio has one number for both

    def stop_taking(self) -> None:
        """Take no connection and no request any more; those in flight are answered yet."""
        if self._listener is not None:
            self._listener.close()
        self._unlink()
        for connection in self._connections:
            connection.stop_reading()

    async def close(self, grace_s: float = DEFAULT_GRACE_S) -> None:
        """Stop accepting, give requests in flight ``grace_s`` seconds, then cancel them."""
        self.stop_taking()
        tasks = tuple(self._connections.values())
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1

    def _unlink(self) -> None:
        # Only our own: after a forced start the path may belong to a successor.
        with contextlib.suppress(FileNotFoundError):
            if self.path.stat().st_ino == self._inode:
                self.path.unlink()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            peer = peer_of(writer.get_extra_info("socket"))
        except OSError:
            writer.transport.abort()
            return
        refusal = self._refusal(peer)
        if refusal is not None:
            writer.write(error_frame(None, *refusal))
            await self._dismiss(reader, writer)
            return
        known = self.own and peer.pid == os.getpid()
        admission = None if known else self.places.refusal
        connection = Connection(
            reader, writer, self.methods, peer, self.limits, admission, self.room, self.turns
        )
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # asyncio runs a coroutine callback as a task
        self._connections[connection] = task
        try:
            if not known:
                self.places.arrive(connection)
                self._hurry(connection)
            await connection.serve()
        except asyncio.CancelledError:
            return  # by `close`; before Python 3.12 the library would log it as a failure
        except Exception:  # noqa: BLE001  # one connection's bug must not end the others
            _LOG.exception("the connection of pid %d failed", peer.pid)
        finally:
            del self._connections[connection]
            self.places.leave(connection)
            later = self._hurrying.pop(connection, None)
            if later is not None:
                later.cancel()  # it would hold all that the connection has read

    def _hurry(self, connection: Connection) -> None:
        """Close a connection that has no place and asks for nothing; look again later."""
        if connection not in self._connections or not self.places.waits(connection):
            return
        first_s = self.limits.first_s
        if connection.in_flight or time.monotonic() - connection.used_s < first_s:
            later = asyncio.get_running_loop().call_later(first_s, self._hurry, connection)
            self._hurrying[connection] = later
        else:
            connection.dismiss(f"no request came within {first_s:.0f} s")

    async def _dismiss(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Close a refused connection so that its peer can read why, whatever it sends meanwhile.

        A socket that is closed with bytes unread loses what was written to it (ECONNRESET).
        """
        if self._dismissed < _MOST_DISMISSED:
            self._dismissed += 1
            try:
                with contextlib.suppress(OSError, TimeoutError):
                    writer.write_eof()
                    async with asyncio.timeout(_LINGER_S):
                        while await reader.read(1 << 16):
                            pass
            finally:
                self._dismissed -= 1
        writer.close()

    def _refusal(self, peer: Peer) -> tuple[Code, str] | None:
        if peer.uid not in self.uids:
            words = f"this socket belongs to uid {min(self.uids)}; uid {peer.uid} may not use it"
            if self.shared:
                words = f"uid {peer.uid} is not listed in intake.unix; ask the gateway's owner"
            return Code.FORBIDDEN, words
        return None


async def listen(
    path: Path,
    methods: Mapping[str, Handler],
    *,
    limits: Limits | None = None,
    max_connections: int = MAX_CONNECTIONS,
    urgent: frozenset[str] = frozenset(),
    uids: frozenset[int] | None = None,
    shared: bool = False,
    own: bool = False,
) -> Server:
    """Listen on ``path`` for processes of ``uids`` (default: our own); ``shared``: all can connect.

    Methods in ``urgent`` are served when all places are taken, too: they may not wait for anybody.
    ``own``: what this process itself asks needs no place.

    Raises:
        StateError: the path is too long, or its folder or the socket cannot be used.
        AnotherGateway: a live process listens there.
    """
    _check_path(path, shared=shared)
    lock = _locked(path)
    served = frozenset({os.getuid()}) if uids is None else uids
    places = Places(max_connections, urgent, len(served) if shared else 0)
    room, turns = Room(shared=shared), FairTurns() if shared else None
    server = Server(
        path, methods, served, shared, limits or Limits(), places, own, lock, room, turns
    )
    try:
        await server.start()
    except OSError as error:
        os.close(lock)
        raise StateError(
            f"{path} cannot be created: {error.strerror}. Check the folder's permissions."
        ) from error
    except BaseException:
        os.close(lock)
        raise
    return server


def _check_path(path: Path, *, shared: bool) -> None:
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise StateError(
            f"{path} has {len(os.fsencode(path))} bytes; a socket's path has {LONGEST_PATH} at "
            f"most. Set SAYSO_HOME to a shorter path."
        )
    if shared:
        check_shared_folder(path.parent)
    else:
        _check_folder(path.parent)


def _check_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise StateError(f"{folder} cannot be made: {error.strerror}.") from error
    if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise StateError(
            f"{folder} must belong to uid {os.getuid()} with mode 0700; it has uid "
            f"{status.st_uid} and mode {stat.S_IMODE(status.st_mode):04o}. "
            f"If it is yours, run: chmod 700 '{folder}'"
        )


def check_shared_folder(folder: Path) -> None:
    """Refuse a folder in which others could put a socket of their own in this one's place.

    Raises:
        StateError: it is missing and cannot be created, or others may write to it.
    """
    how = f"Run: sudo install -d -o {os.getuid()} -m 755 '{folder}'"
    try:
        folder.mkdir(mode=0o755, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise StateError(f"{folder} cannot be created: {error.strerror}. {how}") from error
    if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o022:
        raise StateError(
            f"{folder} must belong to uid {os.getuid()} and be writable by nobody else; it has uid "
            f"{status.st_uid} and mode {stat.S_IMODE(status.st_mode):04o}. {how}"
        )


def _locked(path: Path) -> int:
    name = path.with_name(path.name + ".lock")
    try:
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateError(f"{name} cannot be made: {error.strerror}.") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise _another(path) from None
    return lock


def _another(path: Path) -> AnotherGateway:
    return AnotherGateway(
        f"A gateway is already listening on {path}. Stop it, or use another home."
    )


def _bound(path: Path, mode: int) -> socket.socket:
    """Bind the socket and set its mode; until then its folder or its own mode keeps others out."""
    if _answers(path):
        raise _another(path)
    path.unlink(missing_ok=True)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bound.bind(os.fspath(path))
        path.chmod(mode)
    except BaseException:
        bound.close()
        raise
    return bound


def _answers(path: Path) -> bool:
    """Return whether somebody listens on ``path``.

    Raises:
        StateError: something other than a socket is there; it is not removed.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISSOCK(status.st_mode):
        raise StateError(f"{path} is not a socket. Move it away.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except TimeoutError:
            return True  # its backlog is full: it lives
    return True
