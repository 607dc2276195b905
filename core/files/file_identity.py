"""Check whether a file is still the one that was hashed."""

import os

FileIdentity = tuple[int, int, int, int, int]
"""Device, inode, size, mtime and ctime (ns)."""


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


def others_may_write(status: os.stat_result) -> bool:
    """Return whether a user other than root and this process's own could write to a file.

    Whoever has it mapped to memory changes its content without changing what ``identity`` returns
    (mmap(2): the times change at the first write to a page, on tmpfs never). So its content has to
    be looked at each time.
    """
    return status.st_uid not in {0, os.geteuid()} or status.st_mode & 0o022 != 0
