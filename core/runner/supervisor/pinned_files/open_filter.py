"""Define which system calls wait for an answer: their numbers, arguments and the BPF program.

The filter is seccomp(2)'s: an array of ``sock_filter`` that sends each call here to its listener.
"""

import errno
import functools
import os
import platform
import struct

_LOAD, _EQUAL, _ANY_OF, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
_ALLOW, _ERRNO, _NOTIFY = 0x7FFF0000, 0x00050000, 0x7FC00000
NOT_X32 = 0xBFFFFFFF
INSTRUCTION = struct.Struct("=HBBI")

_X86_64, _I386, _AARCH64, _ARM = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028
_OLD = {"open": 5, "creat": 8, "rename": 38, "link": 9, "symlink": 83, "unlink": 10}
_OLD |= {"readlink": 85, "getcwd": 183}
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
        "readlink": 89,
        "readlinkat": 267,
        "getcwd": 79,
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
        "readlinkat": 305,
    },
    _AARCH64: {
        "openat": 56,
        "renameat": 38,
        "renameat2": 276,
        "linkat": 37,
        "symlinkat": 36,
        "unlinkat": 35,
        "readlinkat": 78,
        "getcwd": 17,
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
        "readlinkat": 332,
    },
}
"""By AUDIT_ARCH value; a 32-bit program on a 64-bit kernel opens by its own numbers."""

MACHINES = {"x86_64": (_X86_64, _I386), "aarch64": (_AARCH64, _ARM)}

PATHS = {
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
    "readlink": ((None, 0),),
    "readlinkat": ((0, 1),),
    "getcwd": (),
}
"""Which arguments of a call are the folder's descriptor and the path that it opens, changes or
follows."""

FLAGS_OF = {"open": 1, "openat": 2}
HOW_OF = {"openat2": 2}
OPENING = {*FLAGS_OF, *HOW_OF}
MOVING = {"rename", "renameat", "renameat2"}

CALLS = {
    (arch, number): name
    for arch, numbers in _NUMBERS.items()
    for name, number in numbers.items()
    if name in PATHS
}


@functools.cache
def program() -> bytes:
    """Return the filter as an array of ``sock_filter``; calls that it does not know are allowed."""
    program = [_op(_LOAD, _ARCH_AT)]
    for arch in MACHINES[platform.machine()]:
        block = _block(_NUMBERS[arch])
        program += [_op(_EQUAL, arch, 0, len(block)), *block]
    return b"".join((*program, _op(_RETURN, _ALLOW)))


def _block(numbers: dict[str, int]) -> list[bytes]:
    block = [_op(_LOAD, _NUMBER_AT), _op(_AND, NOT_X32)]
    for name, number in numbers.items():
        code = _verdict(name)
        block += [_op(_EQUAL, number, 0, len(code)), *code]
    return [*block, _op(_RETURN, _ALLOW)]


def _verdict(name: str) -> list[bytes]:
    if name not in PATHS:  # io_uring opens files unseen; its users have another way
        return [_op(_RETURN, _ERRNO | errno.ENOSYS)]
    if name not in FLAGS_OF:
        return [_op(_RETURN, _NOTIFY)]
    return [
        _op(_LOAD, _ARGUMENTS_AT + 8 * FLAGS_OF[name]),
        _op(_EQUAL, os.O_RDWR, 2, 0),  # see ``open_notifier.under_listener``
        _op(_ANY_OF, os.O_DIRECTORY | os.O_PATH, 1, 0),  # no content is read through these
        _op(_RETURN, _NOTIFY),
        _op(_RETURN, _ALLOW),
    ]


def _op(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return INSTRUCTION.pack(code, if_so, if_not, value)
