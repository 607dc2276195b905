"""Run a real systemd as the first process of new namespaces; this machine need not run it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.waiting import wait_until

_SCRIPT = Path(__file__).with_suffix(".sh")
_NEEDED = ("systemctl", "unshare", "nsenter", "systemd-analyze", "bwrap")


@dataclass
class Systemd:
    """One service manager; ``share`` is a folder that both sides see under the same name."""

    pid: int
    share: Path

    def run(self, *words: str, user: str = "root", check: bool = True) -> str:
        """Run a program inside, as a user; return what it printed."""
        inside = ("nsenter", f"--target={self.pid}", "-m", "-p", "-C", "-u", "-i")
        as_user = () if user == "root" else ("setpriv", f"--reuid={user}", f"--regid={user}")
        more = (*as_user, "--init-groups", "--reset-env") if as_user else ()
        done = subprocess.run(
            [*inside, *more, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=90,
            check=False,
            cwd="/",
        )
        assert done.returncode == 0 or not check, (words, done.returncode, done.stdout)
        return done.stdout

    def shows(self, unit: str, name: str) -> str:
        """Return a property of a unit."""
        return self.run("systemctl", "show", unit, "--value", "--property", name).strip()


@contextmanager
def a_systemd() -> Iterator[Systemd]:
    """Run a systemd for as long as the block lasts; fail if something is missing."""
    missing = [one for one in _NEEDED if shutil.which(one) is None]
    assert missing == [], f"{missing} are missing; tests/system_packages.sh installs them"
    assert os.geteuid() == 0, "run as root: systemd gets namespaces of its own here"
    with TemporaryDirectory(prefix="systemd-", dir="/var/tmp") as folder:
        share = Path(folder)
        share.chmod(0o777)
        with (share / "systemd.log").open("wb") as log:
            outer = subprocess.Popen([str(_SCRIPT), folder], stdout=log, stderr=log)
        try:
            yield Systemd(wait_until("systemd", lambda: _running(outer, share), seconds=30), share)
        finally:
            outer.kill()
            outer.wait(10)
            _remove_groups(Path((share / "cgroup").read_text().strip()))


def _running(outer: subprocess.Popen[bytes], share: Path) -> int | None:
    assert outer.poll() is None, (share / "systemd.log").read_text()
    children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
    if not children or _name_of(children[0]) != "systemd":
        return None
    found = Systemd(int(children[0]), share)
    state = found.run("systemctl", "is-system-running", check=False).strip()
    return found.pid if state in {"running", "degraded"} else None


def _name_of(pid: str) -> str:
    """Return a process's name; the script's own programs may be gone by then."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _remove_groups(top: Path) -> None:
    def empty() -> bool:
        for folder, _, _ in os.walk(top, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()
        return not top.exists()

    wait_until("its cgroups to be gone", empty)
