"""Forward an agent's requests to its model with the API key, which the agent never has.

The agent sends its requests to a port on 127.0.0.1 with a token of this run in place of the key.
The key is fetched from the gateway for each request, inserted, and forgotten.
"""

import hmac
import http.client
import secrets
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from bot.executor import connected

_HOST = "127.0.0.1"
_LONGEST_BODY = 64 * 1024 * 1024
_PATIENCE_S = 600.0
_CHUNK = 64 * 1024
_STRUCK = "*"
_KEYS = ("authorization", "x-api-key", "x-goog-api-key")
_OF_ONE_HOP = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer")
) | {"transfer-encoding", "upgrade", "host", "content-length", "expect", "accept-encoding"}


class NoKey(Exception):
    """The gateway gives no key; the message says why."""


class Upstream(NamedTuple):
    """Where a model is, and the header for its key, after ``prefix``."""

    url: str
    header: str
    prefix: str


class _Server(ThreadingHTTPServer):
    """Serves descendants of this process; other processes of this machine are rejected."""

    daemon_threads = True

    def verify_request(self, _request: object, client_address: object) -> bool:
        """Return whether the process that connected is one of the agent's."""
        if not isinstance(client_address, tuple):
            return False
        peer = (str(client_address[0]), int(client_address[1]))
        return connected.by_descendant(peer, (_HOST, self.server_port))

    def handle_error(self, _request: object, _client_address: object) -> None:
        """Report nothing: a disconnected peer is not an error, and this output is never read."""


class ModelProxy:
    """A server of one run's requests; it ends with this process."""

    def __init__(self, upstream: Upstream, fetch_key: Callable[[], str]) -> None:
        """Listen.

        Raises:
            OSError: no port is free.
        """
        self.token = secrets.token_urlsafe(32)
        expected = self.token

        class Handler(_Handler):
            token = expected
            to = upstream
            key = staticmethod(fetch_key)

        self._server = _Server((_HOST, 0), Handler)
        self.url = f"http://{_HOST}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _PATIENCE_S
    token = ""
    to = Upstream("", "", "")
    key: Callable[[], str]

    def do_GET(self) -> None:
        self._forward()

    def do_POST(self) -> None:
        self._forward()

    def do_HEAD(self) -> None:
        self._forward()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Log nothing: requests contain what people and agents say."""

    def _forward(self) -> None:
        self.close_connection = True
        if not self._is_ours():
            self._refuse(401, "this proxy serves one agent only")
            return
        body = self._body()
        if body is None:
            return
        try:
            self._send_on(body)
        except NoKey as failure:
            self._refuse(503, f"no API key: {failure}")
        except ValueError:
            self._refuse(400, "a header of the request cannot be sent on")
        except (OSError, http.client.HTTPException) as failure:
            self._refuse(502, f"the model cannot be reached: {type(failure).__name__}")

    def _is_ours(self) -> bool:
        """Check for the run's token, because every user of this machine can reach the port."""
        given = [self.headers.get(name, "").removeprefix("Bearer ") for name in _KEYS]
        return any(hmac.compare_digest(one.encode(), self.token.encode()) for one in given)

    def _body(self) -> bytes | None:
        length = self.headers.get("content-length", "0")
        if "transfer-encoding" in self.headers or not length.isdecimal():
            self._refuse(411, "a request needs a Content-Length")
            return None
        if int(length) > _LONGEST_BODY:
            self._refuse(413, f"a request is {_LONGEST_BODY} bytes at most")
            return None
        return self.rfile.read(int(length))

    def _send_on(self, body: bytes) -> None:
        to = urllib.parse.urlsplit(self.to.url)
        kind = http.client.HTTPSConnection if to.scheme == "https" else http.client.HTTPConnection
        connection = kind(to.hostname or "", to.port, timeout=_PATIENCE_S)
        headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in _OF_ONE_HOP and name.lower() not in _KEYS
        }
        headers["Accept-Encoding"] = "identity"
        key = self.key()
        headers[self.to.header] = self.to.prefix + key
        try:
            connection.request(self.command, to.path.rstrip("/") + self.path, body, headers)
            del headers
            self._pass_back(connection.getresponse(), key)
        finally:
            connection.close()

    def _pass_back(self, answer: http.client.HTTPResponse, key: str) -> None:
        """Pass the response back as it comes; a key that it repeats is removed."""
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _OF_ONE_HOP:
                self.send_header(name, value.replace(key, _STRUCK * len(key)))
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for piece in without(key.encode(), iter(lambda: answer.read1(_CHUNK), b"")):
                self.wfile.write(piece)
        except (OSError, http.client.HTTPException):
            return  # the head is sent: ending the body early is the only way left to report it

    def _refuse(self, status: int, words: str) -> None:
        body = words.encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            return


def without(key: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a stream with each occurrence of the key removed, however it is chunked.

    Only bytes that may begin an occurrence are held back.
    """
    struck, held = _STRUCK.encode() * len(key), b""
    for piece in pieces:
        text = (held + piece).replace(key, struck)
        keep = next(n for n in range(min(len(key) - 1, len(text)), -1, -1) if _ends(text, key[:n]))
        held = text[len(text) - keep :]
        yield text[: len(text) - keep]
    yield held


def _ends(text: bytes, beginning: bytes) -> bool:
    return text.endswith(beginning)
