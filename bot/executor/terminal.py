"""Start a shell in its own terminal; the gateway gets the terminal's other end.

What is typed and shown never passes through this process: it only starts the shell, ends it, and
reports how it ended.
"""

import fcntl
import os
import signal
import struct
import termios
import time

from bot.executor.connection import Connection
from core.isolation import wire
from core.runner.supervisor.processes import procfs, reaper

_SIZE = struct.Struct("HHHH")
_GRACE_S = 5.0
"""How long the programs of a terminal may take to end when asked to."""
_CANNOT_START = 126
_LARGEST_SIDE = 10_000
_GENTLY = (signal.SIGHUP, signal.SIGTERM, signal.SIGCONT)
"""An interactive shell ends on HUP, most others on TERM; stopped ones need CONT to get it."""


class Terminal:
    """The call ``spawn_terminal``: under way until its shell has ended.

    Raises:
        KeyError, TypeError, ValueError: a parameter is missing or wrong.
        OSError: no terminal can be created.
    """

    def __init__(self, connection: Connection, params: wire.Object) -> None:
        self._connection = connection
        self._token = str(params["session_token"])
        self._id = str(params["terminal_id"])
        self._kill_at = 0.0
        self._over = False
        self._status: int | None = None
        shell, cwd, environ = str(params["shell"]), str(params["cwd"]), params["env"]
        if not shell.startswith("/") or not isinstance(environ, dict):
            raise ValueError("`shell` is not an absolute path, or `env` is not an object")
        self._master, slave = os.openpty()
        os.fchmod(slave, 0o600)  # as created, the group `tty` could write to it
        resize(self._master, params.get("rows"), params.get("columns"))
        self._pid = os.fork()  # noqa: TID251 - the executor starts the shells of terminals
        if self._pid == 0:
            given = {str(name): str(value) for name, value in environ.items()}
            _become_shell(slave, shell, cwd, given)
        os.close(slave)
        leaders = [procfs.identity(self._pid), procfs.identity(os.getpid())]
        self._report("terminal_started", {"leaders": leaders})

    @property
    def patience_ms(self) -> int | None:
        """Return how long to wait for input until ``turn`` is due, ``None`` for no limit."""
        if not self._kill_at or self._over:
            return None
        return max(0, round((self._kill_at - time.monotonic()) * 1000) + 1)

    def opened(self) -> wire.Object:
        """Return the answer: ``pty_fd`` is the index of its descriptor among those sent."""
        self._connection.attach(self._master)
        return {"terminal_id": self._id, "pty_fd": 0, "pid": self._pid}

    def end(self) -> None:
        """Ask everything in the terminal to end; ``turn`` kills what does not."""
        if not self._kill_at:
            self._kill_at = time.monotonic() + _GRACE_S
            for pid in {*procfs.own_children(), *procfs.descendants(os.getpid())}:
                _ask(pid)

    def ended(self, pid: int, status: int) -> None:
        """Handle the end of a child; with the shell everything in the terminal ends."""
        if pid == self._pid and self._status is None:
            self._status = status
            if procfs.own_children():
                self.end()

    def turn(self) -> None:
        """Kill what did not end in time; report the end once nothing is left."""
        if self._kill_at and time.monotonic() >= self._kill_at:
            status = reaper.kill_all(set()).get(self._pid)
            self._status = self._status if status is None else status
            self._conclude()
        elif self._status is not None and not procfs.own_children():
            self._conclude()

    def _conclude(self) -> None:
        if self._over or self._status is None:
            return
        self._over, self._kill_at = True, 0.0
        self._report("terminal_ended", {"code": os.waitstatus_to_exitcode(self._status)})
        left = len(procfs.own_children())
        words: wire.Object = {"session_token": self._token, "status": "completed", "left": left}
        self._connection.send(wire.notification(wire.REPORT_COMPLETION, words))

    def _report(self, kind: str, data: wire.Object) -> None:
        params: wire.Object = {"session_token": self._token, "message_type": kind, "data": data}
        self._connection.send(wire.notification(wire.REPORT_MESSAGE, params))


def _ask(pid: int) -> None:
    for number in _GENTLY:
        try:
            os.kill(pid, number)
        except OSError:
            return


def resize(master: int, rows: object, columns: object) -> None:
    """Set the size of a terminal.

    Raises:
        ValueError: it is not a valid size.
    """
    sizes = (rows, columns)
    if not all(type(one) is int and 0 < one <= _LARGEST_SIDE for one in sizes):
        raise ValueError("`rows` and `columns` are numbers from 1 to 10000")
    fcntl.ioctl(master, termios.TIOCSWINSZ, _SIZE.pack(*sizes, 0, 0))


def _become_shell(slave: int, shell: str, cwd: str, environ: dict[str, str]) -> None:
    """Become the shell: leader of a session with this terminal, and no other descriptor of ours."""
    try:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for standard in range(3):
            os.dup2(slave, standard)
        os.closerange(3, 1 << 16)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.chdir(cwd)
        os.execve(shell, ["-" + shell.rpartition("/")[2]], environ)  # noqa: S606
    except OSError as failure:
        os.write(2, f"sayso: {failure.filename or 'the terminal'}: {failure.strerror}\r\n".encode())
    finally:
        os._exit(_CANNOT_START)
