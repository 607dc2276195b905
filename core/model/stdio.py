"""Define what a run reads, how what it prints is kept, and which environment it starts from."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


class Capture(StrEnum):
    """How a run's streams are kept: both in one (S0), each apart (S3, S4), or as a terminal."""

    COMBINED = "combined"
    SEPARATE = "separate"
    PTY = "pty"


LARGEST_STDIN = 1024 * 1024
"""Bytes that a request may put on standard input (S4 ``max_stdin_bytes``)."""

STREAM_BYTES = 262_144
"""Bytes that are kept of each separate stream where nothing else is asked for (S3)."""


@dataclass(frozen=True, slots=True)
class Stdio:
    """What a run reads, and how what it prints is kept.

    ``stdin`` are bytes, ``None`` means ``/dev/null``. ``most_stdout`` and ``most_stderr`` are
    the bytes kept of each stream where they are ``SEPARATE``. ``PTY`` needs a single command.
    """

    # Any bytes fit into the store's JSON text; a plain mapping, because this package imports
    # nothing.
    __pydantic_config__: ClassVar[dict[str, str]] = {
        "ser_json_bytes": "base64",
        "val_json_bytes": "base64",
    }

    stdin: bytes | None = None
    capture: Capture = Capture.COMBINED
    most_stdout: int = STREAM_BYTES
    most_stderr: int = STREAM_BYTES


PLAIN_STDIO = Stdio()


class Environ(StrEnum):
    """Which fixed table a child's environment is built from, before requested changes."""

    STANDARD = "standard"
    EXEC_TOOL = "exec_tool"
    REMOTE = "remote"
