"""See what a command's processes are about to open, and answer for it (seccomp_unotify(2)).

A filter on a process, and so on all that it starts, makes each such call wait for an answer. Only
who started the process has the listener. Stdlib leaf modules only; runs in the supervisor.
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

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER, _NEW_LISTENER, _WAIT_KILLABLE = 1, 1 << 3, 1 << 5
_PR_SET_NO_NEW_PRIVS = 38

_RECEIVE, _SEND, _ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40182103
_CONTINUE, _ADD_AND_SEND = 1, 1 << 1

_NOTICE = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_ADDED = struct.Struct("=QIIII")

_LOAD, _EQUAL, _ANY_OF, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
_ALLOW, _ERRNO, _NOTIFY = 0x7FFF0000, 0x00050000, 0x7FC00000
_NOT_X32 = 0xBFFFFFFF
_INSTRUCTION = struct.Struct("=HBBI")

_LONGEST_PATH = 4096
_AT_FDCWD = -100
_STACK = 256 * 1024
_ONLY_ADMINISTRATORS = 2

_T = TypeVar("_T")

_X86_64, _I386, _AARCH64, _ARM = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028
_OLD = {"open": 5, "creat": 8, "rename": 38, "link": 9, "symlink": 83, "unlink": 10}
_OLD |= {"truncate": 92, "truncate64": 193, "openat2": 437, "io_uring_setup": 425}
_NUMBERS = {
    _X86_64: {
        "open": 2,
        "creat": 85,
        "rename": 82,
        "link": 86,
        "symlink": 88,
        "unlink": 87,
        "openat": 257,
        "renameat": 264,
        "renameat2": 316,
        "linkat": 265,
        "symlinkat": 266,
        "unlinkat": 263,
        "truncate": 76,
        "openat2": 437,
        "io_uring_setup": 425,
    },
    _I386: {
        **_OLD,
        "openat": 295,
        "renameat": 302,
        "renameat2": 353,
        "linkat": 303,
        "symlinkat": 304,
        "unlinkat": 301,
    },
    _AARCH64: {
        "openat": 56,
        "renameat": 38,
        "renameat2": 276,
        "linkat": 37,
        "symlinkat": 36,
        "unlinkat": 35,
        "truncate": 45,
        "openat2": 437,
        "io_uring_setup": 425,
    },
    _ARM: {
        **_OLD,
        "openat": 322,
        "renameat": 329,
        "renameat2": 382,
        "linkat": 330,
        "symlinkat": 331,
        "unlinkat": 328,
    },
}
"""By AUDIT_ARCH value; a 32-bit program on a 64-bit kernel opens by numbers of its own."""

_MACHINES = {"x86_64": (_X86_64, _I386), "aarch64": (_AARCH64, _ARM)}

_PATHS = {
    "open": ((None, 0),),
    "openat": ((0, 1),),
    "openat2": ((0, 1),),
    "creat": ((None, 0),),
    "rename": ((None, 0), (None, 1)),
    "renameat": ((0, 1), (2, 3)),
    "renameat2": ((0, 1), (2, 3)),
    "link": ((None, 1),),
    "linkat": ((2, 3),),
    "symlink": ((None, 1),),
    "symlinkat": ((1, 2),),
    "unlink": ((None, 0),),
    "unlinkat": ((0, 1),),
    "truncate": ((None, 0),),
    "truncate64": ((None, 0),),
}
"""Which arguments of a call are the folder's descriptor and the path that it opens or changes."""

_FLAGS_OF = {"open": 1, "openat": 2}
_HOW_OF = {"openat2": 2}
_OPENING = {*_FLAGS_OF, *_HOW_OF}
_MOVING = {"rename", "renameat", "renameat2"}

_CALLS = {
    (arch, number): name
    for arch, numbers in _NUMBERS.items()
    for name, number in numbers.items()
    if name in _PATHS
}


class Notice:
    """A call that waits for its answer."""

    __slots__ = ("_arguments", "id", "name", "pid")

    def __init__(self, data: bytearray) -> None:
        self.id, self.pid, _, number, arch, _, *self._arguments = _NOTICE.unpack(data)
        # The x32 numbers of x86-64 are the others with a bit on top.
        self.name = _CALLS.get((arch, number & _NOT_X32), "")

    @property
    def opens(self) -> bool:
        """Return whether the call opens a file, as opposed to changing what a name means."""
        return self.name in _OPENING

    @property
    def moves(self) -> bool:
        """Return whether the call may move a folder with all that is in it."""
        return self.name in _MOVING

    def flags(self) -> int:
        """Return the flags of a call that opens.

        Raises:
            OSError: they cannot be read.
        """
        if self.name in _FLAGS_OF:
            return int(self._arguments[_FLAGS_OF[self.name]]) & 0xFFFFFFFF
        how = self._read(self._arguments[_HOW_OF[self.name]], 8)
        return int.from_bytes(how, "little")

    def paths(self) -> list[tuple[str, bytes]]:
        """Return each path of the call, and in /proc the folder from which it counts.

        Raises:
            OSError: it cannot be read.
        """
        return [
            (self._folder(folder), self._read(self._arguments[path], _LONGEST_PATH).split(b"\0")[0])
            for folder, path in _PATHS[self.name]
        ]

    def _folder(self, argument: int | None) -> str:
        if argument is not None:
            fd = ctypes.c_int(self._arguments[argument] & 0xFFFFFFFF).value
            if fd != _AT_FDCWD:
                return f"/proc/{self.pid}/fd/{fd}"
        return f"/proc/{self.pid}/cwd"

    def _read(self, address: int, most: int) -> bytes:
        memory = os.open(f"/proc/{self.pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(memory, most, address)
        finally:
            os.close(memory)


def receive(listener: int) -> Notice | None:
    """Return a call that waits; ``None`` if its process went away meanwhile."""
    data = bytearray(_NOTICE.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, data)
    except OSError:
        return None
    return Notice(data)


def proceed(listener: int, notice: Notice) -> None:
    """Let the kernel carry the call out."""
    _send(listener, _ANSWER.pack(notice.id, 0, 0, _CONTINUE))


def refuse(listener: int, notice: Notice, number: int) -> None:
    """Let the call fail with an ``errno``."""
    _send(listener, _ANSWER.pack(notice.id, 0, -number, 0))


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
        return  # it was killed meanwhile


def under_listener(start: Callable[[], int]) -> tuple[int, int]:
    """Start a program by a function; return a listener for all that it opens, and its number.

    A thread gives itself the filter, and what it starts inherits that: no code has to run between
    fork and exec, and this process stays as it was. The program may open nothing before its first
    instruction but with O_RDWR alone: ``start`` holds up whoever could answer.

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
    if platform.machine() not in _MACHINES:
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
        # No call waits, so that is what a kernel says which got that far; it can from 5.14 on.
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
    program = _program()
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // _INSTRUCTION.size, ctypes.addressof(code))
    call = _libc().syscall
    number = _SECCOMP[platform.machine()]
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):
        for _ in range(2):
            listener = int(call(number, _SET_MODE_FILTER, flags, header))
            if listener >= 0:
                return listener
            if ctypes.get_errno() != errno.EACCES:
                break
            # Without rights over the system, only for those who can gain none any more.
            _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@functools.cache
def _program() -> bytes:
    """Return the filter as an array of ``sock_filter``; what it does not know goes through."""
    program = [_op(_LOAD, _ARCH_AT)]
    for arch in _MACHINES[platform.machine()]:
        block = _block(_NUMBERS[arch])
        program += [_op(_EQUAL, arch, 0, len(block)), *block]
    return b"".join((*program, _op(_RETURN, _ALLOW)))


def _block(numbers: dict[str, int]) -> list[bytes]:
    block = [_op(_LOAD, _NUMBER_AT), _op(_AND, _NOT_X32)]
    for name, number in numbers.items():
        code = _verdict(name)
        block += [_op(_EQUAL, number, 0, len(code)), *code]
    return [*block, _op(_RETURN, _ALLOW)]


def _verdict(name: str) -> list[bytes]:
    if name not in _PATHS:  # io_uring opens files unseen; who asks for it has another way
        return [_op(_RETURN, _ERRNO | errno.ENOSYS)]
    if name not in _FLAGS_OF:
        return [_op(_RETURN, _NOTIFY)]
    return [
        _op(_LOAD, _ARGUMENTS_AT + 8 * _FLAGS_OF[name]),
        _op(_EQUAL, os.O_RDWR, 2, 0),  # see ``under_listener``
        _op(_ANY_OF, os.O_DIRECTORY | os.O_PATH, 1, 0),  # no content is read through these
        _op(_RETURN, _NOTIFY),
        _op(_RETURN, _ALLOW),
    ]


def _op(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, if_so, if_not, value)
