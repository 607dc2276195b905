"""Deliver approved files to the processes that open them by name, whatever is there by then.

An interpreter opens its script by name, milliseconds or minutes after the last check. Each of
these opens waits (``open_notifier``) and gets a descriptor of the file that was checked. What a
command itself writes at such a name is its own: from then on, the name means what it means on
disk. Standard library only; runs in the supervisor.
"""

import errno
import os
import select
import stat
import time
from collections.abc import Callable, Iterator

from core.files.file_identity import identity
from core.runner.supervisor.pinned_files import open_notifier
from core.runner.supervisor.pinned_files.bound_file import (
    COMPLETED,
    Bound,
    Key,
    Place,
    around,
    identity_of,
    last_part,
)
from core.runner.supervisor.pinned_files.file_leases import Leases
from core.runner.supervisor.protocol import CHANGED, Pin, Stage, unseen

_SET_ID = stat.S_ISUID | stat.S_ISGID

_MOST_AT_ONCE = 64
_NEXT_MS = 1
_BUSY_PART, _HOT_PART = 2, 4 / 3
_PAUSE_S, _LONG_PAUSE_S = 0.02, 0.5
"""Answering costs CPU, and the commands' CPU limit is this process's too: after half of it, answers
are spaced out, after three quarters of it to about 100 per second."""

_CHANGING = os.O_ACCMODE | os.O_TRUNC

_ITS_OWN_AFFAIR = {errno.ENOENT, errno.ESRCH, errno.EACCES, errno.EPERM, errno.EIO, errno.EFAULT}
"""Why a process cannot be inspected though nothing is wrong here: it ended, its memory is closed to
us, or its call points at nothing. Any other error (no descriptor, no memory) is our own problem."""


class _Watched:
    """The files that one command, and all that it starts, must find as they were approved."""

    __slots__ = ("_at", "bound", "last_parts", "parts")

    def __init__(self, bound: list[Bound]) -> None:
        self.bound = bound
        self.last_parts = set().union(*(one.last_parts for one in bound))
        self.last_parts |= {last + end for last in self.last_parts for end in COMPLETED}
        self.parts = set().union(*(one.parts for one in bound)) - {b""}
        self._at: dict[bytes | Key, list[int]] = {}
        for number, one in enumerate(bound):
            for place in one.places:
                self._at.setdefault(place, []).append(number)

    def may_be(self, folder: str, path: bytes, *, moves: bool) -> bool:
        """Return whether a path may be one of the names, or lead on from it, by its parts alone.

        Raises:
            OSError: its folder cannot be looked up.
        """
        if moves and last_part(path) in self.parts:
            return True
        if not self.last_parts.isdisjoint(path.split(b"/")):
            return True
        if path.startswith(b"/"):
            return False
        above = os.readlink(os.fsencode(folder))  # noqa: PTH115 - pathlib is outside the import budget
        return not self.last_parts.isdisjoint(above.split(b"/"))

    def near(self, place: Place) -> list[Bound]:
        """Return the files of which a path may be a name, lead on from it, or be read instead."""
        found = set[int]()
        for path in around(place.path):
            found.update(self._at.get(path, ()))
        for device, inode, rest in place.keys:
            for part in around(rest):
                found.update(self._at.get((device, inode, part), ()))
        return [self.bound[number] for number in sorted(found)]


class Delivery:
    """The commands of a run that find their bound files as approved; ``poll`` watches them."""

    def __init__(self, poll: select.poll, leases: Leases, note: Callable[[str], object]) -> None:
        self._poll = poll
        self.leases = leases
        self._note = note
        self._watched: dict[int, _Watched] = {}
        self._busy_s = self._hot_s = 0.0

    def pace(self, cpu_s: float) -> None:
        """Answer as many calls as a CPU limit (seconds) leaves time for."""
        self._busy_s, self._hot_s = cpu_s / _BUSY_PART, cpu_s / _HOT_PART

    def bind(self, stage: Stage, fds: list[int], bound: list[Bound]) -> str:
        """Add to ``bound`` what a command must find in its folder as it was approved.

        Return what is not as it was, or ``""``. Nothing is bound if that cannot be enforced.
        """
        pins = [pin for pin in stage["pins"] if pin["names"]]
        if not (pins or stage["absent"]) or open_notifier.fault() or _raises_rights(stage["pins"]):
            return ""
        for pin in pins:
            try:
                bound.append(_bind(pin))
            except OSError as error:
                return unseen(pin["path"], error)
        bound += [Bound([path]) for path in stage["absent"]]
        status, path = os.fstat(fds[stage["folder"]]), os.fsencode(stage["folder_path"])
        for one in bound:
            one.settle((status.st_dev, status.st_ino), path)
        return ""

    def start(self, bound: list[Bound], spawn: Callable[[], int]) -> int:
        """Start a command by a function, so that it finds files as they were approved.

        Raises:
            OSError: it cannot be started.
        """
        if not bound:
            return spawn()
        listener, pid = open_notifier.under_listener(spawn)
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
                self._forget(listener)  # no process is left that could call
                return
            notice = open_notifier.receive(listener)
            if notice is not None:
                self._answer(listener, watched, notice)
        used = time.process_time()
        if used > self._busy_s:
            time.sleep(_PAUSE_S if used < self._hot_s else _LONG_PAUSE_S)

    def _answer(self, listener: int, watched: _Watched, notice: open_notifier.Notice) -> None:
        try:
            if notice.asks_folder or notice.reads_link:
                answered = self._lead(listener, watched, notice)
            else:
                answered = self._open(listener, watched, notice)
        except OSError as error:
            answered = error.errno not in _ITS_OWN_AFFAIR
            if answered:
                open_notifier.refuse(listener, notice, error.errno or errno.EACCES)
        if not answered:
            open_notifier.proceed(listener, notice)

    def _open(self, listener: int, watched: _Watched, notice: open_notifier.Notice) -> bool:
        """Answer a call that opens or changes something; ``False`` if it is not about our files.

        Raises:
            OSError: its process cannot be inspected.
        """
        bound, forbidden = self._meant(watched, notice)
        if bound is None:
            return False
        if forbidden:
            if not bound.absent:
                self._report(bound)
            open_notifier.refuse(listener, notice, forbidden)
        else:
            self._deliver(listener, notice, bound)
        return True

    def _lead(self, listener: int, watched: _Watched, notice: open_notifier.Notice) -> bool:
        """Answer a call that asks where a name leads, or what a folder is called, as approved.

        Raises:
            OSError: its process cannot be inspected.
        """
        bound = [one for one in watched.bound if not one.own]
        if notice.asks_folder:
            folder = identity_of(os.fsencode(notice.working_folder))
            names = (one.called(folder) for one in bound if folder is not None)
            text = next(filter(None, names), b"") + b"\0"
            if len(text) == 1 or len(text) > notice.room():
                return False
            open_notifier.fill(listener, notice, text)
            return True
        ((folder_path, path),) = notice.paths()
        if last_part(path) not in watched.parts:
            return False
        place = Place(folder_path, path)
        for one in bound:
            leading = one.leading(place)
            if leading is not None:
                led = one.led(leading)
                if led is None:
                    open_notifier.refuse(listener, notice, errno.EINVAL)
                else:
                    open_notifier.fill(listener, notice, led)
                return True
        return False

    def _deliver(self, listener: int, notice: open_notifier.Notice, bound: Bound) -> None:
        """Answer a call with a descriptor of what was approved.

        Raises:
            OSError: there is none left for it.
        """
        try:
            flags, fd = notice.flags(), bound.open(self.leases)
        except OSError as error:
            unseen(bound.name, error)
            flags, fd = 0, -1
        if fd < 0:
            self._report(bound)
            open_notifier.refuse(listener, notice, errno.EACCES)
            return
        bound.read = True
        open_notifier.hand_over(listener, notice, fd, flags)
        os.close(fd)

    def _report(self, bound: Bound) -> None:
        if not bound.reported:
            bound.reported = True
            self._note(f"sayso: {CHANGED.format(bound.name)}, so it was not read\n")

    def _meant(self, watched: _Watched, notice: open_notifier.Notice) -> tuple[Bound | None, int]:
        """Return which of our files a call would read, if any, and what forbids that (errno).

        What it changes is noted.

        Raises:
            OSError: its process cannot be inspected.
        """
        flags = notice.flags() if notice.opens else os.O_WRONLY
        for folder, path in notice.paths():
            if not watched.may_be(folder, path, moves=notice.moves):
                continue
            place = Place(folder, path)
            near = watched.bound if notice.moves else watched.near(place)
            for one, forbidden in list(_meaning(near, place, moves=notice.moves)):
                if not flags & (_CHANGING | (os.O_CREAT if one.absent else 0)):
                    return one, forbidden
                if one.is_instead(place):
                    one.read = True  # the file next to it is the command's own
                else:
                    one.own = True
                self.leases.give_back(at_once=True)
        return None, 0


def _meaning(bound: list[Bound], place: Place, *, moves: bool) -> Iterator[tuple[Bound, int]]:
    """Yield what a path means, except the command's own files, and what forbids reading it."""
    theirs = [one for one in bound if not one.own]
    at = [one for one in bound if one.is_at(place) or (moves and one.is_below(place))]
    for one in theirs:
        if one.is_instead(place) and (not at or not one.is_there()):
            yield one, errno.ENOENT
    yield from ((one, errno.ENOENT if one.absent else 0) for one in at if not one.own)
    for one in theirs:
        if one.is_above(place):
            yield one, errno.ENOENT if one.absent else errno.ENOTDIR


def close(bound: list[Bound]) -> None:
    """Release files."""
    for one in bound:
        one.close()


def _raises_rights(pins: list[Pin]) -> bool:
    """Return whether a program gives root's rights, which no process gets under a filter.

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
    """Return the bound form of a file to which its name must still lead.

    Raises:
        OSError: it leads elsewhere, or its content changes.
    """
    fd = os.open(pin["path"], os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        bound = Bound(pin["names"], fd)
        same = list(identity(os.fstat(fd))) == list(pin["identity"]) and bound.has(pin["sha256"])
    except BaseException:
        os.close(fd)
        raise
    if not same:
        bound.close()
        raise OSError(errno.ESTALE, "it is another file")
    return bound
