"""Check whether a file is still the one that was hashed."""

import os
import time

FileIdentity = tuple[int, int, int, int, int]
"""Device, inode, size, mtime and ctime (ns)."""
_SETTLED_NS = 50_000_000


def identity(status: os.stat_result) -> FileIdentity:
    """Return what stays equal while the content does.

    A process cannot set ctime, so an in-place overwrite shows even when mtime was put back; not
    one through a shared mapping of which the kernel knows already (``others_may_write``).
    """
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def is_settled(status: os.stat_result) -> bool:
    """Return whether a file's identity alone proves that it is unchanged.

    A file written a moment ago may be written again within one tick of the kernel's clock, with
    the same size and times (git's "racy" index entries): its content must be compared as well.
    """
    return time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_NS


def others_may_write(status: os.stat_result) -> bool:
    """Return whether a user other than root and this process's own could write to a file.

    Whoever has it mapped to memory changes its content without changing what ``identity`` returns
    (mmap(2): the times change at the first write to a page, on tmpfs never). So its content has to
    be checked each time.
    """
    return status.st_uid not in {0, os.geteuid()} or status.st_mode & 0o022 != 0
