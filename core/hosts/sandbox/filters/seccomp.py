"""Write the system call filter of the sandbox as BPF (seccomp(2), linux/bpf_common.h).

Everything except what is named here is let through. A call that only has forbidden uses is answered
with EPERM; a call by another architecture's numbers ends the process, because its numbers would
mean other calls (the x32 numbers of x86-64 among them).
"""

import errno
import platform
import struct
from dataclasses import dataclass
from itertools import pairwise

from core.hosts.sandbox.filters.call_rules import (
    A_THREAD,
    AT_ONCE,
    FAMILIES,
    FLAGS_OF,
    GRANTING,
    MAKES_A_FILE,
    MODE_OF,
    NEW_NAMESPACES,
    NEW_TIME,
    OWN_DESCRIPTORS,
    PAIR_TO_ANYBODY,
    RANGE_UNSHARES,
    REFUSED,
    SET_ID,
    TTY_REQUESTS,
    UNIX,
    UNREADABLE,
)
from core.hosts.sandbox.filters.syscalls import AARCH64, X86_64

_INSTRUCTION = struct.Struct("=HBBI")

_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCH_AT = 0, 4
_ARGUMENT_AT = (16, 24, 32, 40)
"""Offsets of the low halves of arguments 0 to 3. The kernel reads flags, modes, family and request
as 32 bits or fewer, so the high halves must not be compared (CVE-2019-10063)."""

_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_X32 = 0x40000000

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
    """Return how the calls are answered, in the order of their numbers and without gaps."""
    calls = {numbers[name]: [_refuse(errno.EPERM)] for name in REFUSED if name in numbers}
    calls |= {numbers[name]: [_refuse(errno.ENOSYS)] for name in UNREADABLE}
    calls |= {numbers[name]: [_refuse(errno.ENOTSUP)] for name in (*GRANTING, *AT_ONCE)}
    calls |= {numbers[name]: _mode(at) for name, at in MODE_OF.items() if name in numbers}
    calls |= {numbers[name]: _creation(at) for name, at in FLAGS_OF.items() if name in numbers}
    calls[numbers["clone"]] = _clones()
    calls[numbers["unshare"]] = _without(NEW_NAMESPACES | NEW_TIME | OWN_DESCRIPTORS, 0)
    calls[numbers["close_range"]] = _without(RANGE_UNSHARES, 2)
    calls[numbers["ioctl"]] = _requests()
    calls[numbers["socket"]] = _families((*FAMILIES, UNIX) if unix_sockets else FAMILIES)
    calls[numbers["socketpair"]] = _families((UNIX,)) if unix_sockets else _pairs()
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
    return _without(SET_ID, at)


def _creation(at: int) -> list[bytes]:
    """Check the mode after the flags in argument ``at``, if these create a file."""
    return [
        _op(_LOAD, _ARGUMENT_AT[at]),
        _op(_ANY_OF, MAKES_A_FILE, 1, 0),
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


def _clones() -> list[bytes]:
    """Refuse new namespaces, and a thread that does not share the descriptors of its process."""
    return [
        _op(_LOAD, _ARGUMENT_AT[0]),
        _op(_ANY_OF, NEW_NAMESPACES, 2, 0),
        _op(_ANY_OF, A_THREAD, 0, 2),
        _op(_ANY_OF, OWN_DESCRIPTORS, 1, 0),
        _refuse(errno.EPERM),
        _op(_RETURN, _ALLOW),
    ]


def _requests() -> list[bytes]:
    checks = [
        part
        for request in TTY_REQUESTS
        for part in (_op(_EQUAL, request, 0, 1), _refuse(errno.EPERM))
    ]
    return [_op(_LOAD, _ARGUMENT_AT[1]), *checks, _op(_RETURN, _ALLOW)]


def _families(allowed: tuple[int, ...]) -> list[bytes]:
    checks = [
        part for family in allowed for part in (_op(_EQUAL, family, 0, 1), _op(_RETURN, _ALLOW))
    ]
    return [_op(_LOAD, _ARGUMENT_AT[0]), *checks, _refuse(errno.EAFNOSUPPORT)]


def _pairs() -> list[bytes]:
    """Allow pairs of Unix sockets that can only ever be connected to each other."""
    return [
        _op(_LOAD, _ARGUMENT_AT[0]),
        _op(_EQUAL, UNIX, 1, 0),
        _refuse(errno.EAFNOSUPPORT),
        *_without(PAIR_TO_ANYBODY, 1, errno.ESOCKTNOSUPPORT),
    ]


def _refuse(number: int) -> bytes:
    return _op(_RETURN, _ERRNO | number)


def _op(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, if_true, if_false, operand)
