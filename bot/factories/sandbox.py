"""Build the host ``sandbox`` from the settings: its folders, and the backends in order."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bot.settings import Settings
from core.errors import ConfigError, HostUnavailable
from core.hosts.sandbox.backend import Backend
from core.hosts.sandbox.backends.bubblewrap import Bubblewrap
from core.hosts.sandbox.backends.docker import Container, Docker
from core.hosts.sandbox.by_user import SandboxByUser, UserFolders
from core.hosts.sandbox.filesystem.layout import Places, places_of
from core.hosts.sandbox.filesystem.workspace import binds_descriptors
from core.hosts.sandbox.host import SandboxHost
from core.hosts.sandbox.tmp_dir import Scratch
from core.isolation import wire
from core.isolation.executors import Executors
from core.planning.environment import account_of
from core.runner.runner import Runner
from core.settings.sandbox import SandboxBackend, SandboxSection

_FOLDER = "sandbox"
_BUBBLEWRAP, _BUBBLEWRAP_NAME = "bwrap", SandboxBackend.BUBBLEWRAP.value
_MIB = 1024 * 1024


def sandbox_of(settings: Settings, runner: Runner, private: Path | None = None) -> SandboxHost:
    """Return the host ``sandbox`` as configured; nothing is probed yet.

    ``private`` holds the private folders of runs (default: a folder in the home).

    Raises:
        ConfigError: the workspace shares files with the gateway.
    """
    places = _places(settings)
    missing: list[str] = []
    backends = tuple(_backends(settings, runner, places, missing))
    return SandboxHost(
        runner,
        backends,
        Scratch(
            private or settings.home / _FOLDER,
            settings.sandbox.private_mb * _MIB,
            (path.parent for path in _written(settings)),
        ),
        str(settings.home),
        network=settings.sandbox.network,
        missing=tuple(missing),
        protect=settings.sandbox.protect,
    )


def by_user(settings: Settings, own: SandboxHost, executors: Executors | None) -> SandboxByUser:
    """Return the host ``sandbox`` for the gateway's own runs and for those of other users."""
    if executors is None or not encloses_others(settings):
        return SandboxByUser(own, None)

    def make(user: str) -> SandboxHost:
        account = account_of(user)
        if account is None:
            raise HostUnavailable(f"there is no user `{user}` on this machine")
        home = account[1]
        places = _places(settings, home)
        runner, missing = executors.runner(user), list[str]()
        return SandboxHost(
            runner,
            tuple(_backends(settings, runner, places, missing)),
            UserFolders(Path(home, wire.PRIVATE_FOLDERS), settings.sandbox.private_mb * _MIB),
            str(settings.home),
            network=settings.sandbox.network,
            foreign=True,
            missing=tuple(missing),
            protect=settings.sandbox.protect,
        )

    return SandboxByUser(own, make)


def encloses_others(settings: Settings) -> bool:
    """Return whether the sandbox can run commands as other users: a container's are root's."""
    section = settings.sandbox
    contained = section.image is not None or section.rootfs is not None
    auto = section.backend is SandboxBackend.AUTO and not contained
    return auto or section.backend is SandboxBackend.BUBBLEWRAP


async def prove_sandbox(settings: Settings) -> tuple[str, str]:
    """Return the backend that works here and ``""``, or ``""`` and why none does.

    The home is left as it is: a gateway may be running commands in its folder.

    Raises:
        ConfigError: the workspace shares files with the gateway.
        SpawnError: no process can be started at all.
    """
    with tempfile.TemporaryDirectory(prefix="sayso-doctor-") as scratch:
        runner = Runner()
        host = sandbox_of(settings, runner, Path(scratch) / _FOLDER)
        await runner.start()
        try:
            return await host.backend(), ""
        except HostUnavailable as failure:
            return "", str(failure)
        finally:
            await host.stop()
            await runner.stop()


def unprotected(settings: Settings, backend: str) -> str:
    """Return why a backend cannot make ``sandbox.protect`` read-only, ``""`` if it can."""
    found = _found(settings, _BUBBLEWRAP)
    if backend != _BUBBLEWRAP_NAME or not settings.sandbox.protect or found is None:
        return ""
    if binds_descriptors(found):
        return ""
    return (
        "this bubblewrap has no --ro-bind-fd, so what sandbox.protect names can be written inside "
        "and is only checked afterwards. Install the system's security updates of bubblewrap"
    )


def _places(settings: Settings, home: str = "~") -> Places:
    section = settings.sandbox
    try:
        return places_of(
            (settings.home, *_written(settings)),
            os.path.expanduser(home),  # noqa: PTH111 - text
            section.hide,
            section.show,
            section.workspace,
            section.protect,
        )
    except ValueError as fault:
        raise ConfigError(str(fault)) from fault


def _written(settings: Settings) -> Iterator[Path]:
    """Yield the files that the gateway writes to, which may be outside of its home."""
    yield settings.audit_path
    if settings.database is not None:
        yield settings.database


def _backends(
    settings: Settings, runner: Runner, places: Places, missing: list[str]
) -> Iterator[Backend]:
    """Yield the backends to try; ``missing`` receives why others are not."""
    section = settings.sandbox
    if section.backend is SandboxBackend.NONE:
        missing.append("sandbox.backend is none")
        return
    contained = section.image is not None or section.rootfs is not None
    if section.backend is SandboxBackend.DOCKER or (
        section.backend is SandboxBackend.AUTO and contained
    ):
        yield from _docker(settings, runner, places, missing)
    if section.backend in {SandboxBackend.BUBBLEWRAP, SandboxBackend.AUTO}:
        found = _found(settings, _BUBBLEWRAP)
        if found is None:
            missing.append(f"bubblewrap: `{_BUBBLEWRAP}` is not installed")
        else:
            yield Bubblewrap(
                found,
                places,
                network=section.network,
                landlock=section.landlock,
                unix_sockets=section.unix_sockets,
                private_bytes=section.private_mb * _MIB,
            )


def _docker(
    settings: Settings, runner: Runner, places: Places, missing: list[str]
) -> Iterator[Backend]:
    section = settings.sandbox
    found = _found(settings, section.docker_binary)
    if section.image is None and section.rootfs is None:
        missing.append("docker: neither sandbox.image nor sandbox.rootfs is set")
    elif found is None:
        missing.append(f"docker: `{section.docker_binary}` is not installed")
    else:
        yield Docker(runner, found, places, _container(section), str(settings.home))


def _found(settings: Settings, name: str) -> str | None:
    return shutil.which(name, path=":".join(settings.tools.exec.search_path))


def _container(section: SandboxSection) -> Container:
    return Container(
        image=section.image,
        rootfs=section.rootfs,
        options=section.docker_options,
        memory_mb=section.memory_mb,
        pids=section.pids,
        private_mb=section.private_mb,
        network=section.network,
    )
