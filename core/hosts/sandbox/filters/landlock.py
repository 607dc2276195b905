"""Restrict files by Landlock as well, from inside (landlock(7)); slower, for a second opinion.

A process can only restrict itself, and cannot mount anything afterwards, so neither the gateway nor
bubblewrap can do that: a small program does it in the command's place.
"""

import ctypes
import functools
import logging
import os
import sys

from core.errors import HostUnavailable
from core.hosts.sandbox.filesystem.mounts import Kind, View

_log = logging.getLogger(__name__)

_CREATE, _VERSION = 444, 1
_WANTED_ABI = 6
_MISSING = (
    (2, "moving files between folders"),
    (3, "truncating files"),
    (5, "device requests"),
    (6, "signals and abstract sockets"),
)

_PROGRAM = """
import ctypes, os, struct, sys
call = ctypes.CDLL(None, use_errno=True).syscall
abi, many = int(sys.argv[1]), int(sys.argv[2])
writable, command = sys.argv[3:3 + many], sys.argv[3 + many:]
rights = 0x1fff | (abi > 1) << 13 | (abi > 2) << 14 | (abi > 4) << 15
attributes = struct.pack("=QQQ", rights, 0, 3 if abi > 5 else 0)
def must(number, *words):
    done = call(number, *words)
    if done < 0:
        sys.exit("sayso: Landlock refused, so nothing ran: " + os.strerror(ctypes.get_errno()))
    return done
rules = must(444, attributes, 24 if abi > 5 else 16 if abi > 3 else 8, 0)
for path, given in [("/", 0xd)] + [(path, rights) for path in writable]:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    must(445, rules, 1, struct.pack("=Qi", given, fd), 0)
must(446, rules, 0)
os.close(rules)
os.execv(command[0], command)
"""


@functools.cache
def abi() -> int:
    """Return the version of Landlock that the kernel has, 0 for none; log once what it lacks."""
    found = int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, 0, _VERSION))
    if found < 1:
        _log.warning("sandbox.landlock: this kernel has no Landlock; nothing more is restricted")
        return 0
    lacking = ", ".join(what for since, what in _MISSING if found < since)
    if lacking:
        _log.warning("sandbox.landlock: version %d does not restrict %s", found, lacking)
    return min(found, _WANTED_ABI)


def words(view: View, *, bound: bool) -> tuple[str, ...]:
    """Return the words to put before a command's vector; none if the kernel has no Landlock.

    Raises:
        HostUnavailable: Python, which the restricting program needs, cannot be seen from inside.
    """
    version = abi()
    if version == 0:
        return ()
    python = os.path.realpath(sys.executable)
    if not (view.sees(python) and view.sees(os.path.realpath(sys.base_prefix))):
        raise HostUnavailable(
            f"sandbox.landlock needs {python} inside; add {sys.base_prefix} to sandbox.show"
        )
    changed = [path for path, kind in view.places if kind is Kind.PRIVATE]
    if bound and view.workspace is not None:
        changed.append(view.workspace)
    writable = ("/dev", *changed)
    program = (python, "-I", "-S", "-c", _PROGRAM)
    return (*program, str(version), str(len(writable)), *writable)
