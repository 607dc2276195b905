"""Start a `#!` script by its interpreter, as the kernel would (execve(2), "Interpreter scripts").

The kernel opens a script by its name, where another file may be by then.
"""

import errno
import os

from core.files.file_identity import identity
from core.runner.supervisor.protocol import Pin

_ELF = b"\x7fELF"

HEAD = 256
"""Bytes of a script in which its first line must end."""


def interpreter(head: bytes, pins: list[Pin]) -> tuple[int, list[str]]:
    """Open the interpreter of a script that begins with ``head``; return its first words as well.

    The descriptor is -1 if the kernel has to do it: the first line is incomplete, or the
    interpreter is a script, too.

    Raises:
        OSError: it cannot be opened, or is not one of the files that were approved.
    """
    words = _words(head)
    if not words:
        return -1, []
    fd = os.open(words[0], os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        found = list(identity(os.fstat(fd)))
        itself = os.pread(fd, len(_ELF), 0) == _ELF
    except BaseException:
        os.close(fd)
        raise
    approved = any(found == list(pin["identity"]) for pin in pins)
    if approved and itself:
        return fd, words
    os.close(fd)
    if not approved:
        raise OSError(errno.ESTALE, f"`{words[0]}` changed after it was approved")
    return -1, []


def _words(head: bytes) -> list[str]:
    """Return an absolute interpreter and its one argument, if it has one."""
    line, end, _ = head[:HEAD].partition(b"\n")
    if not end or not line.startswith(b"#!") or b"\0" in line:
        return []
    rest = line[2:].strip(b" \t")
    at = min((place for place in map(rest.find, (b" ", b"\t")) if place >= 0), default=len(rest))
    words = [os.fsdecode(word) for word in (rest[:at], rest[at:].lstrip(b" \t")) if word]
    return words if words and words[0].startswith("/") else []
