"""Share a folder between two users; real users work in it in tests/e2e/test_executors.py."""

import os
import pwd
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.executor_setup import workspace
from core.errors import BadRequest

OTHER, GATEWAY = "nobody", "daemon"


@pytest.fixture
def place() -> Iterator[Path]:
    """Yield a folder of root's."""
    made = Path(tempfile.mkdtemp(prefix="sayso-place-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def test_it_is_made_and_seen(place: Path) -> None:
    """Any later change of it is seen, so that it is repeated."""
    folder = place / "work"
    assert not workspace.is_shared(folder, OTHER, GATEWAY)
    workspace.refuse(folder, OTHER, GATEWAY)
    workspace.share(folder, OTHER, GATEWAY)

    assert workspace.is_shared(folder, OTHER, GATEWAY)
    assert not workspace.is_shared(folder, OTHER, "bin")
    assert folder.stat().st_uid == pwd.getpwnam(OTHER).pw_uid
    (folder / "x").touch()
    workspace.refuse(folder, OTHER, GATEWAY)  # with files in it: it is already shared
    changes: tuple[Callable[[], None], ...] = (
        lambda: folder.chmod(0o777),
        lambda: os.removexattr(folder, "system.posix_acl_default"),
        lambda: os.chown(folder, 0, 0),
    )
    for change in changes:
        workspace.share(folder, OTHER, GATEWAY)
        assert workspace.is_shared(folder, OTHER, GATEWAY)
        change()
        assert not workspace.is_shared(folder, OTHER, GATEWAY)


def test_no_folder_that_others_could_put_in_its_place(place: Path) -> None:
    """Root changes nothing below another user's folder, nor through a link."""
    uid = pwd.getpwnam(OTHER).pw_uid
    theirs, link = place / "theirs", place / "link"
    theirs.mkdir()
    os.chown(theirs, uid, uid)
    link.symlink_to("/etc")
    for folder in (theirs / "work", link, link / "work", Path("work"), place / "none/work"):
        with pytest.raises(BadRequest):
            workspace.refuse(folder, OTHER, GATEWAY)
    with pytest.raises(BadRequest, match="belongs to somebody else"):
        workspace.refuse(theirs, "bin", GATEWAY)
    theirs.chmod(0o777)
    os.chown(theirs, 0, 0)
    with pytest.raises(BadRequest, match="Others could change"):
        workspace.refuse(theirs / "work", OTHER, GATEWAY)
    with pytest.raises(OSError, match=r"Not a directory|symbolic"):
        workspace.share(link, OTHER, GATEWAY)


def test_users_that_are_not_there(place: Path) -> None:
    """They are named, before anything is made."""
    for users in (("sayso_no", GATEWAY), (OTHER, "sayso_no")):
        with pytest.raises(BadRequest, match="no user `sayso_no`"):
            workspace.refuse(place / "work", *users)


def test_a_folder_with_files_is_left_alone(place: Path) -> None:
    """They would stay closed; the message has the command that opens them."""
    (place / "work").mkdir()
    (place / "work/x").touch()
    with pytest.raises(BadRequest, match=r"setfacl -R -m u:nobody:rwX,u:daemon:rwX"):
        workspace.refuse(place / "work", OTHER, GATEWAY)
