"""Create a folder in which the gateway and one other user both work, and nobody else does.

An access list (acl(5)) names both, for the folder and as the default for what is created in it. A
group would not do: the gateway's service gets a new group only at its next start, and files created
with umask 022 are closed to their group. The list overrides the umask.
"""

import os
import pwd
import stat
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import BadRequest, StateError

_ACCESS, _DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
_HEADER, _ENTRY = struct.Struct("<I"), struct.Struct("<HHI")
_VERSION = 2
_OWNER, _USER, _GROUP, _MASK, _OTHERS = 0x01, 0x02, 0x04, 0x10, 0x20
_NONE, _ALL = 0, 7
_NOBODY = 0xFFFFFFFF
_OPENED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def refuse(folder: Path, user: str, gateway_user: str) -> None:
    """Check that root may create or change a folder, and that the user could enter it.

    Raises:
        BadRequest: its path is relative, or somebody else could put another folder there, or the
            user could not enter it, or it holds something already.
    """
    own, owners = _uid(user), {0, _uid(gateway_user)}
    if not folder.is_absolute() or folder.resolve() != folder:
        raise BadRequest(f"{folder} is not an absolute path without links; name the folder itself.")
    for above in folder.parents:
        _see_safe(above, user, owners)
    if folder.exists() and folder.stat().st_uid not in {*owners, own}:
        raise BadRequest(f"{folder} belongs to somebody else; choose another place.")
    if folder.exists() and not is_shared(folder, user, gateway_user) and any(folder.iterdir()):
        raise BadRequest(
            f"{folder} holds files already, which would stay closed. Share it by hand: setfacl -R "
            f"-m u:{user}:rwX,u:{gateway_user}:rwX,d:u:{user}:rwX,d:u:{gateway_user}:rwX {folder}"
        )


def _see_safe(above: Path, user: str, owners: Collection[int]) -> None:
    """Check that only these owners can change a folder above it, and that the user can enter it."""
    if not above.exists():
        raise BadRequest(f"{above} does not exist; create it first.")
    found = above.stat()
    open_to_all = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
    if found.st_uid not in owners or open_to_all:
        raise BadRequest(f"Others could change {above}; choose a place below root's folders.")
    if not found.st_mode & 0o001:
        raise BadRequest(f"{user} cannot enter {above}; choose another place, or open it: o+x.")


def is_shared(folder: Path, user: str, gateway_user: str) -> bool:
    """Return whether it is the user's, and whether both, and nobody else, may work in it."""
    try:
        with _opened(folder) as fd:
            found = os.fstat(fd)
            lists = (os.getxattr(fd, _ACCESS), os.getxattr(fd, _DEFAULT))
    except (OSError, BadRequest):
        return False
    wanted = _list(_uid(gateway_user), _uid(user))
    return found.st_uid == _uid(user) and lists == (wanted, wanted)


def share(folder: Path, user: str, gateway_user: str) -> None:
    """Create it, or take an empty one, and let both work in it.

    Raises:
        StateError: its file system has no access lists.
    """
    if not folder.exists():
        folder.mkdir(mode=0o700)
    account = pwd.getpwnam(user)
    wanted = _list(_uid(gateway_user), account.pw_uid)
    with _opened(folder) as fd:
        try:
            os.setxattr(fd, _DEFAULT, wanted)
            os.setxattr(fd, _ACCESS, wanted)
        except OSError as failure:
            raise StateError(
                f"{folder}: its file system has no access lists ({failure.strerror}); choose "
                "another place"
            ) from failure
        os.fchown(fd, account.pw_uid, account.pw_gid)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    fd = os.open(folder, _OPENED)
    try:
        yield fd
    finally:
        os.close(fd)


def _list(*uids: int) -> bytes:
    """Return an access list: everything for these users and the owner, nothing for all others."""
    named = [(_USER, _ALL, uid) for uid in sorted(uids)]
    entries = [
        (_OWNER, _ALL, _NOBODY),
        *named,
        (_GROUP, _NONE, _NOBODY),
        (_MASK, _ALL, _NOBODY),
        (_OTHERS, _NONE, _NOBODY),
    ]
    return _HEADER.pack(_VERSION) + b"".join(_ENTRY.pack(*one) for one in entries)


def _uid(user: str) -> int:
    """Return a user's number.

    Raises:
        BadRequest: no user has this name.
    """
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise BadRequest(
            f"There is no user `{user}`; `sayso executor user add` adds one."
        ) from None
