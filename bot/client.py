"""Call the gateway over its socket, blocking; designed to start fast.

``sayso run`` precedes every command of an agent, so this module imports only built-in parts:
``_socket`` and ``_json`` are what ``socket`` and ``json`` wrap, without the 12 ms that ``enum``,
``selectors`` and ``re`` take to import. Errors are imported only when one occurs.
"""

import _json
import _socket
import os
import sys
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any, NoReturn, Self

_CHUNK = 1 << 16
_LARGEST = 16 << 20


class _Reading:
    """The attributes that the C scanner reads from its Python half (json.decoder.JSONDecoder)."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


_scan = _json.make_scanner(_Reading())  # type: ignore[arg-type]  # typed for JSONDecoder alone


def _refuse(value: object) -> "NoReturn":
    raise TypeError(f"{type(value).__name__} is not JSON")


_encode = _json.make_encoder(
    None, _refuse, _json.encode_basestring_ascii, None, ":", ",", False, False, False
)


class Client:
    """A connection to the gateway, opened by the first call. Not thread-safe.

    ``sent`` is the method of the last request if all of it was sent, so that the gateway may have
    acted on it; empty before that. The gateway ignores a request that was cut off.
    """

    def __init__(self, path: str) -> None:
        self.sent = ""
        self._path = path
        self._socket: _socket.socket | None = None
        self._buffer = bytearray()
        self._id = 0

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the gateway cancels what was still waited for."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._buffer.clear()

    def call(
        self, method: str, params: "Mapping[str, object]", timeout: "float | None" = None
    ) -> "dict[str, Any]":
        """Call a method and return its result; ``timeout`` is in seconds, ``None`` waits forever.

        Raises:
            GatewayUnreachable: no gateway listens, or not all of the request could be sent.
            Unanswered: it was sent, and no answer came, or not in time.
            SaysoError: the error that the gateway returned, with its type if that is known here.
        """
        line = self._request(method, params)
        deadline = None if timeout is None else monotonic() + timeout
        try:
            answer = self._exchange(method, line, deadline)
        except OSError as error:
            self.lost(error)
        except BaseException:
            # The request is still under way on this connection; its answer must not be taken for
            # the answer to the next one.
            self.close()
            raise
        return self.result(answer)

    def begin(self, method: str, params: "Mapping[str, object]") -> int:
        """Send a request and return its id; its answer is one of the `frames` to come.

        Raises:
            OSError: the gateway does not listen.
        """
        line = self._request(method, params)
        connection = self._connected(None)
        connection.settimeout(None)
        # A gateway that refuses to serve sends the reason, which `frames` reads, and closes at
        # once.
        try:
            connection.sendall(line)
            self.sent = method
        except (BrokenPipeError, ConnectionResetError):
            pass
        return self._id

    def frames(self) -> "list[dict[str, Any]]":
        """Wait for input and return it: answers and notifications, in order.

        Raises:
            OSError: the gateway closed the connection, or does not speak JSON-RPC.
        """
        if self._socket is None:
            raise ConnectionResetError("connection closed")
        chunk = self._socket.recv(_CHUNK)
        if not chunk:
            raise ConnectionResetError("connection closed")
        buffer, known = self._buffer, len(self._buffer)
        buffer += chunk
        end = buffer.rfind(b"\n", known)
        if end < 0:
            if len(buffer) > _LARGEST:
                raise OSError("the response is larger than 16 MiB")
            return []
        lines = bytes(buffer[:end]).split(b"\n")
        del buffer[: end + 1]
        return [_object(line) for line in lines]

    def fileno(self) -> int:
        """Return the connection's descriptor, to wait for `frames` among others; -1 without one."""
        return -1 if self._socket is None else self._socket.fileno()

    def result(self, answer: "dict[str, Any]") -> "dict[str, Any]":
        """Return the result in an answer.

        Raises:
            SaysoError: the error that the gateway returned, with its type if that is known here.
        """
        if "result" not in answer:
            from bot.client_errors import refused  # noqa: PLC0415 - needed on failure only

            if answer.get("id") is None:
                self.close()
            raise refused(self._path, answer["error"], self.sent)
        result: dict[str, Any] = answer["result"]
        return result

    def lost(self, error: OSError, sent: "str | None" = None) -> "NoReturn":
        """Close the connection, and raise the error that there is no answer.

        ``sent`` is the method that the gateway may have acted on, ``None`` for the last one.

        Raises:
            GatewayUnreachable: nothing was sent.
            Unanswered: it was.
        """
        from bot import client_errors  # noqa: PLC0415 - needed on failure only

        self.close()
        sent = self.sent if sent is None else sent
        if sent:
            raise client_errors.unanswered(self._path, error, sent) from None
        raise client_errors.unreachable(self._path, error) from None

    def _request(self, method: str, params: "Mapping[str, object]") -> bytes:
        self._id += 1
        self.sent = ""
        frame = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        return "".join(_encode(frame, 0)).encode("ascii") + b"\n"

    def _exchange(self, method: str, line: bytes, deadline: "float | None") -> "dict[str, Any]":
        connection = self._connected(deadline)
        _arm(connection, deadline)
        hung_up: OSError | None = None
        try:
            connection.sendall(line)
            self.sent = method
        except (BrokenPipeError, ConnectionResetError) as error:
            hung_up = error  # perhaps with a reason that has yet to be read
        answer = _parsed(self._line(connection, deadline))
        # A frame without an id says why the gateway closes the connection.
        if answer.get("id") not in (self._id, None):
            raise hung_up or OSError("the response id does not match the request")
        return answer

    def _connected(self, deadline: "float | None") -> "_socket.socket":
        if self._socket is None:
            connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            self._socket = connection
            _connect(connection, self._path, deadline)
            self._check_owner(connection)
        return self._socket

    def _check_owner(self, connection: "_socket.socket") -> None:
        """Refuse a socket that another user put there (SO_PEERCRED: pid, uid, gid).

        A gateway of another user shares its socket in a folder that only that user owns.
        """
        credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        uid = int.from_bytes(credentials[4:8], sys.byteorder)
        if uid == os.getuid():
            return
        folder = os.stat(self._path.rpartition("/")[0] or "/")  # noqa: PTH116 - pathlib costs 3 ms
        if folder.st_uid != uid or folder.st_mode & 0o022:
            raise PermissionError(f"uid {uid} is listening there, not uid {os.getuid()}")

    def _line(self, connection: "_socket.socket", deadline: "float | None") -> bytes:
        buffer = self._buffer
        end = buffer.find(b"\n")
        while end < 0:
            if len(buffer) > _LARGEST:
                raise OSError("the response is larger than 16 MiB")
            _arm(connection, deadline)
            chunk = connection.recv(_CHUNK)
            if not chunk:
                raise ConnectionResetError("connection closed")
            end = chunk.find(b"\n")
            end = len(buffer) + end if end >= 0 else -1
            buffer += chunk
        line = bytes(buffer[:end])
        del buffer[: end + 1]
        return line


def _connect(connection: "_socket.socket", path: str, deadline: "float | None") -> None:
    """Connect, and wait if very many do: a non-blocking socket would be turned away."""
    while True:
        if deadline is not None:
            left = max(0.001, deadline - monotonic())
            seconds, rest = int(left), int(left % 1 * 1_000_000)
            patience = b"".join(one.to_bytes(8, sys.byteorder) for one in (seconds, rest))
            connection.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDTIMEO, patience)
        try:
            connection.connect(path)
        except BlockingIOError:
            raise TimeoutError from None
        if _is_connected(connection):
            return


def _is_connected(connection: "_socket.socket") -> bool:
    """Return whether it is connected: Python takes a wait interrupted by a signal for its end."""
    try:
        connection.getpeername()
    except OSError:  # ENOTCONN
        return False
    return True


def _arm(connection: "_socket.socket", deadline: "float | None") -> None:
    if deadline is None:
        connection.settimeout(None)
        return
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    connection.settimeout(left)


def _parsed(line: bytes) -> "dict[str, Any]":
    answer = _object(line)
    if "method" in answer:
        raise OSError("the response is not a JSON-RPC frame")
    return answer


def _object(line: bytes) -> "dict[str, Any]":
    try:
        frame = _scan(line.decode(), 0)[0]
    except (ValueError, StopIteration, RecursionError):
        frame = None
    if not isinstance(frame, dict) or frame.keys().isdisjoint(("result", "error", "method")):
        raise OSError("the response is not a JSON-RPC frame")
    return frame
