"""Run real executors as another user of this machine, with setpriv instead of a sudo rule.

The tests of sudo itself set up users and rules in new namespaces (tests/e2e).
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bot.executor_setup import closed_python
from bot.executor_setup.archive import archive, build_id, interpreter
from core.isolation.call_audit import CallAudit
from core.isolation.containment import NOWHERE, Containment
from core.isolation.executors import Executors
from core.isolation.pool import ExecutorPool
from core.isolation.tokens import SessionTokens
from core.isolation.upkeep import Options
from core.model.identity import SessionKey
from core.runner.limits import Limits
from core.runner.supply import Order
from tests.support.runs import new_run

USER = "nobody"
"""A user that every machine has and that is not us."""
UID = pwd.getpwnam(USER).pw_uid
BUILD = build_id()


@contextmanager
def installed(*, closed: bool = True) -> Iterator[str]:
    """Yield the path of the executor's file, in a folder that every user may enter.

    Unless ``closed``, it runs by a Python that every user may read (the control for attacks).
    """
    folder = Path(tempfile.mkdtemp(prefix="sayso-executor-"))
    try:
        folder.chmod(0o755)
        python = str(folder / "sayso-python/python3")
        if closed:
            closed_python.copy(interpreter(), python)
        path = folder / "sayso-executor"
        path.write_bytes(archive(python if closed else interpreter()))
        path.chmod(0o755)
        yield str(path)
    finally:
        shutil.rmtree(folder)


def as_user(path: str, user: str = USER) -> tuple[str, ...]:
    """Return the command that starts an executor as a user, without any of our code."""
    found = pwd.getpwnam(user)
    words = ("--reuid", str(found.pw_uid), "--regid", str(found.pw_gid), "--clear-groups")
    # `env` comes between: setpriv itself still has the right to read any file when it executes.
    return (shutil.which("setpriv") or "setpriv", *words, "/usr/bin/env", path)


@dataclass
class Records:
    """A journal that keeps its records in memory."""

    kept: list[Mapping[str, object]] = field(default_factory=list)

    async def append(self, kind: str, record: dict[str, object]) -> None:
        """Keep a record."""
        self.kept.append({"kind": kind, **record})


@dataclass
class World:
    """Executors of one file, and their records."""

    executors: Executors
    pool: ExecutorPool
    tokens: SessionTokens
    records: Records


@asynccontextmanager
async def executors(
    path: str,
    limits: Limits | None = None,
    *,
    options: Options | None = None,
    command: Sequence[str] | Callable[[str], Sequence[str]] | None = None,
    build: str = BUILD,
    tokens: SessionTokens | None = None,
    containment: Containment = NOWHERE,
) -> AsyncIterator[World]:
    """Yield executors that run as ``USER``, or are started by another ``command``."""
    wanted = options or Options(build)
    records = Records()
    made_tokens = SessionTokens(60, 1, time.monotonic) if tokens is None else tokens
    words = as_user(path) if command is None else command
    starts = words if callable(words) else lambda _user: words
    pool = ExecutorPool(wanted, made_tokens, CallAudit(records), starts, containment)
    made = Executors(pool, wanted.max_executors, limits)
    try:
        yield World(made, pool, made_tokens, records)
    finally:
        await made.stop()


@dataclass
class Direct:
    """One executor of this user, called by hand over its descriptor 0."""

    process: "subprocess.Popen[bytes]"
    sock: socket.socket

    def say(self, line: bytes) -> None:
        """Send bytes as they are."""
        self.sock.sendall(line)

    def hear(self) -> bytes:
        """Return the next bytes, at least one line."""
        self.sock.settimeout(20)
        heard = b""
        while not heard.endswith(b"\n"):
            part = self.sock.recv(1 << 16)
            if not part:
                return heard
            heard += part
        return heard


@contextmanager
def direct(path: str) -> Iterator[Direct]:
    """Start an executor of this user."""
    ours, theirs = socket.socketpair()
    environ = {"PATH": os.defpath}
    with ours, theirs, subprocess.Popen([path], stdin=theirs.fileno(), env=environ) as process:
        theirs.close()
        try:
            yield Direct(process, ours)
        finally:
            ours.close()  # or a failed test waits for an executor that nobody ends
        process.wait(20)


def order() -> Order:
    """Return the request for a supervisor."""
    return Order(new_run(), SessionKey("agent:main:one"))
