"""Contain an executor, and all that it starts, in its own cgroup, if the gateway may make one.

A process that leaves its session and clears its environment stays in its cgroup, and one write ends
all of them, whichever user they run as. That takes version 2 with ``cgroup.kill`` (Linux 5.14), and
a cgroup delegated to the gateway (``Delegate=`` of systemd), which no process may leave on its own.
"""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.runner.supervisor.processes import procfs

_PREFIX = "sayso"
_LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class Cgroup:
    """The cgroup of one executor."""

    folder: Path

    async def hold(self, pid: int, exited: asyncio.Event) -> None:
        """Create it and move a process into it, in a thread: the kernel may take some ms."""
        await asyncio.to_thread(self._take, pid)
        if exited.is_set():  # its end may have been handled before the cgroup existed
            self.removed()

    def _take(self, pid: int) -> None:
        with contextlib.suppress(OSError):  # it has ended, or the delegation was taken back
            self.folder.mkdir()
            (self.folder / "cgroup.procs").write_text(str(pid))

    def holds(self, pid: int) -> bool:
        """Return whether a process is in it."""
        return pid in self.processes()

    def processes(self) -> tuple[int, ...]:
        """Return the processes in it; after ``kill``, those that wait for a device for ever."""
        with contextlib.suppress(OSError):
            return tuple(map(int, (self.folder / "cgroup.procs").read_text().split()))
        return ()

    async def end(self, seconds: float) -> int:
        """Kill all that is in it, and remove it; return how many processes cannot be ended."""
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.removed():  # noqa: ASYNC110 - the kernel does not notify
                    await asyncio.sleep(_LOOK_S)
        return len(self.processes())

    def removed(self) -> bool:
        """Return whether it is gone now; it can be removed only once it is empty."""
        try:
            self.folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True


class Containment:
    """Creates cgroups below ``folder``, which is ``None`` if none can be made."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def of(self, executor: str) -> Cgroup | None:
        """Return the cgroup for an executor, ``None`` if none can be made."""
        if self._folder is None:
            return None
        return Cgroup(self._folder / f"{_PREFIX}-{_namespace()}-{_name_of(os.getpid())}-{executor}")

    async def end_left(self, seconds: float) -> None:
        """End what the executors of dead gateways left; the kernel knows which are dead."""
        for folder in self._left():
            await Cgroup(folder).end(seconds)

    def _left(self) -> Iterator[Path]:
        found = [] if self._folder is None else self._folder.glob(f"{_PREFIX}-{_namespace()}-*-*-*")
        for folder in found:
            pid, ticks = folder.name.split("-")[2:4]
            if _name_of(int(pid)) != f"{pid}-{ticks}":
                yield folder


NOWHERE = Containment(None)


def delegated(pid: int | None = None, proc: Path = Path("/proc")) -> Path | None:
    """Return the folder of a process's cgroup if this user may make others in it."""
    own = "self" if pid is None else str(pid)
    try:
        lines = (proc / own / "cgroup").read_text().splitlines()
        mounts = (proc / "self/mountinfo").read_text().splitlines()
    except OSError:
        return None
    path = next((line[3:] for line in lines if line.startswith("0::")), "")
    for at, root in _mounted(mounts):
        if Path(path).is_relative_to(root):
            folder = Path(at) / Path(path).relative_to(root)
            return folder if _is_ours(folder) else None
    return None


def _mounted(mounts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield where cgroups of version 2 are mounted, and which cgroup is the root of the mount."""
    for line in mounts:
        before, _, behind = line.partition(" - ")
        if behind.split()[:1] == ["cgroup2"]:
            root, at = before.split()[3:5]
            yield at, root


def _is_ours(folder: Path) -> bool:
    """Return whether this user may make cgroups there, move processes into them, and kill them."""
    may = os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)
    if not may:
        return False
    tried = folder / f"{_PREFIX}-tried-{os.getpid()}"
    try:
        tried.mkdir()
        return (tried / "cgroup.kill").exists()
    except OSError:
        return False
    finally:
        Cgroup(tried).removed()


def _namespace() -> int:
    """Return the namespace in which this process's pids are counted."""
    return Path("/proc/self/ns/pid").stat().st_ino


def _name_of(pid: int) -> str:
    return "-".join(map(str, procfs.identity(pid)))
