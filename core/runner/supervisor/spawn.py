"""Start the commands of one pipeline."""

import contextlib
import fcntl
import hashlib
import os
import signal
from collections.abc import Iterator

from core.files.file_identity import FileIdentity, identity, is_settled, others_may_write
from core.runner.supervisor.pinned_files import hashbang
from core.runner.supervisor.pinned_files.bound_file import Bound
from core.runner.supervisor.pinned_files.delivery import Delivery, close
from core.runner.supervisor.pinned_files.file_leases import (
    Leases,
    drop,
    is_exposed,
    take,
)
from core.runner.supervisor.protocol import CHANGED, NULL, Pin, Stage, unseen

_ALL_SIGNALS = [n for n in signal.valid_signals() if n not in {signal.SIGKILL, signal.SIGSTOP}]
"""Reset in each child: Python itself ignores SIGPIPE and SIGXFSZ, and that would be inherited."""

Redirection = tuple[int, ...] | tuple[int, int, str, int, int]

FIRST_INHERITED = 3
"""The descriptor at which a command finds the first of what it inherits."""


class NotStarted:
    """A command that was not started, and why; ``drift`` if its file changed."""

    __slots__ = ("drift", "why")

    def __init__(self, why: str, *, drift: bool) -> None:
        self.why = why
        self.drift = drift


class Streams:
    """What a pipeline starts and ends with, or the path of a terminal that is all of it."""

    __slots__ = ("error", "sink", "source", "terminal")

    def __init__(self, source: int, sink: int, error: int, terminal: str = "") -> None:
        self.source = source
        self.sink = sink
        self.error = error
        self.terminal = terminal


def start_pipeline(
    stages: list[Stage], fds: list[int], env: dict[str, str], streams: Streams, delivery: Delivery
) -> list[int | NotStarted]:
    """Start all commands of a pipeline in one new process group."""
    started: list[int | NotStarted] = []
    source, group = streams.source, 0
    for index, stage in enumerate(stages):
        last = index == len(stages) - 1
        following, sink = (-1, streams.sink) if last else os.pipe2(os.O_CLOEXEC)
        ends = Streams(source, sink, streams.error, streams.terminal)
        child = _start(stage, fds, env, ends, group, delivery)
        if stage["program"] >= 0:
            drop(fds[stage["program"]])  # from its start on, the kernel itself refuses writers
        started.append(child)
        if isinstance(child, int) and group == 0:
            group = child  # it exists, at least as a zombie, until all have joined: nothing reaps
        if source != streams.source:
            os.close(source)
        if not last:
            os.close(sink)
        source = following
        if isinstance(child, NotStarted) and index == 0:
            break
    if source not in {-1, streams.source}:
        os.close(source)
    return started


def renew(stages: list[Stage], identities: dict[str, FileIdentity]) -> None:
    """Expect other identities of files: earlier commands of the line have changed their times."""
    for pin in (pin for stage in stages for pin in stage["pins"]):
        pin["identity"] = identities.get(pin["path"], pin["identity"])


def _start(
    stage: Stage, fds: list[int], env: dict[str, str], ends: Streams, group: int, delivery: Delivery
) -> int | NotStarted:
    """Check a command's files for the last time, and start it so that it finds exactly these."""
    bound: list[Bound] = []
    program, own = stage["program"], -1
    try:
        why = _changed(stage, fds, delivery.leases) or delivery.bind(stage, fds, bound)
        if why:
            close(bound)
            return NotStarted(why, drift=True)
        path, argv = stage["path"], stage["argv"]
        if program < 0 and bound and stage["pins"][0]["names"]:
            own, words = hashbang.interpreter(bound[0].head, stage["pins"])
            argv = [*words, path, *argv[1:]] if words else argv
        if max(program, own) >= 0:
            # By descriptor the approved inode runs, whatever its name means by now.
            path = f"/proc/self/fd/{fds[program] if own < 0 else own}"

        with _prepared(stage, fds, ends) as redirections:

            def spawn() -> int:
                return os.posix_spawn(  # noqa: TID251 - core.runner is the one place that spawns
                    path,
                    argv,
                    {**env, **stage["env"]} if stage["env"] else env,
                    file_actions=redirections,
                    # The leader of a session gets the terminal that it opens first as its own.
                    **({"setsid": True} if ends.terminal else {"setpgroup": group}),
                    setsigmask=[],
                    setsigdef=_ALL_SIGNALS,
                )

            return delivery.start(bound, spawn)
    except OSError as error:
        close(bound)
        return NotStarted(f"`{stage['argv'][0]}` cannot be started: {error.strerror}", drift=False)
    finally:
        if own >= 0:
            os.close(own)


@contextlib.contextmanager
def _prepared(stage: Stage, fds: list[int], ends: Streams) -> Iterator[list[Redirection]]:
    """Enter a command's folder, and yield what `posix_spawn` does to its descriptors."""
    folder = stage["folder"]
    inherited: list[int] = []
    try:
        for index in stage["inherit"]:
            inherited.append(_opened_anew(fds[index]))  # noqa: PERF401 - closed even if one fails
        if folder:
            os.fchdir(fds[folder])
        yield _redirections(stage, ends) + _copies(inherited)
    finally:
        for fd in inherited:
            os.close(fd)
        if folder:
            os.fchdir(fds[0])


def _opened_anew(fd: int) -> int:
    """Open a file again: commands of one pipeline must not share a position in it.

    A descriptor that only names something (`O_PATH`) has no position. What it names may be
    anybody's: opening a FIFO, or a file that its owner leases, would block the supervisor.
    """
    if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_PATH:
        return os.dup(fd)
    return os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)


def _copies(inherited: list[int]) -> list[Redirection]:
    """Copy them to 3 and up; since they ascend, none is overwritten before it has been copied."""
    return [(os.POSIX_SPAWN_DUP2, fd, place) for place, fd in enumerate(inherited, FIRST_INHERITED)]


def _redirections(stage: Stage, ends: Streams) -> list[Redirection]:
    """Return what `posix_spawn` does to descriptors 0, 1 and 2."""
    given = (ends.source, ends.sink, ends.error)
    return [
        (os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0)
        if origin == NULL
        else (os.POSIX_SPAWN_OPEN, number, ends.terminal, os.O_RDWR, 0)
        if ends.terminal
        else (os.POSIX_SPAWN_DUP2, given[origin], number)
        for number, origin in enumerate(stage["streams"])
    ]


def _changed(stage: Stage, fds: list[int], leases: Leases) -> str:
    """Return what is not as it was approved, or ``""``; what could still change is leased."""
    folder = stage["folder"]
    if folder and not _is_at(fds[folder], stage["folder_path"]):
        return CHANGED.format(stage["folder_path"])
    for index, pin in enumerate(stage["pins"]):
        by_descriptor = index == 0 and stage["program"] >= 0
        why = _pin_fault(pin, fds[stage["program"]] if by_descriptor else -1, leases)
        if why:
            return why
    return ""


def _pin_fault(pin: Pin, fd: int, leases: Leases) -> str:
    """Return why a file may not start, or ``""``; ``fd`` is -1 if it is opened by name."""
    try:
        status = os.stat(pin["path"]) if fd < 0 else os.fstat(fd)  # noqa: PTH116 - pathlib is outside the import budget
        if is_exposed(status):
            fd, forbidden = leases.open(pin["path"]) if fd < 0 else (fd, take(fd))
            if forbidden:
                return f"`{pin['path']}` {forbidden}, so it was not started. Fix that and ask again"
            status = os.fstat(fd)  # again, as now no one can write to it
        same = list(identity(status)) == list(pin["identity"]) and _has_content(pin, status, fd)
    except OSError as error:
        return unseen(pin["path"], error)
    return "" if same else CHANGED.format(pin["path"])


def _has_content(pin: Pin, status: os.stat_result, fd: int) -> bool:
    """Return whether a file still has its content, if only that may have changed.

    It may where others may write to it, and within a moment of its last change.
    ``fd`` is -1 if it is opened by name.

    Raises:
        OSError: the file cannot be read.
    """
    if is_settled(status) and not others_may_write(status):
        return True
    with open(pin["path"] if fd < 0 else f"/proc/self/fd/{fd}", "rb") as file:  # noqa: PTH123 - outside the import budget
        return hashlib.file_digest(file, "sha256").hexdigest() == pin["sha256"]


def _is_at(fd: int, path: str) -> bool:
    """Return whether a folder is still the one that its name leads to (its content may differ)."""
    try:
        found, opened = os.stat(path), os.fstat(fd)  # noqa: PTH116 - as above
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)
