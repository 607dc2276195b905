"""Write to one WebSocket for as long as somebody is at its other end."""

from dataclasses import dataclass

from starlette.types import Send


@dataclass(slots=True)
class Line:
    """What goes out; nothing does once the other end is gone or was cut off."""

    send: Send
    closed: bool = False

    async def write(self, frame: bytes) -> None:
        """Send one frame."""
        await self._send({"type": "websocket.send", "text": frame.decode().rstrip("\n")})

    async def close(self, code: int, reason: str) -> None:
        """Say why, and end it."""
        await self._send({"type": "websocket.close", "code": code, "reason": reason})
        self.closed = True

    async def _send(self, message: dict[str, object]) -> None:
        if self.closed:
            return
        try:
            await self.send(message)
        except (OSError, RuntimeError):  # uvicorn: gone, or its own close was sent already
            self.closed = True
