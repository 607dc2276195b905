"""Send gate proofs over REST and WebSocket, as a real client of the running server.

Only loaded where the API is served.
"""

import asyncio
import json
import ssl
from contextlib import suppress
from dataclasses import dataclass

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from bot.api.access.authentication import PROTOCOL
from bot.api.access.gate_proof_token import ProvingToken
from bot.api.http.server import Listening
from bot.api.websocket.connection import PATH
from bot.gate_proof.entry_points import ProofAnswer, params_of, read_answer
from bot.gate_proof.rpc import frame_of, result_of
from core.errors import SaysoError
from core.gate.guards.marks import Mark

_LARGEST_ANSWER = 1 << 20
_ROUTE = "/v1/requests"


@dataclass(frozen=True, slots=True)
class RestEntryPoint:
    """The entry point ``POST /v1/requests``."""

    listening: Listening
    token: ProvingToken
    name: str = "rest"

    async def submit(self, mark: Mark) -> ProofAnswer:
        """Connect, post, read to the end."""
        reader, writer = await asyncio.open_connection(
            self.listening.host, self.listening.port, ssl=_tls(self.listening)
        )
        try:
            writer.write(self._request(mark))
            await writer.drain()
            answer = await reader.read(_LARGEST_ANSWER)
            while chunk := await reader.read(_LARGEST_ANSWER):
                answer += chunk
            return read_answer(_body(answer))
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def _request(self, mark: Mark) -> bytes:
        params = params_of(mark)
        del params["wait"]  # a REST call never waits here
        body = json.dumps(params).encode()
        head = (
            f"POST {_ROUTE} HTTP/1.1",
            f"Host: {_place(self.listening)}",
            f"Authorization: Bearer {self.token.text}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "Connection: close",
            "\r\n",
        )
        return "\r\n".join(head).encode() + body


@dataclass(frozen=True, slots=True)
class WebSocketEntryPoint:
    """The entry point WebSocket."""

    listening: Listening
    token: ProvingToken
    name: str = "websocket"

    async def submit(self, mark: Mark) -> ProofAnswer:
        """Connect, ask, read one frame, disconnect."""
        scheme = "ws" if self.listening.scheme == "http" else "wss"
        try:
            async with connect(
                f"{scheme}://{_place(self.listening)}{PATH}",
                subprotocols=[Subprotocol(PROTOCOL)],
                additional_headers={"Authorization": f"Bearer {self.token.text}"},
                ssl=_tls(self.listening),
                proxy=None,
                max_size=_LARGEST_ANSWER,
            ) as line:
                await line.send(frame_of(mark).decode())
                return read_answer(result_of(await line.recv()))
        except WebSocketException as failure:
            raise SaysoError(f"the WebSocket was refused or closed: {failure}") from None


def _place(listening: Listening) -> str:
    return listening.url.partition("://")[2]


def _tls(listening: Listening) -> ssl.SSLContext | None:
    """Return the TLS settings for our own port; its certificate needs no verification."""
    if listening.scheme == "http":
        return None
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _body(answer: bytes) -> object:
    """Return the JSON of an answer.

    Raises:
        SaysoError: it is an error, or not one of our answers.
    """
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head.split(b"\r\n")[0].split(b" ")[1:2]
    try:
        found: object = json.loads(body)
    except ValueError:
        found = None
    if not status or not status[0].startswith(b"2") or found is None:
        raise SaysoError(f"it answered {b' '.join(status).decode('latin-1') or 'nothing'}")
    return found
