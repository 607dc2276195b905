"""Start an executor as another Unix user: by sudo, with a connected socket as its descriptor 0.

This and core.runner are the only places that start processes. The gateway cannot send signals to
sudo, which runs as root, or to what it starts: closing the socket is what ends an executor.
"""

import asyncio
import contextlib
import os
import pwd
import signal
import socket
import threading
from collections.abc import Callable, Sequence

from core.errors import HostUnavailable, SpawnError

SUDO = "/usr/bin/sudo"
EXECUTOR = "/usr/local/libexec/sayso-executor"
INTERPRETER = "/usr/local/libexec/sayso-python/python3"
"""What runs it: no user can read it, so none can trace it (bot.executor_setup.closed_python)."""

_ENVIRON = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
_ALL_SIGNALS = [n for n in signal.valid_signals() if n not in {signal.SIGKILL, signal.SIGSTOP}]
_LONGEST_WORDS = 2000


def by_sudo(user: str) -> tuple[str, ...]:
    """Return the command that starts the executor of a user; the sudoers rule allows no other."""
    return (SUDO, "-n", "-u", user, EXECUTOR)


def uid_of(user: str) -> int:
    """Return the uid of a Unix user.

    Raises:
        HostUnavailable: no user has this name.
    """
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise HostUnavailable(f"there is no user `{user}` on this machine") from None


def unavailable(user: str, why: str) -> str:
    """Return the message for an executor that cannot be started."""
    return f"no executor runs as `{user}`: {why}; run `sayso doctor executor`"


class Process:
    """The process that was started: sudo, or the executor in its place.

    ``status`` is its wait status: 0 if an executor ended after everything that it had started.
    """

    def __init__(self, pid: int, errors: int, on_exit: Callable[[], None]) -> None:
        self.pid = pid
        self.status: int | None = None
        self.exited = asyncio.Event()
        self._errors = errors
        self._said = b""
        self._on_exit = on_exit
        self._fd = os.pidfd_open(pid)
        asyncio.get_running_loop().add_reader(self._fd, self._ended)

    async def ended(self, seconds: float) -> None:
        """Wait until it has ended, at most this many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.exited.wait()

    def words(self) -> str:
        """Return what it wrote to standard error, as one line."""
        self._listen()
        return " ".join(self._said.decode(errors="replace").split())

    def _listen(self) -> None:
        """Keep what it has written so far; once it has ended, ``forget`` may come at any time."""
        room = _LONGEST_WORDS - len(self._said)
        if self._errors >= 0 and room > 0:
            with contextlib.suppress(BlockingIOError):
                self._said += os.read(self._errors, room)

    def _ended(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)
        with contextlib.suppress(ChildProcessError):
            self.status = os.waitpid(self.pid, 0)[1]
        self._listen()
        self.exited.set()
        self._on_exit()

    def forget(self) -> None:
        """Close its standard error, once it has ended."""
        os.close(self._errors)
        self._errors = -1


def start(argv: Sequence[str], on_exit: Callable[[], None]) -> tuple[Process, socket.socket]:
    """Start an executor; return it and the gateway's end of its socket.

    Raises:
        SpawnError: it cannot be started.
    """
    with contextlib.ExitStack() as undone:
        try:
            ours, theirs = socket.socketpair()
            undone.callback(ours.close)
            with theirs:
                # Set before anything can be sent: the kernel then reports who sent each message.
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
                ours.setblocking(False)
                errors, theirs_errors = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
                undone.callback(os.close, errors)
                try:
                    pid = _spawned(argv, theirs.fileno(), theirs_errors)
                finally:
                    os.close(theirs_errors)
            process = _followed(pid, errors, on_exit)
        except OSError as error:
            raise SpawnError(f"{argv[0]} cannot be started: {error.strerror}") from error
        undone.pop_all()
    return process, ours


def _spawned(argv: Sequence[str], theirs: int, errors: int) -> int:
    return os.posix_spawn(  # noqa: TID251 - core.isolation starts executors
        argv[0],
        list(argv),
        _ENVIRON,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, theirs, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, errors, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=_ALL_SIGNALS,
    )


def _followed(pid: int, errors: int, on_exit: Callable[[], None]) -> Process:
    """Return what was started, or have it collected at its end, which its closed socket brings.

    Raises:
        OSError: there is no descriptor by which to follow it.
    """
    try:
        return Process(pid, errors, on_exit)
    except OSError:
        threading.Thread(target=os.waitpid, args=(pid, 0), daemon=True).start()
        raise
