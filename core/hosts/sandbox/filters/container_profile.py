"""Write the system call filter of containers as engines read it (docker-run(1), ``seccomp=``).

It is made from the names in the filter for bubblewrap, inverted: what is named is allowed and
everything else is answered with ENOSYS. An engine skips a name that its library does not know, so a
list of what is refused would let through a new call that sets modes.
"""

import errno
import json
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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
    RANGE_UNSHARES,
    REFUSED,
    SET_ID,
    UNIX,
    UNREADABLE,
)

_Rule = dict[str, object]

_ALL_BITS = 0xFFFFFFFF
_PERSONALITIES = (0, 8, 0x20000, 0x20008, _ALL_BITS)
"""PER_LINUX and PER_LINUX32, with and without UNAME26, and the question which it is."""

_MACHINES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}

_ALLOWED: Final = Path(__file__).with_name("container_calls.txt").read_text("ascii").split()
"""What podman lets unprivileged containers do, without what is refused or checked here."""


def profile_for(machine: str = "") -> bytes | None:
    """Return the profile as JSON; ``None`` for an unknown architecture.

    A call of another architecture is answered by the engine's library, which ends the process.
    """
    found = _MACHINES.get(machine or platform.machine())
    if found is None:
        return None
    profile = {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": errno.ENOSYS,
        "architectures": [found],
        "syscalls": list(_rules()),
    }
    return json.dumps(profile).encode()


def _rules() -> Iterator[_Rule]:
    yield _allow(*_ALLOWED)
    yield from (_allow("personality", _is(0, value)) for value in _PERSONALITIES)
    yield from (_allow(name, _has_none(at, SET_ID)) for name, at in MODE_OF.items())
    for name, at in FLAGS_OF.items():
        yield _allow(name, _has_none(at, MAKES_A_FILE))
        yield _allow(name, _has_none(at + 1, SET_ID))
    yield _allow("clone", _has_none(0, NEW_NAMESPACES | A_THREAD))
    yield _allow("clone", _has_only(0, NEW_NAMESPACES | OWN_DESCRIPTORS, OWN_DESCRIPTORS))
    yield _allow("unshare", _has_none(0, NEW_NAMESPACES | NEW_TIME | OWN_DESCRIPTORS))
    yield _allow("close_range", _has_none(2, RANGE_UNSHARES))
    yield from (_allow("socket", _is(0, family)) for family in {*FAMILIES, UNIX})
    yield _allow("socketpair", _is(0, UNIX))
    yield _refuse(errno.ENOSYS, *UNREADABLE)
    yield _refuse(errno.ENOTSUP, *GRANTING, *AT_ONCE)
    yield _refuse(errno.EPERM, *REFUSED)


def _allow(*names: str | _Rule) -> _Rule:
    """Return the rule that allows calls, under the conditions among the words."""
    words = [one for one in names if isinstance(one, str)]
    conditions = [one for one in names if not isinstance(one, str)]
    return {"names": words, "action": "SCMP_ACT_ALLOW", "args": conditions}


def _refuse(number: int, *names: str) -> _Rule:
    return {"names": list(names), "action": "SCMP_ACT_ERRNO", "errnoRet": number}


def _has_none(at: int, bits: int) -> _Rule:
    """Return the condition that none of these bits is set in argument ``at``."""
    return _has_only(at, bits, 0)


def _has_only(at: int, among: int, bits: int) -> _Rule:
    """Return the condition that of the bits ``among`` in argument ``at`` exactly these are set."""
    return {"index": at, "value": among, "valueTwo": bits, "op": "SCMP_CMP_MASKED_EQ"}


def _is(at: int, value: int) -> _Rule:
    """Return the condition on the lower half of argument ``at``, which is all the kernel reads."""
    return {"index": at, "value": _ALL_BITS, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
