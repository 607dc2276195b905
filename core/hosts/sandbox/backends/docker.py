"""Start commands inside containers, by the command line of docker or podman (docker-run(1))."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import SpawnError
from core.hosts.sandbox.backend import FilteredBackend
from core.hosts.sandbox.backends.containers import Containers
from core.hosts.sandbox.environment import TMP, env_file, environment
from core.hosts.sandbox.filesystem.layout import Places
from core.hosts.sandbox.filesystem.mounts import Kind, View
from core.hosts.sandbox.filesystem.protect import Hold
from core.hosts.sandbox.filesystem.workspace import opened
from core.hosts.sandbox.filesystem.workspace_check import Check
from core.hosts.sandbox.filters.container_profile import profile_for
from core.hosts.sandbox.memfd import sealed
from core.hosts.sandbox.tmp_dir import MOST_BYTES
from core.model.command import ExecPlan, PlannedCommand
from core.model.identity import ApprovalId
from core.model.result import Finished
from core.planning.paths.search_path import DEFAULT_SEARCH_PATH
from core.runner.enclosure import Enclosure
from core.runner.limits import Limits
from core.runner.runner import Runner
from core.runner.supervisor.spawn import FIRST_INHERITED

_FIXED = (
    *("run", "--rm", "--interactive", "--read-only", "--cap-drop", "ALL"),
    *("--security-opt", "no-new-privileges", "--env-file", f"/proc/self/fd/{FIRST_INHERITED}"),
    *("--security-opt", f"seccomp=/proc/self/fd/{FIRST_INHERITED + 1}"),
)
_ENGINE_FAILED = 125
"""From this exit code on the engine, the start of the command or a signal ended the run."""

# The engine mounts by name, which may lead elsewhere by then; see the module ``bubblewrap``.
# Before the command come pairs of a path and its inode: the workspace's, and what is held in it.
_GUARD = """
while [ "$1" != -- ]; do
i=$(ls -di "$1"); i=${i#"${i%%[! ]*}"}
if [ "${i%% *}" != "$2" ]; then
echo "sayso: $1 changed while the container was made, so nothing ran" >&2
exit 126
fi
shift 2
done
shift
exec "$@"
"""
_SHELL = "/bin/sh"

_PASSED = (
    *("HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
    *("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY"),
    *("CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "DBUS_SESSION_BUS_ADDRESS"),
)
"""What the engine's own command line reads from the gateway's environment."""


@dataclass(frozen=True, slots=True)
class Container:
    """What containers are made of. ``memory_mb`` in MiB; ``None``: no limit of its own.

    ``private_mb`` is what each private folder may hold, in MiB.
    """

    image: str | None = None
    rootfs: str | None = None
    options: tuple[str, ...] = ()
    memory_mb: int | None = None
    pids: int | None = None
    network: bool = False
    private_mb: int = MOST_BYTES // (1024 * 1024)

    def arguments(self) -> Iterator[str]:
        """Yield the options that come from the configuration."""
        if not self.network:
            yield from ("--network", "none")
        if self.memory_mb is not None:
            yield from ("--memory", f"{self.memory_mb}m")
        if self.pids is not None:
            yield from ("--pids-limit", str(self.pids))
        if self.rootfs is None:
            yield from ("--pull", "never")

    def root(self) -> tuple[str, ...]:
        """Return the words that name the root file system."""
        return ("--rootfs", self.rootfs) if self.rootfs is not None else (self.image or "",)


@dataclass(frozen=True, slots=True)
class Enclosed:
    """The enclosure of one run; ``mounted`` are paths, each with its inode, to be compared."""

    path: str
    inherit: tuple[int, ...]
    environ: Mapping[str, str]
    view: View
    mounted: tuple[tuple[str, int], ...]
    options: tuple[str, ...]
    root: tuple[str, ...]
    names: tuple[str, ...] = field(default=())

    def vector(self, place: int, command: PlannedCommand, folder: str) -> tuple[str, ...]:
        """Return the vector that starts the ``place``-th command of the line in a folder.

        Raises:
            SpawnError: the folder does not exist inside.
        """
        _check_seen(self.view, folder)
        words = command.by_path
        if self.mounted:
            pairs = (word for path, inode in self.mounted for word in (path, str(inode)))
            words = (_SHELL, "-c", _GUARD, _SHELL, *pairs, "--", *words)
        where = ("--name", self.names[place], "--workdir", folder, "--entrypoint", words[0])
        return (self.path, *self.options, *where, *self.root, *words[1:])


class Docker(FilteredBackend):
    """The backend ``docker``; ``binary`` is the absolute path of docker or podman.

    ``owner`` distinguishes this gateway's containers from those of others; any text.
    """

    name = "docker"

    def __init__(
        self, runner: Runner, binary: str, places: Places, container: Container, owner: str
    ) -> None:
        super().__init__(places, profile_for)
        self._binary = binary
        self._container = container
        self.label = f"sayso={hashlib.sha256(owner.encode()).hexdigest()[:16]}"
        self._environ = {name: os.environ[name] for name in _PASSED if name in os.environ}
        self._containers = Containers(runner, binary, self._environ)

    def check(self, plan: ExecPlan) -> None:
        """Refuse a plan that could not start inside; its programs are the image's own.

        Raises:
            SpawnError: a folder cannot be seen from inside.
        """
        view = self._places.view(plan.cwd.path)
        for command in plan.commands:
            _check_seen(view, (command.cwd or plan.cwd).path)

    @contextmanager
    def enclose(
        self, run_id: ApprovalId, plan: ExecPlan, scratch: Path, check: Check | None = None
    ) -> Iterator[Enclosure]:
        """Yield the enclosure of one run, whose commands share the private folder ``scratch``.

        ``check`` begins with it, if there is a workspace; what it holds cannot be changed.

        Raises:
            HostUnavailable: there is no filter for this machine.
            PlanDrift: the workspace is not the folder that was approved.
            SpawnError: the environment or a path cannot be passed to the engine.
        """
        view = self._places.view(plan.cwd.path)
        with opened(view, plan.cwd, seen=False) as folder:
            variables = sealed("sayso-container", env_file(environment(run_id, plan)))
            size = f"{self._container.private_mb}m"
            mounts = _mounts(view, scratch, size, bound=folder >= 0)
            held = self._held(check, view, folder)
            labels = ("--label", self.label, "--label", _label(run_id))
            user = ("--user", f"{os.geteuid()}:{os.getegid()}")
            try:
                yield Enclosed(
                    path=self._binary,
                    inherit=(variables, self._seccomp()),
                    environ=self._cli(),
                    view=view,
                    mounted=_mounted(view, folder, held),
                    options=(
                        *(*_FIXED, *labels, *user),
                        *_limits(),
                        *self._container.arguments(),
                        *mounts,
                        *_volumes(view, held),
                        *self._container.options,
                    ),
                    root=self._container.root(),
                    names=_names(run_id, plan),
                )
            finally:
                os.close(variables)

    def broke(self, done: Finished) -> bool:
        """Return whether the engine itself may have failed."""
        return done.exit_code == _ENGINE_FAILED

    async def sweep(self, run_id: ApprovalId | None, done: Finished | None) -> None:
        """End and remove a run's containers; the engine removes those that end on their own."""
        if run_id is None:
            await self._containers.remove(self.label)
        elif done is None or _stopped(done):
            await self._containers.remove(_label(run_id))

    def _cli(self) -> dict[str, str]:
        return {"PATH": ":".join(DEFAULT_SEARCH_PATH), **self._environ}


def _check_seen(view: View, folder: str) -> None:
    inside = View(tuple(view.beside_a_system()), view.workspace, view.barred)
    if not inside.enters(folder):
        words = f"the folder `{folder}` cannot be seen from inside the container"
        raise SpawnError(f"{words}: {inside.why_unseen(folder)}")


def _stopped(done: Finished) -> bool:
    """Return whether the engine's command line may have ended before the container did.

    podman that gets TERM just after the start reports 0 and leaves the container running.
    """
    code = done.exit_code
    return code is None or done.cancelled or done.timed_out or code >= _ENGINE_FAILED


def _label(run_id: ApprovalId) -> str:
    return f"sayso-run={run_id}"


def _names(run_id: ApprovalId, plan: ExecPlan) -> tuple[str, ...]:
    return tuple(f"sayso-{run_id}-{place}" for place in range(len(plan.commands)))


def _limits() -> Iterator[str]:
    """Yield the limits of the host gateway: an engine that is a service would not inherit them."""
    for name, (soft, hard) in Limits().pairs().items():
        yield from ("--ulimit", f"{name}={soft}:{hard}")


def _mounts(view: View, scratch: Path, size: str, *, bound: bool) -> tuple[str, ...]:
    mounts = (
        _mount(_plain(path), kind, _plain(str(scratch)), size)
        for path, kind in view.beside_a_system()
        if kind is not Kind.WORKSPACE or bound
    )
    return tuple(word for mount in mounts for word in mount)


def _mount(path: str, kind: Kind, scratch: str, size: str) -> tuple[str, str]:
    match kind:
        case Kind.PRIVATE if path == TMP:
            return ("--volume", f"{scratch}:{path}")
        case Kind.PRIVATE:
            return ("--tmpfs", f"{path}:nosuid,nodev,size={size}")
        case Kind.EMPTIED:
            return ("--tmpfs", f"{path}:nosuid,nodev,size=64k")
        case Kind.BLANKED:
            return ("--volume", f"{os.devnull}:{path}:ro")
        case Kind.WORKSPACE:
            return ("--volume", f"{path}:{path}")
        case _:
            return ("--volume", f"{path}:{path}:ro")


def _mounted(view: View, folder: int, held: tuple[Hold, ...]) -> tuple[tuple[str, int], ...]:
    if folder < 0 or view.workspace is None:
        return ()
    inner = ((f"{view.workspace}/{one.path}", os.fstat(one.fd).st_ino) for one in held)
    return ((view.workspace, os.fstat(folder).st_ino), *inner)


def _volumes(view: View, held: tuple[Hold, ...]) -> Iterator[str]:
    for one in held:
        path = _plain(f"{view.workspace}/{one.path}")
        yield from ("--volume", f"{path}:{path}" if one.writable else f"{path}:{path}:ro")


def _plain(path: str) -> str:
    if ":" in path or "," in path:
        raise SpawnError(f"`{path}` cannot be a container's folder: its name has a colon or comma")
    return path
