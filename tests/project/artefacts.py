"""Copy the source as git has it, and build it, as `make release` does."""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

from tests.project.tracked import ROOT, files

_NETWORK = ("PIP_", "UV_", "SSL_", "http", "HTTP", "no_proxy", "NO_PROXY")
"""How this machine reaches its package index; a clean environment keeps that."""


def copy_source(target: Path) -> Path:
    """Copy every file of the repository, and nothing else; return the folder."""
    for path in files():
        place = target / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
    return target


def build(source: Path, target: Path, **environ: str) -> dict[str, Path]:
    """Build the wheel and the sdist without network; return them by kind."""
    run(
        (sys.executable, "-m", "hatchling", "build", "--directory", str(target)),
        cwd=source,
        environ={**os.environ, **environ},
    )
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


def unpack(sdist: Path, target: Path) -> Path:
    """Unpack an sdist; return its folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(target, filter="data")
    (folder,) = target.iterdir()
    return folder


def clean_environ(home: Path) -> dict[str, str]:
    """Return the environment of a new user: their home, and how the machine reaches its index."""
    network = {name: text for name, text in os.environ.items() if name.startswith(_NETWORK)}
    return {**network, "HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


def run(
    words: tuple[str, ...], *, cwd: Path, environ: Mapping[str, str], seconds: float = 280
) -> str:
    """Run a command that must succeed, without a terminal; return its standard output."""
    done = subprocess.run(
        words,
        cwd=cwd,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
