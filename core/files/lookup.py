"""Distinguish a missing file from one that cannot be looked up.

A lookup of a file fails for two kinds of reasons. Some are the file's: it does not exist, or is
closed to this user, and then to whatever this user runs. The others are this process's or the
machine's (no descriptor or memory is left, the disk fails) and say nothing about the file: whoever
takes them for the first kind lets through what the lookup would have stopped.
"""

import errno
import os
import stat
from io import BufferedReader

_ABOUT_THE_FILE = frozenset(
    {
        *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG),
        *(errno.EACCES, errno.EPERM, errno.ENXIO, errno.ENODEV, errno.EINVAL, errno.EBUSY),
        *(errno.ENODATA, errno.ENOTSUP, errno.ESRCH, errno.ETXTBSY, errno.EFBIG, errno.EAGAIN),
        *(errno.ENOTCONN, errno.EHOSTDOWN),  # its file system is away, for everybody
    }
)


def check_looked(error: OSError) -> None:
    """Re-raise an error that says nothing about the file that was looked up.

    Raises:
        OSError: the lookup failed.
    """
    if error.errno not in _ABOUT_THE_FILE:
        raise error


def status_of(path: str, *, follow: bool = True) -> os.stat_result | None:
    """Return the status of what a path leads to, or of a link itself; ``None`` for nothing.

    Raises:
        OSError: the lookup failed; so do all below.
    """
    try:
        return os.stat(path, follow_symlinks=follow)  # noqa: PTH116 - pathlib is ten times slower
    except OSError as error:
        check_looked(error)
    except ValueError:  # NUL in it: no such name
        return None
    return None


def is_there(path: str) -> bool:
    """Return whether anything has this name, even a link that leads nowhere."""
    return status_of(path, follow=False) is not None


def is_folder(path: str) -> bool:
    """Return whether a path leads to a folder."""
    status = status_of(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def is_file(path: str) -> bool:
    """Return whether a path leads to a regular file."""
    status = status_of(path)
    return status is not None and stat.S_ISREG(status.st_mode)


def open_regular(path: str) -> BufferedReader:
    """Open a regular file that somebody else may own, to read it.

    A pipe in its place, or a lease of its owner's, would hold up whoever opens it otherwise.

    Raises:
        OSError: it cannot be opened, or is something else.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    fd = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return os.fdopen(fd, "rb")
