"""Ask a companion as docs/reference/exec-approvals-socket.md says, without any product code.

This module is the proof that a gateway or a companion can be written from the page alone: it
imports the standard library only (a test holds it to that).
"""

import hashlib
import hmac
import json
import socket
import time
from pathlib import Path
from typing import Any

Frame = dict[str, Any]


def sign(token: str, *lines: str) -> str:
    """Return a signature over these lines."""
    message = "\n".join(("sayso-companion-1", *lines)).encode()
    return hmac.new(token.encode(), message, hashlib.sha256).hexdigest()


def request(token: str, nonce: str, ts: int, body: Frame | str) -> Frame:
    """Return a signed request."""
    text = body if isinstance(body, str) else json.dumps(body)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {
        "type": "request",
        "version": 1,
        "nonce": nonce,
        "ts": ts,
        "hmac": sign(token, "request", nonce, str(ts), digest),
        "requestJson": text,
    }


def now_ms() -> int:
    """Return the current epoch ms."""
    return time.time_ns() // 1_000_000


class PageClient:
    """One connection to a companion; ``seconds`` bound each wait."""

    def __init__(self, path: Path, token: str, seconds: float = 5.0) -> None:
        self.token = token
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(seconds)
        self.socket.connect(str(path))
        self._rest = b""
        self.nonce = ""

    def challenge(self) -> str:
        """Read the challenge and return its nonce."""
        found = self.read()
        assert found is not None
        assert found["type"] == "challenge"
        self.nonce = found["nonce"]
        return self.nonce

    def ask(self, body: Frame) -> Frame | None:
        """Answer the challenge with a question and return what the companion says."""
        self.send(request(self.token, self.challenge(), now_ms(), body))
        return self.read()

    def send(self, frame: Frame) -> None:
        """Send one frame."""
        self.raw(json.dumps(frame).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        """Send bytes."""
        self.socket.sendall(data)

    def read(self) -> Frame | None:
        """Return the next frame, ``None`` at the end."""
        while b"\n" not in self._rest:
            try:
                data = self.socket.recv(65_536)
            except (ConnectionResetError, BrokenPipeError):
                return None
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        found: Frame = json.loads(line)
        return found

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()
