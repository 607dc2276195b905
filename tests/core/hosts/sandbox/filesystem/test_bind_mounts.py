"""Reject what is guarded as a workspace under any of its names."""

import subprocess
import sys
from pathlib import Path

import pytest

from core.hosts.sandbox.filesystem.bind_mounts import mounts_now

HOME = "ann/.sayso"
ASKED = """
import sys
from core.hosts.sandbox.filesystem.layout import Places
print(Places((), (sys.argv[1],)).workspace_for(sys.argv[2]))
"""


def workspace_of(top: Path, source: str, point: str, folder: str) -> bool:
    """Return whether a folder may be a workspace when something is mounted, in a namespace."""
    for one in (HOME + "/keys", "ann/app", "app/sub", "other", "with blank"):
        (top / one).mkdir(parents=True)
    bind = f'mount --bind "$1/{source}" "$1/{point}"; exec "$2" -c "$3" "$1/{HOME}" "$1/{folder}"'
    words = ("unshare", "--mount", "--propagation", "private", "sh", "-ec", bind, "sh")
    done = subprocess.run(
        [*words, str(top), sys.executable, ASKED], capture_output=True, text=True, check=True
    )
    return done.stdout.strip() == f"{top}/{folder}"


@pytest.mark.parametrize(
    ("source", "point", "folder", "may"),
    [
        (HOME, "other", "other", False),
        (HOME, "other", "other/keys", False),
        (f"{HOME}/keys", "other", "other", False),
        ("ann", "other", "other", False),
        ("ann", "other", "other/app", True),
        (HOME, "app/sub", "app", False),
        (HOME, "with blank", "with blank", False),
        (HOME, "other", "app", True),
        ("app", "other", "other", True),
        ("app", HOME, "app", False),
    ],
)
def test_a_guarded_folder_is_no_workspace_by_another_name(
    source: str, point: str, folder: str, may: bool, tmp_path: Path
) -> None:
    """If it, a parent or a child is mounted a second time; anything else (control) stays."""
    assert workspace_of(tmp_path, source, point, folder) is may


def test_the_last_mount_at_a_point_counts() -> None:
    """This machine's own mounts are read, and a folder shares files with itself alone."""
    now = mounts_now()
    assert now.shares("/proc", ["/proc/sys"])
    assert not now.shares("/proc", ["/usr"])


CHANGES = """
import subprocess, sys
from core.hosts.sandbox.filesystem.bind_mounts import mounts_now
for _ in range(20):
    before = mounts_now()
    assert mounts_now() is before, "read again although nothing has changed"
    subprocess.run(["mount", "-t", "tmpfs", "none", sys.argv[1]], check=True)
    assert any(one.point == sys.argv[1] for one in mounts_now().mounts)
    subprocess.run(["umount", sys.argv[1]], check=True)
    assert mounts_now() == before
print("SEEN")
"""


def test_each_change_is_seen(tmp_path: Path) -> None:
    """The table is read when it has changed, and not before."""
    words = ("unshare", "--mount", "--propagation", "private", sys.executable, "-c", CHANGES)
    done = subprocess.run([*words, str(tmp_path)], capture_output=True, text=True, check=False)

    assert done.stdout == "SEEN\n", done.stderr
