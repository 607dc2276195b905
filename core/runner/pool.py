"""Keep the launcher alive and a few supervisors warm."""

import asyncio
import contextlib
import os
import select
import signal
import socket
import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from core.errors import SpawnError
from core.runner.link import Link, receive_link
from core.runner.result import UNSEEN
from core.runner.supervisor.launcher import BORN, FORK, KILL, ORDER
from core.runner.supply import ANY, Order

WARM = 2
"""Supervisors that wait for a job, so that a run does not wait for a fork."""

MOST_IDLE = 8
"""Supervisors that are kept after a burst."""

_PATIENCE_S = 10.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 5.0

_ROOT = str(Path(__file__).parents[2])
BOOTSTRAP = (
    # Last on the path, so that nothing next to this package can stand in for the standard library.
    "import sys; sys.path.append(sys.argv[1]); "
    "from core.runner.supervisor.launcher import main; main()"
)
"""The program of the launcher, and so a word in the command line of every supervisor."""
_ALL_SIGNALS = [n for n in signal.valid_signals() if n not in {signal.SIGKILL, signal.SIGSTOP}]


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    """A caller that needs a supervisor; ``fresh``: one that has not had a job yet."""

    fresh: bool
    link: asyncio.Future[Link]

    def takes(self, link: Link) -> bool:
        return not self.link.done() and not (self.fresh and link.served)


class Pool:
    """Hands out single supervisors; the launcher that forks them is replaced when it dies.

    Implements ``core.runner.supply.Supply``.
    """

    lost = UNSEEN

    def __init__(self, warm: int = WARM) -> None:
        self._warm = warm
        self._idle: deque[Link] = deque()
        self._waiting: list[_Waiter] = []
        self._coming = 0
        self._control: socket.socket | None = None
        self._pid = 0
        self._pause_s = _FIRST_PAUSE_S
        self._revival: asyncio.TimerHandle | None = None
        self._stopped = True

    @property
    def launcher_pid(self) -> int:
        """Return the launcher's process number, 0 while there is none."""
        return self._pid

    async def start(self) -> None:
        """Start the launcher and wait for the first supervisor.

        Raises:
            SpawnError: it cannot be started, or no supervisor came within ten seconds.
        """
        self._stopped = False
        try:
            self._launch()
        except OSError as error:
            raise SpawnError(f"the launcher cannot be started: {error.strerror}") from error
        self.put_back(await self.take())

    async def stop(self) -> None:
        """Let idle supervisors end, and wait until the launcher has collected all of them."""
        self._stopped = True
        if self._revival is not None:
            self._revival.cancel()
        while self._waiting:
            self._waiting.pop().link.cancel()
        while self._idle:
            self._idle.popleft().close()
        pid = self._disconnect()
        if pid:
            await asyncio.to_thread(_wait_or_kill, pid)

    async def take(self, order: Order = ANY) -> Link:
        """Return a supervisor that waits for its job; a fresh one has had none before.

        Raises:
            SpawnError: none came within ten seconds.
        """
        fresh = order.fresh
        for link in [one for one in self._idle if not (fresh and one.served)]:
            self._idle.remove(link)
            if link.idle():
                return link
            link.close()
        waiter = _Waiter(fresh, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        self.replenish()
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await waiter.link
        except TimeoutError as error:
            why = "the launcher gave no supervisor within 10 s; the machine may be low on memory"
            raise SpawnError(why) from error
        except asyncio.CancelledError:
            if waiter.link.done() and not waiter.link.cancelled():
                self.put_back(waiter.link.result())  # it arrived at this very moment
            raise

    def put_back(self, link: Link) -> None:
        """Put back a supervisor that got no job after all, or takes another."""
        if self._stopped:
            link.close()
        else:
            self._welcome(link)

    def discard(self, link: Link) -> None:
        """End a supervisor that takes no other job, and have a fresh one made."""
        link.close()
        self.replenish()

    def replenish(self) -> None:
        """Order supervisors up to the warm count, or one for each waiting caller."""
        # A caller that waits while some are idle cannot use those.
        wanted = max(self._warm - len(self._idle), len(self._waiting))
        for _ in range(wanted - self._coming):
            if not self._order(FORK, 0):
                break
            self._coming += 1

    def kill(self, pid: int) -> None:
        """Kill a supervisor that no longer answers; the launcher then ends what it had started."""
        self._order(KILL, pid)

    def _order(self, order: bytes, pid: int) -> bool:
        if self._control is None:
            return False
        try:
            self._control.send(ORDER.pack(order, pid))
        except OSError:
            return False
        return True

    def _launch(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs:
            try:
                self._pid = os.posix_spawn(  # noqa: TID251 - core.runner is the one that spawns
                    sys.executable,
                    [sys.executable, "-I", "-S", "-X", "utf8", "-c", BOOTSTRAP, _ROOT],
                    {},
                    file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0)],
                    setsid=True,
                    setsigmask=[],
                    setsigdef=_ALL_SIGNALS,
                )
            except OSError:
                ours.close()
                raise
        self._control, self._coming = ours, 0
        asyncio.get_running_loop().add_reader(ours, self._on_control)
        self.replenish()

    def _on_control(self) -> None:
        """Accept new supervisors, or detect that the launcher died."""
        if self._control is None:
            return
        try:
            born = receive_link(self._control, BORN.size)
        except BlockingIOError:
            return
        except OSError:
            born = None
        if born is None:
            self._bury()
            return
        self._pause_s = _FIRST_PAUSE_S
        self._coming = max(0, self._coming - 1)
        (pid,) = BORN.unpack(born[0])
        self._welcome(Link(born[1], pid))

    def _welcome(self, link: Link) -> None:
        if not link.idle():  # it died on its way here
            link.close()
            if self._waiting:
                self.replenish()
            return
        self._waiting = [one for one in self._waiting if not one.link.done()]
        waiter = next((one for one in self._waiting if one.takes(link)), None)
        if waiter is not None:
            waiter.link.set_result(link)
            return
        if len(self._idle) < MOST_IDLE:
            self._idle.append(link)
        else:
            link.close()

    def _bury(self) -> None:
        """Reap the dead launcher and start another soon; runs that it had begun are untouched."""
        pid = self._disconnect()
        if pid:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        if not self._stopped:
            self._revival = asyncio.get_running_loop().call_later(self._pause_s, self._revive)
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)

    def _revive(self) -> None:
        try:
            self._launch()
        except OSError:
            self._bury()

    def _disconnect(self) -> int:
        """Close the control socket; return the launcher's number, once."""
        if self._control is not None:
            asyncio.get_running_loop().remove_reader(self._control)
            self._control.close()
            self._control = None
        pid, self._pid = self._pid, 0
        return pid


def _wait_or_kill(pid: int, patience_s: float = 15.0) -> None:
    """Wait until the launcher has gone on its own; kill it if it does not (in a thread)."""
    fd = os.pidfd_open(pid)
    try:
        gone = select.poll()
        gone.register(fd, select.POLLIN)
        if not gone.poll(patience_s * 1000):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    finally:
        os.close(fd)
