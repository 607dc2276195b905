"""Install the real npm agents that tests drive: pinned, with their hashes, once a machine."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

LOCK = Path(__file__).with_name("npm_agents")
_NAMES = ("package.json", "package-lock.json")


def installed() -> Path:
    """Return the folder of the programs; 850 MB, in a place that every user may read."""
    wanted = hashlib.sha256(b"".join((LOCK / name).read_bytes() for name in _NAMES)).hexdigest()
    folder = Path(tempfile.gettempdir()) / f"sayso-npm-agents-{os.getuid()}-{wanted[:12]}"
    folder.mkdir(mode=0o755, exist_ok=True)
    assert folder.stat().st_uid == os.getuid(), f"{folder} is somebody else's"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            for name in _NAMES:
                shutil.copy(LOCK / name, folder / name)
            quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--omit=dev")
            done = subprocess.run(
                ["npm", "ci", *quiet],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                umask=0o022,
            )
            assert done.returncode == 0, done.stderr
            (folder / "done").touch()
    return folder / "node_modules" / ".bin"
