"""Find the sockets that services listen at: a read-only view would not keep a command from them."""
# ruff: noqa: PTH116, PTH123
# Asked for each run; pathlib is ten times slower here.

import os
import stat
from collections.abc import Iterator

from core.hosts.sandbox.filesystem.mounts import View

_TABLE = "/proc/net/unix"
_PATH = 7
"""The column of the path; sockets without a name have none (proc(5))."""


def sockets(view: View) -> Iterator[str]:
    """Yield the real paths of this machine's sockets that a view shows, but for the workspace's."""
    with open(_TABLE, "rb") as table:
        content = table.read()
    if b"/" not in content:
        return
    named = {line.split(None, _PATH)[-1] for line in content.splitlines() if b" /" in line}
    for path in map(os.fsdecode, named):
        if view.sees(path) and not view.in_workspace(path) and _is_socket(path):
            yield os.path.realpath(path)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False
