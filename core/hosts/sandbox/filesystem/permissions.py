"""Compute what another user of this machine may do to a folder (path_resolution(7), acl(5)).

A command in the sandbox reads and changes its workspace with the gateway's rights. A user who asks
for it over the shared socket must not get more rights to that folder than their own.
"""

import errno
import os
import pwd
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_ONLY_PATH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ACCESS_LIST = "system.posix_acl_access"
_HEADER = 4
_ENTRY = struct.Struct("<HHI")
_USER, _GROUP_OWNER, _GROUP, _MASK = 0x02, 0x04, 0x08, 0x10
_ENTER, _CHANGE = 0o1, 0o7
_ALL = 0o7

_Entry = tuple[int, int, int]
"""Kind, rights and id of an entry of an access control list."""


@dataclass(frozen=True, slots=True)
class User:
    """A user of this machine with its groups."""

    uid: int
    gids: frozenset[int]

    def may_change(self, path: str, identity: tuple[int, int]) -> bool:
        """Return whether this user could list, enter and write to the folder at a real path.

        Each folder on the way is opened in the one before, without following links. ``identity`` is
        device and inode of the folder that is meant: another one at the path counts for nothing.
        """
        folder = os.open("/", _ONLY_PATH)
        try:
            for name in filter(None, path.split("/")):
                if not self._has(folder, _ENTER):
                    return False
                below = os.open(name, _ONLY_PATH, dir_fd=folder)
                os.close(folder)
                folder = below
            found = os.fstat(folder)
            return (found.st_dev, found.st_ino) == identity and self._has(folder, _CHANGE)
        except OSError:
            return False
        finally:
            os.close(folder)

    def _has(self, folder: int, wanted: int) -> bool:
        """Return whether this user has all of these rights to an open folder."""
        return self.uid == 0 or self._rights(folder) & wanted == wanted

    def _rights(self, folder: int) -> int:
        status = os.fstat(folder)
        mode = stat.S_IMODE(status.st_mode)
        if status.st_uid == self.uid:
            return mode >> 6 & _ALL
        entries = _access_list(folder)
        mask = next((rights for kind, rights, _ in entries if kind == _MASK), _ALL)
        for kind, rights, number in entries:
            if kind == _USER and number == self.uid:
                return rights & mask
        of_groups = list(self._by_group(status, mode, entries))
        if of_groups:
            # One group alone must grant all that is wanted, so only what all grant counts.
            return _least(of_groups) & mask
        return mode & _ALL

    def _by_group(self, status: os.stat_result, mode: int, entries: list[_Entry]) -> Iterator[int]:
        """Yield the rights of each entry for a group of this user."""
        if not entries and status.st_gid in self.gids:
            yield mode >> 3 & _ALL
        for kind, rights, number in entries:
            gid = status.st_gid if kind == _GROUP_OWNER else number
            if kind in {_GROUP_OWNER, _GROUP} and gid in self.gids:
                yield rights


def user_of(uid: int) -> User:
    """Return a user by number; one that this machine does not know has no groups."""
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return User(uid, frozenset())
    return User(uid, frozenset(os.getgrouplist(entry.pw_name, entry.pw_gid)))


def _least(rights: list[int]) -> int:
    least = _ALL
    for one in rights:
        least &= one
    return least


def _access_list(folder: int) -> list[_Entry]:
    """Return the entries of a folder's access control list, none if it has only mode bits.

    Raises:
        OSError: it cannot be read, so it is not known who has access.
    """
    try:
        value = os.getxattr(f"/proc/self/fd/{folder}", _ACCESS_LIST)
    except OSError as error:
        if error.errno in {errno.ENODATA, errno.ENOTSUP}:
            return []
        raise
    return [(kind, rights, number) for kind, rights, number in _ENTRY.iter_unpack(value[_HEADER:])]
