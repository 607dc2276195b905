"""Listen on a Unix socket for known users only (S0 "Socket auth", S1 "Security notes").

The owner's socket has mode 0600 in a folder of mode 0700. A shared one can be reached by every
user, and only those that are listed are served. On both, the kernel says who connects
(SO_PEERCRED).
"""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import StateError
from core.ipc.connection_slots import Places
from core.ipc.errors import Code
from core.ipc.fair_turns import FairTurns
from core.ipc.frames import error_frame
from core.ipc.jsonrpc import Connection, Handler, Limits
from core.ipc.peer import Peer, peer_of
from core.ipc.room import FREE, Room
from core.ipc.socket_file import bound, check_path, locked

_log = logging.getLogger(__name__)
MAX_CONNECTIONS = 256
DEFAULT_GRACE_S = 5.0
_BACKLOG = 128
_ACCEPTED_AT_ONCE = 32
"""A request that has arrived is read before more newcomers than this are accepted after it."""
_LINGER_S = 0.5
_MOST_DISMISSED = 64
"""Refused connections that are waited for at a time; more are closed at once."""


@dataclass(slots=True)
class Server:
    """A listening socket and its connections; created by ``listen``."""

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
        made = bound(self.path, 0o666 if self.shared else 0o600)
        self._inode = self.path.stat().st_ino
        self._listener = await asyncio.start_unix_server(
            self._accept, sock=made, limit=FREE, backlog=_ACCEPTED_AT_ONCE
        )
        made.listen(_BACKLOG)  # asyncio uses one number for both limits

    def stop_taking(self) -> None:
        """Accept no more connections and requests; those in flight are still answered."""
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
        # Only our own socket: after a forced start, the path may belong to a successor.
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
        assert task is not None  # noqa: S101 - asyncio runs a coroutine callback as a task
        self._connections[connection] = task
        try:
            if not known:
                self.places.arrive(connection)
                self._hurry(connection)
            await connection.serve()
        except asyncio.CancelledError:
            return  # by `close`; before Python 3.12 the library would log it as a failure
        except Exception:  # noqa: BLE001 - one connection's bug must not end the others
            _log.exception("the connection of pid %d failed", peer.pid)
        finally:
            del self._connections[connection]
            self.places.leave(connection)
            later = self._hurrying.pop(connection, None)
            if later is not None:
                later.cancel()  # it would keep in memory all that the connection has read

    def _hurry(self, connection: Connection) -> None:
        """Close a connection that has no place and asks for nothing; check again later."""
        if connection not in self._connections or not self.places.waits(connection):
            return
        first_s = self.limits.first_s
        if connection.in_flight or time.monotonic() - connection.used_s < first_s:
            later = asyncio.get_running_loop().call_later(first_s, self._hurry, connection)
            self._hurrying[connection] = later
        else:
            connection.dismiss(f"no request came within {first_s:.0f} s")

    async def _dismiss(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Close a refused connection so that its peer can read why, whatever it still sends.

        A socket that is closed with unread bytes loses what was written to it (ECONNRESET).
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

    Methods in ``urgent`` are served even when all places are taken; they never wait for a person.
    ``own``: what this process itself asks needs no place.

    Raises:
        StateError: the path is too long, or its folder or the socket cannot be used.
        AnotherGateway: a live process listens there.
    """
    check_path(path, shared=shared)
    lock = locked(path)
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
