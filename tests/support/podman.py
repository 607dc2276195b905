"""Run a real podman with a busybox root file system, wherever this machine allows it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

APPLETS = (
    "sh",
    "cat",
    "ls",
    "id",
    "readlink",
    "rm",
    "touch",
    "sleep",
    "env",
    "head",
    "cp",
    "chmod",
    "mv",
)

# crun refuses a machine with both kinds of cgroups at once, so podman gets a view with the new kind
# only, where that can be made; and its own storage, so that no one's containers are touched.
WRAPPER = """#!/bin/sh
store={store}
set -- podman --root "$store/root" --runroot "$store/run" --tmpdir "$store/tmp" \\
  --storage-driver {driver} --cgroup-manager cgroupfs --events-backend none "$@"
exec unshare --mount sh -c '
  umount --recursive /sys/fs/cgroup 2>/dev/null
  mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
  exec "$@"' sh "$@"
"""
OPTIONS = ("--cgroups=disabled", "--ulimit", "nproc=512:512")
"""What this machine also needs: no controllers, and no limit that it may not raise."""


@dataclass
class Podman:
    """The program that stands in for docker, and the root that containers get."""

    binary: str
    rootfs: str

    def containers(self) -> list[str]:
        """Return the ids of all existing containers."""
        done = self("ps", "--all", "--quiet")
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run podman for the test itself."""
        return subprocess.run(
            [self.binary, *words], capture_output=True, text=True, timeout=30, check=False
        )


@contextmanager
def a_podman() -> Iterator[Podman]:
    """Yield a podman with a root file system and its own storage; fail if something is missing."""
    with TemporaryDirectory(
        prefix="pod", dir="/tmp"
    ) as short:  # podman allows 50 characters at most
        podman = _podman_in(Path(short))
        yield podman
        for one in podman.containers():
            podman("rm", "--force", "--time", "0", one)


def _podman_in(folder: Path) -> Podman:
    missing = [one for one in ("podman", "crun", "conmon", "unshare") if shutil.which(one) is None]
    assert missing == [], f"{missing} are missing; tests/system_packages.sh installs them"
    busybox = shutil.which("busybox")
    assert busybox is not None, "busybox is missing; tests/system_packages.sh installs it"
    assert os.geteuid() == 0, "run as root: podman needs a mount namespace of its own here"
    root = folder / "root"
    for name in ("bin", "usr/bin", "etc", "proc", "dev", "sys", "tmp", "var/tmp", "root", "run"):
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "bin" / "busybox")
    for applet in APPLETS:
        for place in ("bin", "usr/bin"):
            (root / place / applet).symlink_to("/bin/busybox")
    store = folder / "store"
    store.mkdir()
    binary = folder / "podman.sh"
    binary.write_text(WRAPPER.format(store=store, driver="vfs"))
    binary.chmod(0o755)
    return Podman(str(binary), str(root))
