"""Frame messages between gateway and supervisor: 4-byte big-endian length, then JSON in UTF-8.

This module is within the supervisor's import budget.
"""

import array
import errno
import json
import socket
import struct
from typing import NotRequired, TypedDict

from core.files.file_identity import FileIdentity

LARGEST_FRAME = 8 * 1024 * 1024
"""Bytes: a job of 128 KiB with every byte escaped, or 220,000 characters of output, fit easily."""

HEADER = struct.Struct("!I")
CANCEL, TAIL, WATCH, GO, HALT = b"c", b"t", b"w", b"g", b"h"
"""The one-byte messages that the gateway sends while a run lasts.

Two descriptors go with WATCH. GO and HALT answer ``next``. After HALT comes why, as a frame; after
GO the identities of files that a command of the line has changed, though not their content: a JSON
object by path.
"""
SHELF_FDS = 2
"""Memory and bell of one stream (``core.runner.supervisor.output.shared_buffer``)."""
MOST_DESCRIPTORS = 200
"""Below the kernel's SCM_MAX_FD of 253."""


CHANGED = "`{}` changed after it was approved"
CLOSED = "`{}` cannot be read by the user that the command runs as"


_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def unseen(path: str, error: OSError) -> str:
    """Return why a file that could not be checked may not start.

    Raises:
        OSError: nothing is wrong with the file: no descriptor or memory was left to check it.
    """
    if error.errno in _EXHAUSTED:
        raise error
    return (CLOSED if error.errno == errno.EACCES else CHANGED).format(path)


class Pin(TypedDict):
    """A file that must still have this identity, and content, when its command starts.

    ``names`` are the absolute paths under which the command must find it as it was approved, for
    as long as it runs; none if no one could put anything else there.
    """

    path: str
    identity: FileIdentity
    sha256: str
    names: list[str]


INPUT, OUTPUT, ERROR, NULL = range(4)
"""What a descriptor of a command is made from: its place in the pipeline, or ``/dev/null``."""


class Stage(TypedDict):
    """One command: ``program`` is the index of its descriptor, or -1 to start it by ``path``.

    The first pin is the program: checked through its descriptor if it has one, since that is what
    runs. The others are checked by path, since that is how they will be opened. ``folder`` is the
    index of its working folder's descriptor, 0 for the job's own, and ``folder_path`` the name
    that must still lead there. ``streams`` says what descriptors 0, 1 and 2 are, in that order.
    ``inherit`` are the indexes of what it reads at 3, 4 and so on. ``env`` overrides the job's.
    ``late`` are the places of ``STATUS`` in ``argv``, in order, that get their digits when it
    starts: the index of the word and the offset in it. At the ``absent`` paths it must find
    nothing but what it makes there itself.
    """

    argv: list[str]
    late: list[tuple[int, int]]
    program: int
    path: str
    pins: list[Pin]
    absent: list[str]
    folder: int
    folder_path: str
    streams: list[int]
    inherit: list[int]
    env: dict[str, str]


class Private(TypedDict):
    """The folder that is a run's own, and how many bytes it may hold.

    ``spared`` are the folders on whose file systems the run must leave some room. ``holds``: an
    executor creates it, with this folder in it.
    """

    folder: str
    bytes: int
    spared: list[str]
    holds: NotRequired[str]


class Job(TypedDict):
    """All that a supervisor needs; descriptor 0 is the working folder. Times in ms.

    ``stdin`` is the index of what the commands read, 0 for ``/dev/null``. ``shelves`` are the
    indexes of memory and bell of standard output, then of standard error, or of both in one if the
    run is watched; empty if it is not.
    ``terminal`` gives the one command a terminal instead. ``processes`` is the most at a time.
    """

    stages: list[Stage]
    connectors: list[str]
    env: dict[str, str]
    limits: dict[str, tuple[int, int]]
    timeout_ms: int
    grace_ms: int
    processes: int
    stdin: int
    shelves: list[int]
    terminal: bool
    private: Private | None


VOID: Job = {
    "stages": [
        {
            "argv": ["/"],
            "late": [],
            "program": -1,
            "path": "/",
            "pins": [],
            "absent": [],
            "folder": 0,
            "folder_path": "",
            "streams": [INPUT, OUTPUT, ERROR],
            "inherit": [],
            "env": {},
        }
    ],
    "connectors": [],
    "env": {"PATH": "/"},
    "limits": {"core": (0, 0)},
    "timeout_ms": 1,
    "grace_ms": 1,
    "processes": 1,
    "stdin": 0,
    "shelves": [],
    "terminal": False,
    "private": None,
}
"""A job that starts nothing."""


class Started(TypedDict):
    """The process that leads the run: number, session, start in ticks."""

    pid: int
    pgid: int
    start_ticks: int


class Failed(TypedDict):
    """Nothing was started: ``drift`` distinguishes a changed file from a refusal of the kernel."""

    drift: bool
    why: str


class Next(TypedDict):
    """The commands of a further pipeline, from ``first`` up to ``end``, that wait for an answer."""

    first: int
    end: int


class Drift(TypedDict):
    """The command at which a line ended because something had changed, and what."""

    place: int
    why: str


class Ended(TypedDict):
    """How a run ended; ``tail`` is ``None`` if it is simply the end of ``text``.

    ``totals`` are the bytes of standard output and standard error if they were kept apart.
    ``drift``: why a command after the first was not started, ``None`` if all that were due were.
    ``fit``: the supervisor takes another job.
    """

    exit_code: int | None
    signal: int | None
    timed_out: bool
    text: str
    tail: str | None
    truncated: bool
    total_bytes: int
    totals: list[int]
    duration_ms: int
    drift: Drift | None
    fit: bool


class Tail(TypedDict):
    """What the run printed last, and the total (bytes)."""

    text: str
    total_bytes: int


class Report(TypedDict, total=False):
    """What a supervisor reports: exactly one of these."""

    started: Started
    next: Next
    tail: Tail
    failed: Failed
    ended: Ended


def encode(message: Job | Report) -> bytes:
    """Return one frame."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    return HEADER.pack(len(body)) + body


def encode_text(text: str) -> bytes:
    """Return a frame that contains only a text."""
    body = text.encode(errors="replace")
    return HEADER.pack(len(body)) + body


def receive_text(sock: socket.socket) -> str:
    """Wait for a text that was framed by ``encode_text``.

    Raises:
        ValueError: the stream ended within it, or the text is longer than any frame may be.
        OSError: the stream is broken.
    """
    header = sock.recv(HEADER.size, socket.MSG_WAITALL)
    if len(header) < HEADER.size:
        raise ValueError("the stream ended within a frame")
    length = body_length(header)
    body = sock.recv(length, socket.MSG_WAITALL)
    if len(body) < length:
        raise ValueError("the stream ended within a frame")
    return body.decode(errors="replace")


def body_length(header: bytes) -> int:
    """Return the length that a header announces.

    Raises:
        ValueError: it is longer than any frame may be.
    """
    (length,) = HEADER.unpack(header)
    if length > LARGEST_FRAME:
        raise ValueError(f"a frame of {length} bytes; the maximum is {LARGEST_FRAME}")
    return int(length)


def receive(sock: socket.socket, size: int, flags: int = 0) -> tuple[bytes, list[int]]:
    """Receive up to ``size`` bytes and the descriptors that came with them.

    Not ``socket.recv_fds``: up to Python 3.11 it drops its flags, and without close-on-exec every
    descriptor would leak into the commands.
    """
    fds = array.array("i")
    room = socket.CMSG_SPACE(MOST_DESCRIPTORS * fds.itemsize)
    data, ancillary, _, _ = sock.recvmsg(size, room, flags | socket.MSG_CMSG_CLOEXEC)
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    return data, fds.tolist()


def receive_job(sock: socket.socket) -> tuple[Job, list[int]] | None:
    """Wait for the job and its descriptors; ``None`` at the end of the stream."""
    data, fds = receive(sock, HEADER.size, socket.MSG_WAITALL)
    if len(data) < HEADER.size:
        return None
    length = body_length(data)
    body = bytearray(length)
    view = memoryview(body)
    while view:
        count = sock.recv_into(view)
        if count == 0:
            return None
        view = view[count:]
    job: Job = json.loads(body)
    return job, fds
