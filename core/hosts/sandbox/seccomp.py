"""Write the system call filter of the sandbox as BPF (seccomp(2), linux/bpf_common.h).

Everything is let through but what is named here. A call that only has forbidden uses is answered
with EPERM; a call by another architecture's numbers ends the process, for its numbers would mean
other calls (the x32 numbers of x86-64 among them).
"""

import errno
import platform
import struct
from dataclasses import dataclass
from itertools import pairwise

from core.hosts.sandbox.syscalls import AARCH64, X86_64

_INSTRUCTION = struct.Struct("=HBBI")

_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCH_AT = 0, 4
_ARGUMENT_AT = (16, 24, 32, 40)
"""Offsets of the low halves of arguments 0 to 3. The kernel reads flags, modes, family and request
as 32 bits or fewer, so the high halves must not be compared (CVE-2019-10063)."""

_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_X32 = 0x40000000

_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_NEW_TIME = 0x80
"""CLONE_NEWTIME; in ``clone`` the same bit belongs to the signal number."""

_FAMILIES = (0, 2, 10, 16)
"""AF_UNSPEC, INET, INET6, NETLINK. AF_VSOCK would reach past the network namespace."""

_UNIX = 1
"""AF_UNIX. A filter sees neither the path that a socket is connected to nor what listens there, so
without ``unix_sockets`` none is made at all. What ``socketpair`` makes is connected already and
cannot be connected again (EISCONN, unix(7)), but for datagrams: those name an address each."""

_PAIR_TO_ANYBODY = 0b1010
"""Set in SOCK_DGRAM and SOCK_RAW, which makes a datagram pair as well; in no SOCK_STREAM or
SOCK_SEQPACKET, nor in the flags SOCK_CLOEXEC and SOCK_NONBLOCK."""

_TTY_REQUESTS = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: they type into the terminal of whoever started this."""

_SET_ID = 0o6000
"""S_ISUID and S_ISGID. Files in the workspace belong to the gateway's user outside as well, so a
program with these bits would give that user's rights to whoever may reach the workspace."""

_MODE_OF = {"chmod": 1, "fchmod": 1, "mkdir": 1, "mknod": 1, "creat": 1}
_MODE_OF |= {"fchmodat": 2, "fchmodat2": 2, "mkdirat": 2, "mknodat": 2}
"""Which argument is a file's mode. On directories too: a filter cannot tell what a path names."""

_FLAGS_OF = {"open": 1, "openat": 2}
"""Which argument are the flags of a call whose next one is a mode, if the call makes a file."""

_MAKES_A_FILE = 0x40 | 0x400000
"""O_CREAT and __O_TMPFILE; without them the mode is whatever the register held (open(2))."""

_UNREADABLE = ("clone3", "openat2")
"""Calls whose flags or modes lie in memory, which a filter cannot read; callers fall back."""

_GRANTING = ("setxattr", "lsetxattr", "fsetxattr", "setxattrat")
"""Extended attributes hold access lists and file capabilities; which one is named in memory.
ENOTSUP is what a file system without them answers, and copying programs go on without."""

_AT_ONCE = ("fallocate",)
"""Takes room on a disk at once, faster than it can be noticed (``core.runner.disk_use``). ENOTSUP
is what a file system without it answers, and posix_fallocate(3) then writes instead."""

_REFUSED = (
    *("mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr", "move_mount"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "setns"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd"),
    *("kexec_load", "kexec_file_load", "reboot", "init_module", "finit_module", "delete_module"),
    *("bpf", "perf_event_open", "userfaultfd", "fanotify_init", "open_by_handle_at"),
    *("add_key", "request_key", "keyctl"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex"),
    *("swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "vhangup"),
    *("lookup_dcookie", "iopl", "ioperm", "modify_ldt", "uselib"),
)

_Span = tuple[int, list[bytes]]
"""The first number of some calls in a row, and what to do with them, up to the next such."""


@dataclass(frozen=True, slots=True)
class Machine:
    """An architecture: its AUDIT_ARCH value and the numbers of its system calls."""

    arch: int
    numbers: dict[str, int]
    other_numbers: bool = False


MACHINES = {
    "x86_64": Machine(0xC000003E, X86_64, other_numbers=True),
    "aarch64": Machine(0xC00000B7, AARCH64),
}


def filter_for(machine: str = "", *, unix_sockets: bool = False) -> bytes | None:
    """Return the filter as an array of ``sock_filter``; ``None`` for an unknown architecture.

    ``unix_sockets`` lets commands make Unix sockets and connect them to whatever they can see.
    """
    found = MACHINES.get(machine or platform.machine())
    return None if found is None else b"".join(_program(found, unix_sockets=unix_sockets))


def _program(machine: Machine, *, unix_sockets: bool) -> list[bytes]:
    program = [
        _op(_LOAD, _ARCH_AT),
        _op(_EQUAL, machine.arch, 1, 0),
        _op(_RETURN, _KILL),
        _op(_LOAD, _NUMBER_AT),
    ]
    if machine.other_numbers:
        program += [_op(_AT_LEAST, _X32, 0, 1), _op(_RETURN, _KILL)]
    return [*program, *_search(_spans(machine.numbers, unix_sockets=unix_sockets))]


def _spans(numbers: dict[str, int], *, unix_sockets: bool) -> list[_Span]:
    """Return what becomes of the calls, in the order of their numbers and without gaps."""
    calls = {numbers[name]: [_refuse(errno.EPERM)] for name in _REFUSED if name in numbers}
    calls |= {numbers[name]: [_refuse(errno.ENOSYS)] for name in _UNREADABLE}
    calls |= {numbers[name]: [_refuse(errno.ENOTSUP)] for name in (*_GRANTING, *_AT_ONCE)}
    calls |= {numbers[name]: _mode(at) for name, at in _MODE_OF.items() if name in numbers}
    calls |= {numbers[name]: _creation(at) for name, at in _FLAGS_OF.items() if name in numbers}
    calls[numbers["clone"]] = _without(_NEW_NAMESPACES, 0)
    calls[numbers["unshare"]] = _without(_NEW_NAMESPACES | _NEW_TIME, 0)
    calls[numbers["ioctl"]] = _requests()
    calls[numbers["socket"]] = _families((*_FAMILIES, _UNIX) if unix_sockets else _FAMILIES)
    calls[numbers["socketpair"]] = _families((_UNIX,)) if unix_sockets else _pairs()
    ends = {number + 1: [_op(_RETURN, _ALLOW)] for number in (-1, *calls)}
    spans = sorted((ends | calls).items())
    return [spans[0], *(now for before, now in pairwise(spans) if now[1] != before[1])]


def _search(spans: list[_Span]) -> list[bytes]:
    """Find a call's span by halves: for each call the kernel tries the filter when it is loaded."""
    if len(spans) == 1:
        return spans[0][1]
    middle = len(spans) // 2
    below = _search(spans[:middle])
    return [_op(_AT_LEAST, spans[middle][0], len(below), 0), *below, *_search(spans[middle:])]


def _mode(at: int) -> list[bytes]:
    return _without(_SET_ID, at)


def _creation(at: int) -> list[bytes]:
    """Look at the mode behind the flags in argument ``at``, where they make a file."""
    return [
        _op(_LOAD, _ARGUMENT_AT[at]),
        _op(_ANY_OF, _MAKES_A_FILE, 1, 0),
        _op(_RETURN, _ALLOW),
        *_mode(at + 1),
    ]


def _without(forbidden: int, at: int, number: int = errno.EPERM) -> list[bytes]:
    """Refuse a call if any of these bits is set in argument ``at``."""
    return [
        _op(_LOAD, _ARGUMENT_AT[at]),
        _op(_ANY_OF, forbidden, 0, 1),
        _refuse(number),
        _op(_RETURN, _ALLOW),
    ]


def _requests() -> list[bytes]:
    checks = [
        part
        for request in _TTY_REQUESTS
        for part in (_op(_EQUAL, request, 0, 1), _refuse(errno.EPERM))
    ]
    return [_op(_LOAD, _ARGUMENT_AT[1]), *checks, _op(_RETURN, _ALLOW)]


def _families(allowed: tuple[int, ...]) -> list[bytes]:
    checks = [
        part for family in allowed for part in (_op(_EQUAL, family, 0, 1), _op(_RETURN, _ALLOW))
    ]
    return [_op(_LOAD, _ARGUMENT_AT[0]), *checks, _refuse(errno.EAFNOSUPPORT)]


def _pairs() -> list[bytes]:
    """Let pairs of Unix sockets be made that only ever lead to each other."""
    return [
        _op(_LOAD, _ARGUMENT_AT[0]),
        _op(_EQUAL, _UNIX, 1, 0),
        _refuse(errno.EAFNOSUPPORT),
        *_without(_PAIR_TO_ANYBODY, 1, errno.ESOCKTNOSUPPORT),
    ]


def _refuse(number: int) -> bytes:
    return _op(_RETURN, _ERRNO | number)


def _op(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, if_true, if_false, operand)
