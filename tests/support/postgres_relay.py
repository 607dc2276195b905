"""Sit between a store and its PostgreSQL, and break a connection in the middle of a COMMIT.

It has a socket of its own beside the server's, and forwards each connection in a thread. What a
transaction wakes is in its last statement, which tells the transactions of questions from others.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

_CHUNK = 1 << 16
_SOCKET = ".s.PGSQL.5432"
_COMMIT = b"COMMIT;"


class Loss(StrEnum):
    """What becomes of the COMMIT, after which the connection ends."""

    ANSWER = "it takes effect, and its answer is lost"
    COMMIT = "it never arrives, so all is undone"
    LATE = "the connection ends first, and it takes effect ``late_s`` later"
    OUTAGE = "it never arrives, and neither does anything else while ``away``"


@dataclass(slots=True)
class PostgresRelay:
    """A way to a server; ``lose`` is what happens to one COMMIT: the next that wakes ``of``."""

    folder: Path
    server: str
    lose: Loss | None = None
    of: bytes = b"approval:"
    away: bool = False
    late_s: float = 1.0
    _links: set[socket.socket] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def url(self, url: str) -> str:
        """Return the URL of the same database through this relay."""
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query)) | {"host": str(self.folder)}
        return urlunsplit(parts._replace(query=urlencode(query)))

    def serve(self, listener: socket.socket) -> None:
        """Forward connections until the listener is closed."""
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                threading.Thread(target=self._forward, args=(near,), daemon=True).start()

    def _forward(self, near: socket.socket) -> None:
        with near, socket.socket(socket.AF_UNIX) as far:
            if self.away:
                return
            far.connect(self.server)
            self._links.add(near)
            answers = threading.Thread(target=self._answers, args=(near, far), daemon=True)
            answers.start()
            self._requests(near, far)
            answers.join()
            self._links.discard(near)

    def _answers(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while (chunk := far.recv(_CHUNK)) and near in self._links:
                near.sendall(chunk)
        if near in self._links:
            _end(near)

    def _requests(self, near: socket.socket, far: socket.socket) -> None:
        asked = False
        with contextlib.suppress(OSError):
            while chunk := near.recv(_CHUNK):
                asked |= b"|" + self.of in chunk
                if _COMMIT in chunk:
                    loss, asked = self._loss() if asked else None, False
                    if loss is not None:
                        self._break(loss, chunk, near, far)
                        return
                far.sendall(chunk)
        _end(far)

    def _loss(self) -> Loss | None:
        with self._lock:
            loss, self.lose = self.lose, None
            return loss

    def _break(self, loss: Loss, commit: bytes, near: socket.socket, far: socket.socket) -> None:
        self.away = loss is Loss.OUTAGE
        others = tuple(self._links) if self.away else ()
        self._links.discard(near)  # nothing more is answered
        if loss is Loss.LATE:
            _end(near)
            time.sleep(self.late_s)
        if loss in {Loss.ANSWER, Loss.LATE}:
            far.sendall(commit)
            time.sleep(0.3)
        for link in (near, far, *others):
            _end(link)


def _end(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def postgres_relay(url: str) -> Iterator[PostgresRelay]:
    """Listen beside the server of a URL for as long as the block lasts."""
    server = f"{dict(parse_qsl(urlsplit(url).query))['host']}/{_SOCKET}"
    folder = TemporaryDirectory(prefix="spr", dir="/tmp")  # short: a socket path has 107 bytes
    with folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder.name}/{_SOCKET}")
        listener.listen(64)
        relay = PostgresRelay(Path(folder.name), server)
        serving = threading.Thread(target=relay.serve, args=(listener,), daemon=True)
        serving.start()
        try:
            yield relay
        finally:
            _end(listener)
            serving.join()
