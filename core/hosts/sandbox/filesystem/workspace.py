"""Open the folder that a run may change, so that what is mounted can be compared with it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import PlanDrift
from core.hosts.sandbox.filesystem.mounts import View
from core.model.command import PinnedDirectory

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_COMPARING = (b"--bind-fd", b"Race condition binding dirfd")


def binds_descriptors(binary: str) -> bool:
    """Return whether a bubblewrap binds a descriptor, and checks itself that it was that folder.

    Debian has added it to 0.8.0, so the version says nothing; both words are in the program. If
    that cannot be read, the answer is no, and the shell in front of the command compares instead.
    """
    try:
        content = Path(binary).read_bytes()
    except OSError:
        return False
    return all(one in content for one in _COMPARING)


@contextmanager
def opened(view: View, cwd: PinnedDirectory, *, seen: bool) -> Iterator[int]:
    """Yield a descriptor of the workspace; -1 if there is none, or mounting it gains nothing.

    ``seen``: whether it is visible without being mounted.

    Raises:
        PlanDrift: it cannot be opened, or is not the folder that was approved.
    """
    if view.workspace is None:
        yield -1
        return
    try:
        fd = os.open(view.workspace, _FOLDER)
    except OSError as error:
        raise PlanDrift(
            f"the workspace `{view.workspace}` cannot be opened ({error.strerror}), so nothing ran"
        ) from error
    try:
        status = os.fstat(fd)
        pinned = (cwd.device, cwd.inode)
        if view.workspace == cwd.path and (status.st_dev, status.st_ino) != pinned:
            raise PlanDrift(f"the folder `{cwd.path}` is not the one that was approved. Ask again")
        # What is visible anyway and belongs to others stays as it is: read-only.
        yield -1 if seen and not _is_writable(status) else fd
    finally:
        os.close(fd)


def _is_writable(status: os.stat_result) -> bool:
    """Return whether this user may write by the mode alone: inside, root has no other right."""
    if status.st_uid == os.geteuid():
        return status.st_mode & 0o200 != 0
    if status.st_gid in {os.getegid(), *os.getgroups()}:
        return status.st_mode & 0o020 != 0
    return status.st_mode & 0o002 != 0
