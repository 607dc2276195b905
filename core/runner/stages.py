"""Start the commands of one pipeline. Stdlib leaf modules only; runs in the supervisor."""

import os
import signal

from core.runner.fileid import identity
from core.runner.frames import NULL, Stage

_ALL_SIGNALS = [n for n in signal.valid_signals() if n not in {signal.SIGKILL, signal.SIGSTOP}]
"""Reset in each child: Python itself ignores SIGPIPE and SIGXFSZ, and that would be inherited."""


class Refused:
    """A command that was not started, and why; ``drift`` if its file changed."""

    __slots__ = ("drift", "why")

    def __init__(self, why: str, *, drift: bool) -> None:
        self.why = why
        self.drift = drift


class Streams:
    """The descriptors that a pipeline starts and ends with."""

    __slots__ = ("sink", "source")

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self.sink = sink


def start_pipeline(
    stages: list[Stage], fds: list[int], env: dict[str, str], streams: Streams
) -> list[int | Refused]:
    """Start all commands of a pipeline in one new process group; standard error joins the sink."""
    started: list[int | Refused] = []
    source, group = streams.source, 0
    for index, stage in enumerate(stages):
        last = index == len(stages) - 1
        following, sink = (-1, streams.sink) if last else os.pipe2(os.O_CLOEXEC)
        child = _start(stage, fds, env, (source, sink, streams.sink), group)
        started.append(child)
        if isinstance(child, int) and group == 0:
            group = child  # it lives, as a zombie at least, until all have joined: nobody reaps now
        if source != streams.source:
            os.close(source)
        if not last:
            os.close(sink)
        source = following
        if isinstance(child, Refused) and index == 0:
            break
    if source not in {-1, streams.source}:
        os.close(source)
    return started


def _start(
    stage: Stage, fds: list[int], env: dict[str, str], streams: tuple[int, int, int], group: int
) -> int | Refused:
    changed = _changed(stage, fds)
    if changed:
        return Refused(f"`{changed}` changed after it was approved", drift=True)
    program = stage["program"]
    # By descriptor the approved inode runs, whatever its name means by now. A `#!` script goes by
    # path, checked just above: its interpreter opens it by name, and a descriptor that stays open
    # for that would leak into the command and change its $0.
    path = stage["path"] if program < 0 else f"/proc/self/fd/{fds[program]}"
    redirections = [
        (os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0)
        if origin == NULL
        else (os.POSIX_SPAWN_DUP2, streams[origin], number)
        for number, origin in enumerate(stage["streams"])
    ]
    folder = stage["folder"]
    try:
        if folder:
            os.fchdir(fds[folder])
        return os.posix_spawn(  # noqa: TID251 - core.runner is the one place that spawns
            path,
            stage["argv"],
            env,
            file_actions=redirections,
            setpgroup=group,
            setsigmask=[],
            setsigdef=_ALL_SIGNALS,
        )
    except OSError as error:
        return Refused(f"`{stage['argv'][0]}` cannot be started: {error.strerror}", drift=False)
    finally:
        if folder:
            os.fchdir(fds[0])


def _changed(stage: Stage, fds: list[int]) -> str:
    """Return the path of the first pinned file that is not as it was, or ``""``."""
    folder = stage["folder"]
    if folder and not _is_at(fds[folder], stage["folder_path"]):
        return stage["folder_path"]
    for index, pin in enumerate(stage["pins"]):
        by_descriptor = index == 0 and stage["program"] >= 0
        try:
            status = os.fstat(fds[stage["program"]]) if by_descriptor else os.stat(pin["path"])  # noqa: PTH116 - pathlib is outside the import budget
        except OSError:
            return pin["path"]
        if list(identity(status)) != list(pin["identity"]):
            return pin["path"]
    return ""


def _is_at(fd: int, path: str) -> bool:
    """Tell whether a folder is still the one that its name leads to (its content may differ)."""
    try:
        found, opened = os.stat(path), os.fstat(fd)  # noqa: PTH116 - as above
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)
