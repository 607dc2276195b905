"""Talk with the gateway; when it is gone, all that runs here ends too."""

import json
import os
import socket
from typing import NoReturn

from core.files.file_identity import FileIdentity
from core.runner.supervisor import protocol
from core.runner.supervisor.processes import reaper


class Post:
    """The supervisor's end of its socket; the end of the stream means that the gateway died."""

    __slots__ = ("_sock", "fd")

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.fd = sock.fileno()

    def job(self) -> tuple[protocol.Job, list[int]] | None:
        """Wait for a job and its descriptors; ``None`` when no more will come.

        A gateway that was killed with a report unread breaks the stream (ECONNRESET) instead of
        ending it.
        """
        try:
            return protocol.receive_job(self._sock)
        except OSError:
            return None

    def word(self) -> tuple[bytes, list[int]]:
        """Take one message that was sent while a run lasts, and the descriptors with it."""
        try:
            said, fds = protocol.receive(self._sock, 1)
        except OSError:
            _end_all()
        if not said:
            _end_all()
        return said, fds

    def text(self) -> str:
        """Take the text that follows a word; the gateway sends both at once."""
        try:
            return protocol.receive_text(self._sock)
        except (OSError, ValueError):
            _end_all()

    def renewed(self) -> dict[str, FileIdentity]:
        """Take the identities that follow a GO."""
        found: dict[str, FileIdentity] = json.loads(self.text())
        return found

    def send(self, report: protocol.Report) -> None:
        """Send a report."""
        try:
            self._sock.sendall(protocol.encode(report))
        except OSError:
            _end_all()


def _end_all() -> NoReturn:
    """End what runs: no gateway is left to run it for."""
    reaper.kill_all(set())
    os._exit(1)
