"""Receive the calls by which a command's processes open and follow names, and answer them.

A filter on a process, and so on all that it starts, makes each such call wait for an answer
(seccomp_unotify(2)). Only the one that started the process has the listener.
"""

import _thread
import ctypes
import errno
import fcntl
import functools
import os
import platform
import struct
from collections.abc import Callable
from typing import TypeVar

from core.runner.supervisor.pinned_files import open_filter

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER, _NEW_LISTENER, _WAIT_KILLABLE = 1, 1 << 3, 1 << 5
_PR_SET_NO_NEW_PRIVS = 38

_RECEIVE, _SEND, _ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40182103
_CONTINUE, _ADD_AND_SEND = 1, 1 << 1

_NOTICE = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_ADDED = struct.Struct("=QIIII")
_WAITS = 0x40082102
_ID = struct.Struct("=Q")

_LONGEST_PATH = 4096
_AT_FDCWD = -100
_STACK = 256 * 1024
_ONLY_ADMINISTRATORS = 2

_T = TypeVar("_T")

_BUFFER_OF = {"readlink": (1, 2), "readlinkat": (2, 3), "getcwd": (0, 1)}
"""Which arguments are the address and the size of what a call fills with text."""


class Notice:
    """A call that waits for its answer."""

    __slots__ = ("_arguments", "id", "name", "pid")

    def __init__(self, data: bytearray) -> None:
        self.id, self.pid, _, number, arch, _, *self._arguments = _NOTICE.unpack(data)
        # The x32 numbers of x86-64 are the others with a bit on top.
        self.name = open_filter.CALLS.get((arch, number & open_filter.NOT_X32), "")

    @property
    def opens(self) -> bool:
        """Return whether the call opens a file, as opposed to changing what a name means."""
        return self.name in open_filter.OPENING

    @property
    def moves(self) -> bool:
        """Return whether the call may move a folder with all that is in it."""
        return self.name in open_filter.MOVING

    @property
    def reads_link(self) -> bool:
        """Return whether the call asks where a link leads."""
        return self.name in {"readlink", "readlinkat"}

    @property
    def asks_folder(self) -> bool:
        """Return whether the call asks for the name of the working folder."""
        return self.name == "getcwd"

    @property
    def working_folder(self) -> str:
        """Return where in /proc the working folder of the process is."""
        return f"/proc/{self.pid}/cwd"

    def room(self) -> int:
        """Return how many bytes of text the call has room for."""
        return int(self._arguments[_BUFFER_OF[self.name][1]])

    def write(self, listener: int, text: bytes) -> bool:
        """Write text where the call wants it; ``False`` if its process is gone.

        Raises:
            OSError: it cannot be written to.
        """
        memory = os.open(f"/proc/{self.pid}/mem", os.O_WRONLY | os.O_CLOEXEC)
        try:
            # Checked again after opening it: the process number may be another's by then.
            if not waits(listener, self):
                return False
            os.pwrite(memory, text, self._arguments[_BUFFER_OF[self.name][0]])
        finally:
            os.close(memory)
        return True

    def flags(self) -> int:
        """Return the flags of a call that opens.

        Raises:
            OSError: they cannot be read.
        """
        if self.name in open_filter.FLAGS_OF:
            return int(self._arguments[open_filter.FLAGS_OF[self.name]]) & 0xFFFFFFFF
        how = self._read(self._arguments[open_filter.HOW_OF[self.name]], 8)
        return int.from_bytes(how, "little")

    def paths(self) -> list[tuple[str, bytes]]:
        """Return each path of the call, and the folder in /proc to which it is relative.

        Raises:
            OSError: it cannot be read.
        """
        return [
            (self._folder(folder), self._read(self._arguments[path], _LONGEST_PATH).split(b"\0")[0])
            for folder, path in open_filter.PATHS[self.name]
        ]

    def _folder(self, argument: int | None) -> str:
        if argument is not None:
            fd = ctypes.c_int(self._arguments[argument] & 0xFFFFFFFF).value
            if fd != _AT_FDCWD:
                return f"/proc/{self.pid}/fd/{fd}"
        return self.working_folder

    def _read(self, address: int, most: int) -> bytes:
        memory = os.open(f"/proc/{self.pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(memory, most, address)
        finally:
            os.close(memory)


def receive(listener: int) -> Notice | None:
    """Return a call that waits; ``None`` if its process is gone by now."""
    data = bytearray(_NOTICE.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, data)
    except OSError:
        return None
    return Notice(data)


def proceed(listener: int, notice: Notice) -> None:
    """Let the kernel carry out the call."""
    _send(listener, _ANSWER.pack(notice.id, 0, 0, _CONTINUE))


def refuse(listener: int, notice: Notice, number: int) -> None:
    """Let the call fail with an ``errno``."""
    _send(listener, _ANSWER.pack(notice.id, 0, -number, 0))


def waits(listener: int, notice: Notice) -> bool:
    """Return whether a call still waits: else its process number may be another's by now."""
    try:
        fcntl.ioctl(listener, _WAITS, _ID.pack(notice.id))
    except OSError:
        return False
    return True


def fill(listener: int, notice: Notice, text: bytes) -> None:
    """Let a call return a text, as much as it has room for.

    Raises:
        OSError: the process's memory cannot be written to.
    """
    kept = text[: notice.room()]
    if notice.write(listener, kept):
        _send(listener, _ANSWER.pack(notice.id, len(kept), 0, 0))


def hand_over(listener: int, notice: Notice, fd: int, flags: int) -> None:
    """Let a call that opens with some flags return a descriptor of what is open here as ``fd``."""
    added = _ADDED.pack(notice.id, _ADD_AND_SEND, fd, 0, flags & os.O_CLOEXEC)
    try:
        fcntl.ioctl(listener, _ADD_DESCRIPTOR, added)
    except OSError as error:
        refuse(listener, notice, error.errno or errno.EMFILE)


def _send(listener: int, answer: bytes) -> None:
    try:
        fcntl.ioctl(listener, _SEND, answer)
    except OSError:
        return  # it was killed in the meantime


def under_listener(start: Callable[[], int]) -> tuple[int, int]:
    """Start a program by a function; return a listener for all that it opens, and its number.

    A thread gives itself the filter, and what it starts inherits that: no code has to run between
    fork and exec, and this process stays as it was. Before its first instruction, the program may
    open files only with O_RDWR and no other flag: ``start`` blocks the process that would answer.

    Raises:
        OSError: it cannot be started.
    """

    def work() -> tuple[int, int]:
        listener = _listen()
        try:
            return listener, start()
        except OSError:
            os.close(listener)
            raise

    return _in_thread(work)


@functools.cache
def fault() -> str:
    """Return why nothing can be seen on this machine, or ``""``; looked up once."""
    if platform.machine() not in open_filter.MACHINES:
        return f"its system calls are not known on {platform.machine()}"
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as file:  # noqa: PTH123 - outside the import budget
            if int(file.read()) >= _ONLY_ADMINISTRATORS and os.geteuid() != 0:
                return "kernel.yama.ptrace_scope is 2 or more"
    except OSError:
        pass  # a kernel without Yama
    try:
        return _in_thread(_try_out)
    except OSError as error:
        return f"the kernel refuses it ({error.strerror})"


def _try_out() -> str:
    listener = _listen()
    try:
        fcntl.ioctl(listener, _ADD_DESCRIPTOR, _ADDED.pack(0, _ADD_AND_SEND, listener, 0, 0))
    except OSError as error:
        # No call waits, so a kernel that supports this (from 5.14 on) answers ENOENT.
        return "" if error.errno == errno.ENOENT else "the kernel is older than 5.14"
    finally:
        os.close(listener)
    return ""


def _in_thread(work: Callable[[], _T]) -> _T:
    done, results, errors = _thread.allocate_lock(), list[_T](), list[OSError]()

    def run() -> None:
        try:
            results.append(work())
        except OSError as error:
            errors.append(error)
        finally:
            done.release()

    done.acquire()
    _thread.stack_size(_STACK)
    try:
        _thread.start_new_thread(run, ())
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, "no thread for it") from error
    done.acquire()
    if errors:
        raise errors[0]
    return results[0]


def _listen() -> int:
    """Put this thread, and all that it will start, under a filter; return the listener.

    Raises:
        OSError: the kernel refused.
    """
    program = open_filter.program()
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack(
        "@HP", len(program) // open_filter.INSTRUCTION.size, ctypes.addressof(code)
    )
    call = _libc().syscall
    number = _SECCOMP[platform.machine()]
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):
        for _ in range(2):
            listener = int(call(number, _SET_MODE_FILTER, flags, header))
            if listener >= 0:
                return listener
            if ctypes.get_errno() != errno.EACCES:
                break
            # Without system rights, a filter is only for processes that can gain none any more.
            _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
