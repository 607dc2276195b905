"""Serve HTTP on a port of this machine, from threads, for programs that ask a model."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Quiet(BaseHTTPRequestHandler):
    """A handler that reads bodies and logs nothing."""

    def body(self) -> bytes:
        """Read the request's body."""
        return self.rfile.read(int(self.headers["content-length"]))

    def asked(self) -> dict[str, str]:
        """Return the request's headers by lower-case name, and its path."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        return {**headers, "path": self.path}

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its base names it
        """Log nothing."""


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve until the block ends; yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
