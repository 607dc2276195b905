"""Play a gateway that says to a command what a test tells it to."""

import json
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

FINISHED: dict[str, Any] = {
    "status": "finished",
    "id": "r1",
    "exitCode": 0,
    "signal": None,
    "timedOut": False,
    "cancelled": False,
    "how": "finished after 1.2 s, code 0",
    "output": "",
    "truncated": False,
    "totalBytes": 0,
}


class Scripted:
    """A server that plays a gateway: says what it is told to, connection by connection."""

    def __init__(self, folder: Path, *scripts: list[Any]) -> None:
        self.path = str(folder / "gateway.sock")
        self.asked: list[dict[str, Any]] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen(1)
        self._thread = threading.Thread(target=self._serve, args=(scripts,))
        self._thread.start()

    def _serve(self, scripts: tuple[list[Any], ...]) -> None:
        for script in scripts:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # the client left
            with connection, connection.makefile("rb") as lines, suppress(ConnectionError):
                self.asked.append(json.loads(lines.readline()))
                for frame in script:
                    frame.setdefault("jsonrpc", "2.0")
                    if frame.get("id") == "main":
                        frame["id"] = self.asked[-1]["id"]
                    connection.sendall(json.dumps(frame).encode() + b"\n")

    def leave(self) -> None:
        """End it before everything was said."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self.close()

    def close(self) -> None:
        """End it."""
        self._thread.join(10)
        self._listener.close()
