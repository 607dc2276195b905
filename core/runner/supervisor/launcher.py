"""Fork a supervisor whenever the gateway wants one, and end what a dead supervisor left.

A lean process that the gateway starts once: forking it costs half a millisecond, forking a grown
gateway 20 ms (18.2 ms at 500 MB, measured). Descriptor 0 is a SEQPACKET socket to the
gateway; its end means that the gateway is gone.
"""

import contextlib
import gc
import os
import select
import signal
import socket
import struct
import sys
import time

from core.runner.supervisor import main as supervisor
from core.runner.supervisor import process_setup
from core.runner.supervisor.pinned_files import open_notifier
from core.runner.supervisor.processes import procfs, reaper

ORDER = struct.Struct("!cI")
FORK, KILL = b"f", b"k"
BORN = struct.Struct("!I")

_STANDARD_ERROR = 2
_LAST_WAIT_S = 10.0


class Launcher:
    """The loop over orders and deaths."""

    def __init__(self, control: socket.socket, wake: int) -> None:
        self._control = control
        self._wake = wake
        self._supervisors: set[int] = set()

    def loop(self) -> None:
        """Serve until the gateway's end of the socket closes, then end all supervisors."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self._wake in ready:
                os.read(self._wake, 4096)
                self._bury()
            if self._control.fileno() in ready and not self._obey():
                break
        self._see_out()

    def _obey(self) -> bool:
        """Carry out one order; ``False`` at the end of the socket."""
        try:
            packet = self._control.recv(ORDER.size)
        except OSError:
            return False
        if len(packet) != ORDER.size:
            return False
        order, pid = ORDER.unpack(packet)
        if order == FORK:
            return self._fork()
        if pid in self._supervisors:  # unreaped, so the number is still its own
            os.kill(pid, signal.SIGKILL)
        return True

    def _fork(self) -> bool:
        """Fork a supervisor and send its socket to the gateway; ``False`` if that is gone."""
        ours, theirs = socket.socketpair()
        pid = os.fork()  # noqa: TID251 - core.runner is the one place that forks
        if pid == 0:
            ours.close()
            self._control.close()
            become_supervisor(theirs)
        theirs.close()
        self._supervisors.add(pid)
        try:
            socket.send_fds(self._control, [BORN.pack(pid)], [ours.fileno()])
        except OSError:
            return False
        finally:
            # At once: a copy inherited by the next supervisor would hide the gateway's death.
            ours.close()
        return True

    def _bury(self) -> None:
        """Collect dead supervisors; what one left behind was adopted here, and is killed."""
        ended, _ = reaper.reap()
        self._supervisors -= ended.keys()
        if set(procfs.own_children()) - self._supervisors:
            reaper.kill_all(self._supervisors)
            # Supervisors that ended in the meantime were collected there; forget these.
            self._supervisors &= set(procfs.own_children())

    def _see_out(self) -> None:
        """Wait for the supervisors, each of which sees its own socket close; then kill the rest."""
        deadline = time.monotonic() + _LAST_WAIT_S
        while self._supervisors and time.monotonic() < deadline:
            self._bury()
            time.sleep(0.005)
        reaper.kill_all(set())


def become_supervisor(sock: socket.socket) -> None:
    """Serve one job in the forked child, and never return."""
    status = 1
    try:
        process_setup.lead()
        supervisor.Supervisor(sock).serve()
        status = 0
    except Exception as error:  # noqa: BLE001 - the last frame of a forked copy: report, then end
        _report("a supervisor", error)
    finally:
        # Whatever went wrong, the launcher's loop and its cleanup must not continue in this copy.
        # What this copy cannot end any more, for lack of descriptors, falls to the launcher
        # (``_bury``).
        try:
            reaper.kill_all(set())
        finally:
            os._exit(status)


def _report(who: str, error: Exception) -> None:
    """Write one line to standard error, the gateway's log: who failed, where, and why.

    One line, because many may fail at once and none of them ends anything but itself. If the log is
    a full pipe, nothing is written: waiting for its reader would stop new commands from starting.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
    words = " ".join(f"{type(error).__name__}: {error}".split())
    line = f"sayso: {who} failed and is replaced: {words}{where}\n"
    with contextlib.suppress(OSError):  # the reader of the log may be gone with the gateway
        if select.select((), (_STANDARD_ERROR,), (), 0)[1]:
            os.write(_STANDARD_ERROR, line.encode(errors="replace"))


def close_inherited(kept: set[int]) -> None:
    """Close what the gateway itself had inherited, so that no command sees it."""
    for fd in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - outside the import budget
        if fd > _STANDARD_ERROR and fd not in kept:
            with contextlib.suppress(OSError):  # the folder's own descriptor is gone by now
                os.close(fd)


def main() -> None:
    """Take descriptor 0, detach from the gateway's session, and serve."""
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 0)
    os.dup2(null, 1)
    close_inherited({control.fileno(), null})
    process_setup.settle()
    procfs.keep_spare()
    open_notifier.fault()  # looked up here, so that each fork has the result
    wake = process_setup.wake_on_child()
    # A collection in a forked child would touch, and so copy, every page that is shared.
    gc.disable()
    gc.freeze()
    try:
        Launcher(control, wake).loop()
    except Exception as error:  # noqa: BLE001 - the gateway starts another one; the log says why
        _report("the launcher", error)
        reaper.kill_all(set())
        sys.exit(1)
