"""Hand what was approved to whoever opens it by name, whatever lies there by then.

An interpreter opens its script by name, milliseconds after the last look at it or minutes. Each of
those openings waits (``core.runner.notifier``) and gets a descriptor of the file that was looked
at. What a command itself writes at such a name is its own: from then on the name means what it
means on disk. Stdlib leaf modules only; runs in the supervisor.
"""

import errno
import fcntl
import os
import select
import stat
import time
from collections.abc import Callable, Iterable

from core.runner import notifier
from core.runner.fileid import identity
from core.runner.frames import CHANGED, Pin, Stage
from core.runner.hashbang import HEAD
from core.runner.leases import Leases

LARGEST_COPY = 64 * 1024 * 1024
"""Bytes. A larger file is not kept, so a change of anything about it keeps it from being read."""

_SET_ID = stat.S_ISUID | stat.S_ISGID

_MOST_AT_ONCE = 64
_NEXT_MS = 1
_BUSY_PART, _HOT_PART = 2, 4 / 3
_PAUSE_S, _LONG_PAUSE_S = 0.02, 0.5
"""Answering costs CPU, and the commands' CPU limit is this process's too: after half of it answers
are spaced out, after three quarters of it to about 100 a second."""

_CHANGING = os.O_ACCMODE | os.O_TRUNC

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class _Place:
    """A path that a process named: absolute as it reads, and which folder it leads into."""

    __slots__ = ("_base", "_given", "last", "path")

    def __init__(self, base: str, given: bytes) -> None:
        """Take on a path, and in /proc the folder that it counts from.

        Raises:
            OSError: that cannot be looked up.
        """
        self._base = os.fsencode(base)
        self._given = given.rstrip(b"/")
        absolute = given.startswith(b"/")
        folder = b"/" if absolute else os.readlink(self._base)  # noqa: PTH115 - pathlib is outside the import budget
        # Two slashes at the start would stay two.
        self.path = b"/" + os.path.normpath(os.path.join(folder, given)).lstrip(b"/")  # noqa: PTH118 - as above
        self.last = _last(given)

    def folder(self) -> tuple[int, int] | None:
        """Return device and inode of the folder that the path's last part is in."""
        return _folder_of(os.path.join(self._base, self._given))  # noqa: PTH118 - as above


class Bound:
    """A file as it was approved, and its names; or names at which nothing may come about."""

    __slots__ = (
        "_content",
        "_fd",
        "_folders",
        "_names",
        "_sealed",
        "_status",
        "head",
        "own",
        "told",
    )

    def __init__(self, names: Iterable[str], fd: int = -1) -> None:
        """Take on an open file, -1 for none, that has just been compared with its pin.

        Raises:
            OSError: it cannot be read, or not all of it.
        """
        self._names = [os.fsencode(name) for name in names]
        self._folders = [_folder_of(name) for name in self._names]
        self._fd = fd
        self._sealed = -1
        self._content: bytes | None = None
        self.head = b""
        self.own = self.told = False
        if fd >= 0:
            self._status = os.fstat(fd)
            self.head = _read(fd, HEAD)
            if self._status.st_size <= LARGEST_COPY:
                self._content = _read(fd, self._status.st_size)

    @property
    def absent(self) -> bool:
        """Return whether nothing may be there."""
        return self._fd < 0

    @property
    def name(self) -> str:
        """Return the name that it was approved by."""
        return os.fsdecode(self._names[0])

    @property
    def last_parts(self) -> set[bytes]:
        """Return the last part of each name."""
        return set(map(_last, self._names))

    @property
    def parts(self) -> set[bytes]:
        """Return every part of each name."""
        return {part for name in self._names for part in name.split(b"/")}

    def is_at(self, place: _Place) -> bool:
        """Tell whether a path reads as one of the names, or is the same name in the same folder."""
        return place.path in self._names or any(
            place.last == _last(name) and folder is not None and folder == place.folder()
            for name, folder in zip(self._names, self._folders, strict=True)
        )

    def is_below(self, place: _Place) -> bool:
        """Tell whether one of the names is below a folder."""
        return any(name.startswith(place.path + b"/") for name in self._names)

    def open(self, leases: Leases) -> int:
        """Return a fresh descriptor of what was approved, -1 if there is no such content any more.

        That is the file itself where nobody can write to it for the next moment, else a copy.
        """
        fd = os.open(f"/proc/self/fd/{self._fd}", os.O_RDONLY | os.O_CLOEXEC)
        status = os.fstat(fd)
        quiet = self._is_held(status, leases)
        status = os.fstat(fd)  # once more, for now nobody can write to it
        if identity(status) != identity(self._status):
            # Its name was given away, or its mode changed: that shows, too, and harms nobody.
            if self._content is None or _read(fd, len(self._content) + 1) != self._content:
                os.close(fd)
                return -1
            self._status = status
        if quiet:
            return fd
        os.close(fd)
        return self._copy()

    def close(self) -> None:
        """Let go of the file."""
        for fd in (self._fd, self._sealed):
            if fd >= 0:
                os.close(fd)

    def _is_held(self, status: os.stat_result, leases: Leases) -> bool:
        """Tell whether nobody can write to it for the next moment."""
        if os.geteuid() != 0 and status.st_uid not in {0, os.geteuid()}:
            return False  # its owner may at any time, and no lease can be had
        return leases.cover(self._fd)

    def _copy(self) -> int:
        """Return a descriptor of a copy that nobody can write to, -1 where none was kept."""
        if self._content is None:
            return -1
        if self._sealed < 0:
            self._sealed = os.memfd_create("sayso", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            with os.fdopen(os.dup(self._sealed), "wb") as file:
                file.write(self._content)
            fcntl.fcntl(self._sealed, fcntl.F_ADD_SEALS, _SEALS)
        return os.open(f"/proc/self/fd/{self._sealed}", os.O_RDONLY | os.O_CLOEXEC)


def _read(fd: int, size: int) -> bytes:
    """Return the first bytes of a file."""
    content = b""
    while len(content) < size:
        data = os.pread(fd, size - len(content), len(content))
        if not data:
            break
        content += data
    return content


def _folder_of(name: bytes) -> tuple[int, int] | None:
    return _identity_of(os.path.dirname(name))  # noqa: PTH120 - pathlib is outside the import budget


def _identity_of(folder: bytes) -> tuple[int, int] | None:
    try:
        status = os.stat(folder)  # noqa: PTH116 - as above
    except OSError:
        return None
    return status.st_dev, status.st_ino


class _Watched:
    """The files that one command, with all that it starts, is to find as they were approved."""

    __slots__ = ("bound", "last_parts", "parts")

    def __init__(self, bound: list[Bound]) -> None:
        self.bound = bound
        self.last_parts = set().union(*(one.last_parts for one in bound))
        self.parts = set().union(*(one.parts for one in bound))


class Delivery:
    """The commands of a run that find their bound files as approved; ``poll`` hears them."""

    def __init__(self, poll: select.poll, leases: Leases, note: Callable[[str], object]) -> None:
        self._poll = poll
        self.leases = leases
        self._note = note
        self._watched: dict[int, _Watched] = {}
        self._busy_s = self._hot_s = 0.0

    def pace(self, cpu_s: float) -> None:
        """Answer as many calls as a CPU limit (seconds) leaves time for."""
        self._busy_s, self._hot_s = cpu_s / _BUSY_PART, cpu_s / _HOT_PART

    def bind(self, stage: Stage, bound: list[Bound]) -> str:
        """Take on, into ``bound``, what a command is to find as it was approved.

        Return what is not as it was, or ``""``. Nothing is bound where that cannot be held.
        """
        pins = [pin for pin in stage["pins"] if pin["names"]]
        if not (pins or stage["absent"]) or notifier.fault() or _raises_rights(stage["pins"]):
            return ""
        for pin in pins:
            try:
                bound.append(_bind(pin))
            except OSError:
                close(bound)
                return CHANGED.format(pin["path"])
        bound += [Bound([path]) for path in stage["absent"]]
        return ""

    def start(self, bound: list[Bound], spawn: Callable[[], int]) -> int:
        """Start a command by a function, and have it find files as they were approved.

        Raises:
            OSError: it cannot be started.
        """
        if not bound:
            return spawn()
        listener, pid = notifier.under_listener(spawn)
        self._watched[listener] = _Watched(bound)
        self._poll.register(listener, select.POLLIN)
        return pid

    def serve(self, ready: set[int]) -> None:
        """Answer the calls that wait."""
        for listener in ready & self._watched.keys():
            self._serve(listener, self._watched[listener])

    def end(self) -> None:
        """Stop listening: all that was started has ended."""
        for listener in tuple(self._watched):
            self._forget(listener)

    def _forget(self, listener: int) -> None:
        self._poll.unregister(listener)
        os.close(listener)
        close(self._watched.pop(listener).bound)

    def _serve(self, listener: int, watched: _Watched) -> None:
        """Answer one call, and those that follow soon, but not so many that others have to wait."""
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        for _ in range(_MOST_AT_ONCE):
            events = poll.poll(_NEXT_MS)
            if not events:
                return
            if not events[0][1] & select.POLLIN:
                self._forget(listener)  # nobody is left who could call
                return
            notice = notifier.receive(listener)
            if notice is not None:
                self._answer(listener, watched, notice)
        used = time.process_time()
        if used > self._busy_s:
            time.sleep(_PAUSE_S if used < self._hot_s else _LONG_PAUSE_S)

    def _answer(self, listener: int, watched: _Watched, notice: notifier.Notice) -> None:
        try:
            bound = self._meant(watched, notice)
        except OSError:
            bound = None  # it went away, or its memory is its own secret
        if bound is None or bound.own:
            notifier.proceed(listener, notice)
        elif bound.absent:
            notifier.refuse(listener, notice, errno.ENOENT)
        else:
            self._deliver(listener, notice, bound)

    def _deliver(self, listener: int, notice: notifier.Notice, bound: Bound) -> None:
        try:
            flags, fd = notice.flags(), bound.open(self.leases)
        except OSError:
            flags, fd = 0, -1
        if fd < 0:
            self._tell(bound)
            notifier.refuse(listener, notice, errno.EACCES)
            return
        notifier.hand_over(listener, notice, fd, flags)
        os.close(fd)

    def _tell(self, bound: Bound) -> None:
        if not bound.told:
            bound.told = True
            self._note(f"sayso: {CHANGED.format(bound.name)}, so it was not read\n")

    def _meant(self, watched: _Watched, notice: notifier.Notice) -> Bound | None:
        """Return what a call would read, ``None`` for nothing of ours; note what it changes.

        Raises:
            OSError: its process cannot be looked at.
        """
        flags = notice.flags() if notice.opens else os.O_WRONLY
        for folder, path in notice.paths():
            if _last(path) not in (watched.parts if notice.moves else watched.last_parts):
                continue
            place = _Place(folder, path)
            for one in watched.bound:
                if not (one.is_at(place) or (notice.moves and one.is_below(place))):
                    continue
                if not flags & (_CHANGING | (os.O_CREAT if one.absent else 0)):
                    return one
                one.own = True
                self.leases.give_back(at_once=True)
        return None


def close(bound: list[Bound]) -> None:
    """Let go of files."""
    for one in bound:
        one.close()


def _raises_rights(pins: list[Pin]) -> bool:
    """Tell whether a program is one that gives root's rights, which nobody gets under a filter.

    Only the command's own program counts: a file that its words name might be made for this.
    """
    if os.geteuid() == 0 or not pins:
        return False
    try:
        status = os.stat(pins[0]["path"])  # noqa: PTH116 - pathlib is outside the import budget
    except OSError:
        return False
    return status.st_uid == 0 and bool(status.st_mode & _SET_ID)


def _bind(pin: Pin) -> Bound:
    """Take on a file that its name must still lead to.

    Raises:
        OSError: it leads elsewhere, or its content changes.
    """
    fd = os.open(pin["path"], os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        bound = Bound(pin["names"], fd)
        same = list(identity(os.fstat(fd))) == list(pin["identity"])
    except BaseException:
        os.close(fd)
        raise
    if not same:
        bound.close()
        raise OSError(errno.ESTALE, "it is another file")
    return bound


def _last(path: bytes) -> bytes:
    return path.rstrip(b"/").rpartition(b"/")[2]
