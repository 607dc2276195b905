"""Run the filter in a small interpreter of BPF; the kernel runs it in test_sandbox_escape."""

import errno
import re
import struct
from pathlib import Path

import pytest

from core.hosts.sandbox.filters.seccomp import MACHINES, filter_for
from core.hosts.sandbox.filters.syscalls import AARCH64, X86_64
from tests.support.tables import rows

ALLOW, KILL = 0x7FFF0000, 0x80000000
DENY = 0x00050000 | errno.EPERM
NO_SUCH_CALL = 0x00050000 | errno.ENOSYS
NOT_SUPPORTED = 0x00050000 | errno.ENOTSUP
MODES = {"chmod": 1, "fchmod": 1, "mkdir": 1, "mknod": 1, "creat": 1}
MODES |= {"fchmodat": 2, "fchmodat2": 2, "mkdirat": 2, "mknodat": 2}
OPENING = {"open": 1, "openat": 2}


NO_SUCH_FAMILY = 0x00050000 | errno.EAFNOSUPPORT
NO_SUCH_TYPE = 0x00050000 | errno.ESOCKTNOSUPPORT


def ruled(
    machine: str,
    number: int,
    *arguments: int,
    arch: int | None = None,
    unix_sockets: bool = False,
) -> int:
    """Return what the filter of a machine returns for a call."""
    return followed(machine, number, *arguments, arch=arch, unix_sockets=unix_sockets)[0]


def followed(
    machine: str,
    number: int,
    *arguments: int,
    arch: int | None = None,
    unix_sockets: bool = False,
) -> tuple[int, int]:
    """Return the filter's result, and after how many operations (linux/filter.h)."""
    program = filter_for(machine, unix_sockets=unix_sockets)
    assert program is not None
    words = [MACHINES[machine].arch if arch is None else arch, 0, 0]
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("=iIQ6Q", number, words[0], 0, *padded)
    operations = list(struct.iter_unpack("=HBBI", program))
    at, loaded = 0, 0
    for count in range(1, len(operations) + 1):
        code, if_true, if_false, operand = operations[at]
        at += 1
        match code:
            case 0x20:
                (loaded,) = struct.unpack_from("=I", data, operand)
            case 0x15:
                at += if_true if loaded == operand else if_false
            case 0x35:
                at += if_true if loaded >= operand else if_false
            case 0x45:
                at += if_true if loaded & operand else if_false
            case 0x06:
                return int(operand), count
            case _:
                raise AssertionError(code)
    raise AssertionError("a filter has no loops")


@pytest.mark.parametrize(("machine", "numbers"), [("x86_64", X86_64), ("aarch64", AARCH64)])
def test_what_is_named_is_refused_and_nothing_else(machine: str, numbers: dict[str, int]) -> None:
    """Each named call, and no other number up to 500."""
    by_argument = {
        "clone",
        "unshare",
        "close_range",
        "ioctl",
        "socket",
        "socketpair",
        *MODES,
        *OPENING,
    }
    for name, number in numbers.items():
        if name in {"clone3", "openat2"}:
            assert ruled(machine, number) == NO_SUCH_CALL
        elif "setxattr" in name or name == "fallocate":
            assert ruled(machine, number) == NOT_SUPPORTED
        elif name not in by_argument:
            assert ruled(machine, number) == DENY, name
    for number in set(range(500)) - set(numbers.values()):
        assert ruled(machine, number) == ALLOW, number


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_is_killed(machine: str) -> None:
    """Its numbers mean other calls; those of x32 are recognised by a bit."""
    assert ruled(machine, 0, arch=0x40000003) == KILL
    if machine == "x86_64":
        assert ruled(machine, 0x40000000 | 39) == KILL


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments(machine: str) -> None:
    """New namespaces, typing into terminals and strange families; by the lower half only."""
    numbers = MACHINES[machine].numbers
    clone, unshare = numbers["clone"], numbers["unshare"]
    ioctl, socket = numbers["ioctl"], numbers["socket"]
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert ruled(machine, clone, flag | 17) == ruled(machine, unshare, flag) == DENY
        assert ruled(machine, clone, 1 << 32 | flag) == DENY
    assert ruled(machine, clone, 0x3D0F00) == ruled(machine, unshare, 0x200) == ALLOW
    assert ruled(machine, unshare, 0x80) == DENY
    for request in (0x5412, 0x541C, 1 << 32 | 0x5412):
        assert ruled(machine, ioctl, 0, request) == DENY
    assert ruled(machine, ioctl, 0x5412, 0x5401) == ALLOW
    for family in (2, 10, 16):
        assert ruled(machine, socket, family) == ALLOW
    for family in (1, 17, 38, 40, 44, 1 << 32 | 40, 1 << 32 | 1):
        assert ruled(machine, socket, family) == NO_SUCH_FAMILY


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_share_their_descriptors(machine: str) -> None:
    """A thread gets none of its own: not by clone, unshare or close_range; a process does."""
    numbers = MACHINES[machine].numbers
    clone, closes = numbers["clone"], numbers["close_range"]

    assert ruled(machine, clone, 0x3D0B00) == ruled(machine, clone, 0x10000) == DENY
    assert ruled(machine, numbers["unshare"], 0x400) == DENY
    assert ruled(machine, closes, 3, 9, 2) == ruled(machine, closes, 3, 9, 6) == DENY
    assert ruled(machine, clone, 17) == ruled(machine, clone, 0x10400) == ALLOW
    assert ruled(machine, closes, 3, 9, 4) == ALLOW


FLAGS = (0, 0x800, 0x80000, 0x80800)
"""SOCK_NONBLOCK and SOCK_CLOEXEC, which come with a socket's type."""


@rows("machine", MACHINES)
@pytest.mark.parametrize("flags", FLAGS)
def test_only_pairs_of_unix_sockets_that_lead_to_each_other(machine: str, flags: int) -> None:
    """SOCK_STREAM and SOCK_SEQPACKET; SOCK_RAW makes a datagram socket, which goes anywhere."""
    pair = MACHINES[machine].numbers["socketpair"]
    for kind in (1, 5):
        assert ruled(machine, pair, 1, kind | flags) == ALLOW
    for kind in (2, 3, 6, 7, 10, 1 << 32 | 2):
        assert ruled(machine, pair, 1, kind | flags) == NO_SUCH_TYPE
    for family in (0, 2, 10, 16, 30, 1 << 32 | 40):
        assert ruled(machine, pair, family, 1 | flags) == NO_SUCH_FAMILY


@pytest.mark.parametrize("machine", MACHINES)
def test_unix_sockets_can_be_let_through(machine: str) -> None:
    """With the setting all of their calls pass; other families are refused as before."""
    socket, pair = (MACHINES[machine].numbers[name] for name in ("socket", "socketpair"))
    for kind in (1, 2, 3, 5):
        assert ruled(machine, socket, 1, kind, unix_sockets=True) == ALLOW
        assert ruled(machine, pair, 1, kind, unix_sockets=True) == ALLOW
    for number in (socket, pair):
        assert ruled(machine, number, 40, 1, unix_sockets=True) == NO_SUCH_FAMILY


def known(machine: str, places: dict[str, int]) -> list[tuple[int, list[int]]]:
    """Return the numbers of a machine's calls, each with the arguments before the place."""
    numbers = MACHINES[machine].numbers
    return [(numbers[name], [0] * at) for name, at in places.items() if name in numbers]


@rows("machine", MACHINES)
@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6777, 1 << 32 | 0o4000, 1 << 16 | 0o2000])
def test_modes_that_give_rights(machine: str, mode: int) -> None:
    """Neither set-user-ID nor set-group-ID is set, by whatever call."""
    for number, before in known(machine, MODES):
        assert ruled(machine, number, *before, mode) == DENY
    for number, before in known(machine, OPENING):
        for flags in (0x40, 0x41 | 0x80000, 0x410002):
            assert ruled(machine, number, *before, flags, mode) == DENY


@pytest.mark.parametrize("machine", MACHINES)
def test_other_modes(machine: str) -> None:
    """They pass, and so does an open that makes no file, whatever its register contains."""
    for number, before in known(machine, MODES):
        assert ruled(machine, number, *before, 0o1777) == ALLOW
    for number, before in known(machine, OPENING):
        assert ruled(machine, number, *before, 0x41, 0o644) == ALLOW
        assert ruled(machine, number, *before, 0x80000, 0o6777) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_no_call_takes_long(machine: str) -> None:
    """The kernel tries the filter for each call when it is loaded, and for some at each call."""
    assert max(followed(machine, number)[1] for number in range(500)) <= 20


def test_an_unknown_machine_has_no_filter() -> None:
    """Then the backend does not work there."""
    assert filter_for("riscv64") is None


def test_the_numbers_are_the_kernels() -> None:
    """Compared with the headers of this machine's C library, as far as they know a call."""
    generic = Path("/usr/include/asm-generic/unistd.h").read_text(encoding="ascii")
    found = dict(re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", generic))
    known = {name: number for name, number in AARCH64.items() if name in found}
    assert known == {name: int(found[name]) for name in known}
    assert len(known) > 40
    for header in Path("/usr/include").glob("*/asm/unistd_64.h"):
        text = header.read_text(encoding="ascii")
        found = dict(re.findall(r"#define __NR_(\w+) (\d+)", text))
        known = {name: number for name, number in X86_64.items() if name in found}
        assert known == {name: int(found[name]) for name in known}
