"""Compare what another user may do to a folder with what the kernel allows that user."""

import os
import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from core.hosts.sandbox.filesystem.permissions import User
from tests.support.tables import rows

UID, GID, EXTRA = 61234, 61235, 61236
WHO = User(UID, frozenset((GID, EXTRA)))

_USER_OBJ, _USER, _GROUP_OBJ, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_NOBODY = 0xFFFFFFFF


def access_list(*entries: tuple[int, int, int]) -> bytes:
    """Return an access control list as the kernel reads it."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *one) for one in entries)


def listed(user: int, group: int, mask: int, other: int = 0) -> bytes:
    """Return a list that names the user and its second group, 0o10 to leave one out."""
    entries = [(_USER_OBJ, 7, _NOBODY)]
    entries += [(_USER, user, UID)] if user < 0o10 else []
    entries += [(_GROUP_OBJ, 0, _NOBODY)]
    entries += [(_GROUP, group, EXTRA)] if group < 0o10 else []
    return access_list(*entries, (_MASK, mask, _NOBODY), (_OTHER, other, _NOBODY))


def kernel_lets(path: Path) -> bool:
    """Try it as that user, in a separate process."""
    child = os.fork()
    if child == 0:
        os._exit(0 if tried(path) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def tried(path: Path) -> bool:
    """Become that user; return whether it can list, enter and write to a folder."""
    os.setgroups([GID, EXTRA])
    os.setgid(GID)
    os.setuid(UID)
    try:
        os.chdir(path)
        os.listdir()  # noqa: PTH208 - as the working directory
        os.mkdir("made")  # noqa: PTH102 - as above
        os.rmdir("made")  # noqa: PTH106 - as above
    except OSError:
        return False
    return True


def says(path: Path) -> bool:
    """Ask the code under test."""
    status = path.stat()
    return WHO.may_change(str(path), (status.st_dev, status.st_ino))


CASES = {
    "everybody": (0, 0, 0o777, None),
    "nobody": (0, 0, 0o700, None),
    "may look only": (0, 0, 0o755, None),
    "may not look": (0, 0, 0o773, None),
    "owner": (UID, 0, 0o700, None),
    "owner without the right": (UID, 0, 0o077, None),
    "group": (0, GID, 0o770, None),
    "second group": (0, EXTRA, 0o2770, None),
    "group without the right": (0, GID, 0o707, None),
    "another group": (0, 5, 0o770, None),
    "list: user": (0, 0, 0o770, listed(7, 0o10, 7)),
    "list: user, mask": (0, 0, 0o770, listed(7, 0o10, 5)),
    "list: user refused, others not": (0, 0, 0o777, listed(0, 0o10, 7, other=7)),
    "list: group": (0, 0, 0o770, listed(0o10, 7, 7)),
    "list: group, mask": (0, 0, 0o770, listed(0o10, 7, 1)),
    "list: group refused, others not": (0, 0, 0o777, listed(0o10, 0, 7, other=7)),
    "list: owner's group": (0, GID, 0o770, listed(0o10, 0o10, 7, other=7)),
    "list: others": (0, 0, 0o777, listed(0o10, 0o10, 7, other=7)),
}


@pytest.mark.parametrize("above", [0o755, 0o711, 0o700, 0o744])
@rows("case", CASES)
def test_it_says_what_the_kernel_does(case: str, above: int) -> None:
    """Owners, groups and access control lists, below a folder that may be entered or not."""
    uid, gid, mode, entries = CASES[case]
    with TemporaryDirectory() as name:
        top = Path(name)
        top.chmod(0o755)
        folder = top / "above" / "folder"
        folder.mkdir(parents=True)
        os.chown(folder, uid, gid)
        folder.chmod(mode)
        if entries is not None:
            os.setxattr(folder, "system.posix_acl_access", entries)
        folder.parent.chmod(above)

        assert says(folder) is kernel_lets(folder)


def test_another_folder_at_the_path_counts_for_nothing(tmp_path: Path) -> None:
    """A link, and a folder that was swapped for the pinned one."""
    with TemporaryDirectory() as name:
        top = Path(name)
        for one in (top, top / "open", top / "meant"):
            one.mkdir(exist_ok=True)
            one.chmod(0o777)
        meant = (top / "meant").stat()
        identity = meant.st_dev, meant.st_ino
        (top / "link").symlink_to("meant")

        assert WHO.may_change(str(top / "meant"), identity)
        assert not WHO.may_change(str(top / "open"), identity)
        assert not WHO.may_change(str(top / "link"), identity)
        assert not WHO.may_change(str(top / "absent"), identity)
        (top / "meant").rename(top / "old")
        (top / "meant").mkdir(mode=0o777)
        (top / "meant").chmod(0o777)
        assert not WHO.may_change(str(top / "meant"), identity)
