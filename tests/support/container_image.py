"""Make container images of this machine's Debian, and run them with podman.

No image is downloaded: `mmdebstrap` installs Debian packages into an archive, which is the base.
Here podman runs as root without cgroups and without raising a limit; `docker` needs none of that.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.podman import WRAPPER

LIMITS = (
    *("--cgroups", "disabled", "--ulimit", "nproc=512:512"),
    *("--ulimit", "nofile=4096:4096"),
)
"""What this machine also needs: no controllers, and no limit that it may not raise."""
BASE = ("python3", "python3-venv", "ca-certificates")
"""Debian packages that stand in for the image python:3.11-slim."""
_PROGRAMS = ("podman", "crun", "conmon", "unshare", "mmdebstrap")


@dataclass(frozen=True, slots=True)
class Engine:
    """A podman with its own storage, below ``folder``."""

    binary: str
    folder: Path

    def __call__(
        self, *words: str, seconds: float = 60, ok: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run podman to its end; it must succeed if ``ok``."""
        done = subprocess.run(
            [self.binary, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0 or not ok, (
            f"{words}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
        return done

    def debian(self, name: str, packages: Sequence[str]) -> str:
        """Make an image of these packages and their dependencies; return its name."""
        archive = self.folder / f"{name}.tar"
        suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
        listed = f"--include={','.join(packages)}"
        done = subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", listed, suite, str(archive)],
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        self("import", "--quiet", str(archive), name, seconds=200)
        archive.unlink()
        return f"localhost/{name}"

    def build(self, name: str, source: Path, base: str, *words: str) -> str:
        """Build the Dockerfile of a folder on a base; return the image's name."""
        self(
            *("build", "--quiet", "--format", "docker", "--isolation", "chroot"),
            *("--network", "host", *index_mounts(self.folder), "--build-arg", f"BASE={base}"),
            *("--tag", name, *words, str(source)),
            seconds=500,
        )
        return f"localhost/{name}"


@contextmanager
def engine() -> Iterator[Engine]:
    """Yield a podman with empty storage; fail if something is missing."""
    missing = [one for one in _PROGRAMS if shutil.which(one) is None]
    assert missing == [], f"{missing} are missing; tests/system_packages.sh installs them"
    assert os.geteuid() == 0, "run as root: podman needs a mount namespace of its own here"
    with TemporaryDirectory(
        prefix="img", dir="/tmp"
    ) as short:  # podman allows 50 characters at most
        folder = Path(short)
        (folder / "store").mkdir()
        binary = folder / "podman.sh"
        binary.write_text(WRAPPER.format(store=folder / "store", driver="overlay"))
        binary.chmod(0o755)
        podman = Engine(str(binary), folder)
        try:
            yield podman
        finally:
            podman("rm", "--all", "--force", "--time", "0", ok=False)


def index_mounts(folder: Path) -> tuple[str, ...]:
    """Return the options with which pip in a container finds packages as pip here does."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    ).stdout
    found = dict(re.findall(r"^(?:global|:env:)\.([\w-]+)='(.*)'$", listed, re.MULTILINE))
    settings = folder / "pip.conf"
    settings.write_text(
        "\n".join(["[global]", *(f"{key} = {text}" for key, text in found.items())])
    )
    places = {word.removeprefix("file://") for text in found.values() for word in text.split()}
    # The pages of an index link to files next to them.
    places = {place.removesuffix("/simple") for place in places}
    mounted = sorted(place for place in places if place.startswith("/") and Path(place).exists())
    volumes = [f"{settings}:/etc/pip.conf:ro", *(f"{place}:{place}:ro" for place in mounted)]
    return tuple(word for volume in volumes for word in ("--volume", volume))


def options(service: Mapping[str, object], folder: Path) -> list[str]:
    """Return podman's options for a service of compose.yaml; an unknown key fails.

    Not covered: cgroup limits, which this machine cannot set; what compose itself does.
    """
    words: list[str] = []
    for key, value in service.items():
        words += _READERS[key](value, folder)
    return words


def _each(option: str, values: object) -> list[str]:
    assert isinstance(values, list)
    return [word for value in values for word in (option, str(value))]


def _health(check: object, _folder: Path) -> list[str]:
    assert isinstance(check, dict)
    kind, *command = check["test"]
    assert kind == "CMD"
    return ["--health-cmd", " ".join(command)]


def _nothing(_value: object, _folder: Path) -> list[str]:
    return []


_READERS: dict[str, Callable[[Any, Path], list[str]]] = {
    "user": lambda value, _: ["--user", value],
    "init": lambda value, _: ["--init"] if value else [],
    "read_only": lambda value, _: ["--read-only", "--read-only-tmpfs=false"] if value else [],
    "cap_drop": lambda values, _: _each("--cap-drop", values),
    "security_opt": lambda values, _: _each("--security-opt", [_option(one) for one in values]),
    "tmpfs": lambda values, _: _each("--tmpfs", values),
    "shm_size": lambda value, _: ["--shm-size", value],
    "environment": lambda values, _: _each("--env", [f"{k}={v}" for k, v in values.items()]),
    "secrets": lambda names, folder: _each(
        "--volume", [f"{folder}/secrets/{name}:/run/secrets/{name}:ro" for name in names]
    ),
    "volumes": lambda values, _: _each("--volume", values),
    "healthcheck": _health,
    **dict.fromkeys(("image", "build", "restart", "depends_on", "stop_grace_period"), _nothing),
    **dict.fromkeys(("mem_limit", "pids_limit"), _nothing),
}


def _option(one: str) -> str:
    return one.removesuffix(":true")
