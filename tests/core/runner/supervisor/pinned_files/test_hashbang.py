"""Read a script's first line as the kernel does, and hold its interpreter to the plan."""

import errno
import os
from pathlib import Path

import pytest

from core.files.file_identity import identity
from core.runner.supervisor.pinned_files.hashbang import HEAD, interpreter
from core.runner.supervisor.protocol import Pin
from tests.support.tables import rows

SHELL = "/bin/sh"


def pin(path: str | Path) -> Pin:
    """Return the pin of a file, by its identity alone."""
    return Pin(path=str(path), identity=identity(Path(path).stat()), sha256="", names=[])


def opened(head: bytes, *pins: Pin) -> tuple[bool, list[str]]:
    """Return whether the interpreter was opened, and its words."""
    fd, words = interpreter(head, list(pins))
    if fd >= 0:
        os.close(fd)
    return fd >= 0, words


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"#!/bin/sh\n", [SHELL]),
        (b"#! /bin/sh\t-e -u \nrest", [SHELL, "-e -u"]),
        (b"#!/bin/sh" + b" " * (HEAD - 10) + b"\nx", [SHELL]),
    ],
)
def test_the_interpreter_and_its_one_argument_are_opened(head: bytes, words: list[str]) -> None:
    """All after the first blank is one argument; the line may end in the last byte of the head."""
    assert opened(head, pin(SHELL)) == (True, words)


@rows(
    "head",
    [
        b"",
        b"#!/bin/sh",
        b"#!/bin/sh" + b" " * (HEAD - 9) + b"\nx",
        b"echo x\n",
        b"#!\n",
        b"#!sh\n",
        b"#!/bin/sh\0\n",
        b"\n#!/bin/sh\n",
    ],
)
def test_without_a_whole_first_line_the_kernel_does_it(head: bytes) -> None:
    """Nothing is opened, because nothing of it is known."""
    assert opened(head, pin(SHELL)) == (False, [])


def test_a_script_as_interpreter_is_the_kernels(tmp_path: Path) -> None:
    """It has its own first line; nothing is opened here even if it was approved."""
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")

    assert opened(f"#!{script}\n".encode(), pin(script)) == (False, [])


def test_another_interpreter_than_the_approved_one_is_refused() -> None:
    """Whatever the name means by now."""
    with pytest.raises(OSError, match="changed after it was approved") as refused:
        opened(b"#!/bin/sh\n", pin("/usr/bin/env"))

    assert refused.value.errno == errno.ESTALE
