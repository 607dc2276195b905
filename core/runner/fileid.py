"""Tell whether a file is still the one that was hashed. Stdlib leaf modules only."""

import os

FileIdentity = tuple[int, int, int, int, int]
"""Device, inode, size, mtime and ctime (ns)."""


def identity(status: os.stat_result) -> FileIdentity:
    """Return what stays equal only while the content does.

    A process cannot set ctime, so an in-place overwrite shows even when mtime was put back.
    """
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
