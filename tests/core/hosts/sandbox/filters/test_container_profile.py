"""Compare the containers' profile with bubblewrap's filter: nothing that is held passes.

That engines load it and what it does is in test_docker.py, with podman for real.
"""

import json
from typing import Any

import pytest

from core.hosts.sandbox.filters.container_profile import profile_for
from core.hosts.sandbox.filters.seccomp import MACHINES
from tests.support.tables import rows

CONDITIONAL = {
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "mkdir", "mkdirat", "mknod", "mknodat", "creat"),
    *("open", "openat", "clone", "unshare", "close_range", "socket", "socketpair"),
    "personality",
}


def rules(machine: str) -> list[dict[str, Any]]:
    """Return the rules for an architecture."""
    profile = profile_for(machine)
    assert profile is not None
    found: list[dict[str, Any]] = json.loads(profile)["syscalls"]
    return found


def answer(machine: str, name: str, *words: int) -> str | int:
    """Return the result of a call: the first rule whose conditions hold, else ENOSYS."""
    arguments = dict(enumerate(words))
    for rule in rules(machine):
        holds = all(
            arguments.get(one["index"], 0) & one["value"] == one["valueTwo"]
            for one in rule.get("args", ())
        )
        if name in rule["names"] and holds:
            return "allow" if rule["action"] == "SCMP_ACT_ALLOW" else int(rule["errnoRet"])
    return 38


@rows("machine", MACHINES)
@pytest.mark.parametrize("bits", [0o4755, 0o2755, 0o6755, 0o4755 | 1 << 16, 0o2000 | 1 << 40])
def test_no_call_sets_an_id(machine: str, bits: int) -> None:
    """Each call that takes a mode refuses these bits, wherever the mode is, and takes others."""
    at = {
        **dict.fromkeys(("chmod", "fchmod", "mkdir", "mknod", "creat"), (0, bits)),
        **dict.fromkeys(("fchmodat", "fchmodat2", "mkdirat", "mknodat"), (0, 0, bits)),
        "open": (0, 0x41, bits),
        "openat": (0, 0, 0x41, bits),
    }
    refused = {name: answer(machine, name, *words) for name, words in at.items()}
    plain = {name: answer(machine, name, *words[:-1], 0o755) for name, words in at.items()}
    unnamed = answer(machine, "openat", 0, 0, 0x410002, bits)

    assert refused == dict.fromkeys(at, 38)
    assert plain == dict.fromkeys(at, "allow")
    assert unnamed == 38
    assert answer(machine, "openat", 0, 0, 0, bits) == "allow", "no file is made: the rest is noise"


@pytest.mark.parametrize("machine", MACHINES)
def test_what_the_filter_names_is_never_allowed_outright(machine: str) -> None:
    """The list of allowed calls has nothing that bubblewrap's commands are refused or held to."""
    free = {name for rule in rules(machine) if not rule.get("args") for name in _allowed(rule)}
    named = set(MACHINES[machine].numbers) - {"ioctl"}  # no container has a terminal

    assert free & named == set()
    assert {"read", "execve", "rt_sigreturn", "exit_group", "futex"} <= free
    held = {name for rule in rules(machine) if rule.get("args") for name in _allowed(rule)}
    assert held == CONDITIONAL


def _allowed(rule: dict[str, Any]) -> list[str]:
    return rule["names"] if rule["action"] == "SCMP_ACT_ALLOW" else []


def test_what_falls_back_is_answered_so() -> None:
    """What callers try first, and can do without, is answered as by a kernel without it."""
    found = [answer("x86_64", one) for one in ("clone3", "openat2", "setxattr", "mount", "unheard")]

    assert found == [38, 38, 95, 1, 38]
    assert answer("x86_64", "clone", 0x10000000) == 38


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_share_their_descriptors(machine: str) -> None:
    """As in bubblewrap's filter, in each call that could give a thread its own."""
    shared, own, namespace = 0x3D0F00, 0x3D0B00, 0x10000000
    asked = (("clone", shared), ("clone", 17), ("unshare", 0x200), ("close_range", 3, 9, 4))
    refused = (
        *(("clone", own), ("clone", shared | namespace), ("clone", 0x400 | namespace)),
        *(("unshare", 0x400), ("close_range", 3, 9, 2)),
    )

    assert {answer(machine, *one) for one in asked} == {"allow"}
    assert {answer(machine, *one) for one in refused} == {38}


def test_an_unknown_machine_has_no_profile() -> None:
    """Its numbers would mean other calls."""
    assert profile_for("riscv64") is None
