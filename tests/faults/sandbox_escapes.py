"""Carry out attacks on the sandbox, inside and outside of it."""

import asyncio
import contextlib
import secrets
import subprocess
from collections.abc import Iterator

from tests.faults import sandbox_attacks as attacks
from tests.support.sandbox import (
    PYTHON,
    HomeBeside,
)

AGAINST_FILES = {
    "reads the gateway's home": attacks.READS_THE_HOME,
    "reads it by a link": attacks.READS_THE_HOME_BY_A_LINK,
    "reads it by a hard link": attacks.READS_THE_HOME_BY_A_HARD_LINK,
    "reads it by another's root": attacks.READS_THE_HOME_BY_A_ROOT,
    "reads it by a descriptor": attacks.READS_THE_HOME_BY_A_DESCRIPTOR,
    "reads the passwords": attacks.READS_SHADOW,
    "writes outside the workspace": attacks.WRITES_OUTSIDE,
    "writes to the system": attacks.WRITES_THE_ROOT,
}


AGAINST_THE_KERNEL = {
    "mounts": attacks.MOUNTS,
    "binds another folder": attacks.REMOUNTS_THE_ROOT,
    "makes a device": attacks.MAKES_A_DEVICE,
    "has capabilities": attacks.HAS_CAPABILITIES,
    "traces": attacks.TRACES,
    "makes a user namespace": attacks.MAKES_A_USER_NAMESPACE,
    "leaves a namespace": attacks.LEAVES_THE_NAMESPACE,
    "changes its root": attacks.CHANGES_ITS_ROOT,
    "types into a terminal": attacks.TYPES_INTO_A_TERMINAL,
    "writes to /proc/sys": attacks.WRITES_PROC_SYS,
    "uses the keyring": attacks.USES_THE_KEYRING,
    "loads bpf": attacks.LOADS_BPF,
    "makes an io_uring": attacks.RINGS,
    "sends raw packets": attacks.SENDS_RAW_PACKETS,
    "sets user and group IDs": attacks.SETS_IDS,
    "gives rights by attributes": attacks.GIVES_RIGHTS_BY_ATTRIBUTES,
}


def vector(attack: str, **names: object) -> tuple[str, ...]:
    """Return the vector that carries out an attack."""
    return (PYTHON, "-I", "-S", "-c", attacks.program(attack, **names))


async def escapes(house: HomeBeside, attack: str, **names: object) -> tuple[bool, bool]:
    """Return whether an attack succeeds inside, and outside (its control); both in a new folder."""
    folder = house.workspace / secrets.token_hex(4)
    folder.mkdir()
    inside = await house.run(vector(attack, **names), folder)
    outside = await house.run_outside(vector(attack, **names), folder)
    return "ESCAPED" in inside.output.text, "ESCAPED" in outside.output.text


async def all_escapes(
    house: HomeBeside, named: dict[str, str], **names: object
) -> dict[str, tuple[bool, bool]]:
    """Carry out attacks at once; return by name whether each succeeds inside, and outside."""
    found = await asyncio.gather(*(escapes(house, one, **names) for one in named.values()))
    return dict(zip(named, found, strict=True))


@contextlib.contextmanager
def a_victim(mark: str) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process outside, whose last word is the mark."""
    with subprocess.Popen(["/bin/sh", "-c", "sleep 60", mark]) as victim:
        try:
            yield victim
        finally:
            victim.kill()
