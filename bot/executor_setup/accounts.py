"""Inspect, create and remove the Unix users that executors run as."""

import grp
import os
import pwd
import stat
from pathlib import Path

from bot.executor_setup.sudoers import GROUP
from bot.service.own_program import ran
from core.errors import StateError


def is_group() -> bool:
    """Return whether the run-as group exists."""
    try:
        grp.getgrnam(GROUP)
    except KeyError:
        return False
    return True


def exists(user: str) -> bool:
    """Return whether a user exists."""
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def members() -> tuple[str, ...]:
    """Return the users that executors may run as."""
    try:
        return tuple(grp.getgrnam(GROUP).gr_mem)
    except KeyError:
        return ()


def home_of(user: str) -> Path:
    """Return a user's home."""
    return Path(pwd.getpwnam(user).pw_dir)


def is_closed(user: str) -> bool:
    """Return whether a user's home is the user's own, and closed to everybody else."""
    try:
        found = home_of(user).lstat()
    except OSError:
        return False
    own = found.st_uid == pwd.getpwnam(user).pw_uid
    return stat.S_ISDIR(found.st_mode) and own and found.st_mode & 0o077 == 0


def close_home(user: str) -> None:
    """Close a user's home to others.

    Raises:
        StateError: it is not that user's folder.
    """
    fd = os.open(home_of(user), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(fd).st_uid != pwd.getpwnam(user).pw_uid:
            raise StateError(f"{home_of(user)} is not {user}'s; nothing was changed there")
        os.fchmod(fd, 0o700)
    finally:
        os.close(fd)


def add_group() -> None:
    """Create the run-as group."""
    _run("/usr/sbin/groupadd", "--system", GROUP)


def remove_group() -> None:
    """Remove the run-as group; its members stay."""
    _run("/usr/sbin/groupdel", GROUP)


def create(user: str) -> None:
    """Create a user with a home and without a password."""
    _run("/usr/sbin/useradd", "--create-home", "--user-group", "--shell", "/bin/sh", user)


def delete(user: str) -> None:
    """Remove a user and its home."""
    _run("/usr/sbin/userdel", "--remove", user)


def join(user: str) -> None:
    """Let executors run as a user."""
    _run("/usr/bin/gpasswd", "--add", user, GROUP)


def leave(user: str) -> None:
    """Stop letting executors run as a user."""
    _run("/usr/bin/gpasswd", "--delete", user, GROUP)


def _run(*argv: str) -> None:
    done = ran(argv)
    if not done.well:
        raise StateError(f"{' '.join(argv)} failed: {' '.join(done.text.split())}")
