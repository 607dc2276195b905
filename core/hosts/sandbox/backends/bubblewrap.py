"""Start commands inside bubblewrap: with their own namespaces and view of the files (bwrap(1))."""

import functools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from core.errors import SpawnError
from core.hosts.sandbox.backend import FilteredBackend
from core.hosts.sandbox.environment import TMP, environment
from core.hosts.sandbox.filesystem.layout import Places
from core.hosts.sandbox.filesystem.mounts import Kind, View, is_within
from core.hosts.sandbox.filesystem.protect import Hold
from core.hosts.sandbox.filesystem.workspace import binds_descriptors, opened
from core.hosts.sandbox.filesystem.workspace_check import Check
from core.hosts.sandbox.filters import landlock as ruling
from core.hosts.sandbox.filters.seccomp import filter_for
from core.hosts.sandbox.memfd import sealed
from core.hosts.sandbox.tmp_dir import MOST_BYTES
from core.model.command import ExecPlan, PlannedCommand
from core.model.identity import ApprovalId
from core.model.result import Finished
from core.runner.enclosure import Enclosure
from core.runner.supervisor.spawn import FIRST_INHERITED

_SECCOMP, _OPTIONS, _WORKSPACE = (str(FIRST_INHERITED + place) for place in range(3))
_OWN = 2
"""Descriptors before the workspace's: the filter's and the options'."""

_NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"),
)
# bubblewrap covers what appears writable in /proc; /proc/sys does not, but root may write to its
# files. This precedes all other mounts, because bubblewrap reads the whole table of mounts after
# most of them.
_KERNEL = ("--proc", "/proc", "--remount-ro", "/proc")
_LAST = ("--dir", "/run", "--dir", "/home", "--remount-ro", "/")
_EMPTIED_BYTES = str(64 * 1024)

# bubblewrap mounts by name, and a name that was checked may lead elsewhere by then, through a
# link that was put there. So what it mounted is compared with the folder that was opened before,
# and only then does the command start. With `--bind-fd` bubblewrap compares on its own, right after
# the mount, and closes the descriptor; a shell inside costs as much as a bare spawn. It is needed
# where bubblewrap is older, and where the folder can be seen without the mount as well: then the
# right folder in the right place does not prove that it was mounted there, so it must be writable
# too. Process 1 inside also has that descriptor until it has closed all of its own.
_GUARD = f"""
if [ /proc/self/fd/{_WORKSPACE} -ef "$0" ] && [ "$1" = hidden -o -w "$0" ]; then
while [ -e /proc/1/fd/{_WORKSPACE} ]; do :; done
exec {_WORKSPACE}<&-
shift
exec "$@"
fi
echo "sayso: the workspace $0 changed while the sandbox was made, so nothing ran" >&2
exit 126
"""
_SHELL = "/bin/sh"

MOST_WORDS = 8_000
"""bubblewrap takes 9,000 words, its own options included."""


@dataclass(frozen=True, slots=True)
class Enclosed:
    """The enclosure of one run; ``guard`` are the words before each command's vector."""

    path: str
    inherit: tuple[int, ...]
    view: View
    scratch: str
    guard: tuple[str, ...]
    environ: Mapping[str, str] = field(default_factory=dict)

    def vector(self, place: int, command: PlannedCommand, folder: str) -> tuple[str, ...]:
        """Return the vector that starts a command of the line in a folder.

        Raises:
            SpawnError: the command or its folder cannot be seen from inside.
        """
        del place  # every command is enclosed the same way
        _check_seen(self.view, command, folder)
        if len(command.vector) > MOST_WORDS:
            raise SpawnError(f"a sandboxed command has {MOST_WORDS} words at most; use xargs")
        fixed = ("bwrap", "--bind", self.scratch, TMP, "--args", _OPTIONS, "--chdir", folder, "--")
        return (*fixed, *self.guard, *command.by_path)


class Bubblewrap(FilteredBackend):
    """The backend ``bubblewrap``; ``binary`` is the absolute path of ``bwrap``.

    ``network``: commands share the machine's. ``landlock``: it restricts files as well.
    ``unix_sockets``: commands may make Unix sockets, and connect them to whatever is visible.
    ``private_bytes`` is what each private folder of a command may hold, in memory.
    """

    name = "bubblewrap"

    def __init__(
        self,
        binary: str,
        places: Places,
        *,
        network: bool,
        landlock: bool = False,
        unix_sockets: bool = False,
        private_bytes: int = MOST_BYTES,
    ) -> None:
        super().__init__(places, partial(filter_for, unix_sockets=unix_sockets))
        self._binary = binary
        self._network = network
        self._landlock = landlock
        self._size = str(private_bytes)
        self._binds_descriptors = binds_descriptors(binary)

    def check(self, plan: ExecPlan) -> None:
        """Refuse a plan that could not start inside.

        Raises:
            SpawnError: a command or its folder cannot be seen from inside.
        """
        view = self._places.view(plan.cwd.path)
        for command in plan.commands:
            _check_seen(view, command, (command.cwd or plan.cwd).path)

    @contextmanager
    def enclose(
        self, run_id: ApprovalId, plan: ExecPlan, scratch: Path, check: Check | None = None
    ) -> Iterator[Enclosure]:
        """Yield the enclosure of one run, whose commands share the private folder ``scratch``.

        ``check`` begins with it, if there is a workspace; what it holds cannot be changed.

        Raises:
            HostUnavailable: there is no filter for this machine.
            PlanDrift: the workspace is not the folder that was approved.
        """
        view = self._places.view(plan.cwd.path)
        seen = view.workspace is not None and view.sees_without_mount(view.workspace)
        with opened(view, plan.cwd, seen=seen) as folder:
            inherit = (folder,) if folder >= 0 else ()
            bind = "--bind-fd" if self._binds_descriptors and not seen else "--bind"
            guard: tuple[str, ...] = ()
            if inherit and bind == "--bind" and view.workspace is not None:
                guard = (_SHELL, "-c", _GUARD, view.workspace, "seen" if seen else "hidden")
            if self._landlock:
                guard += ruling.words(view, bound=bool(inherit))
            held = self._held(check, view, folder, binds=self._binds_descriptors)
            first = FIRST_INHERITED + _OWN + len(inherit)
            words = (
                *self.fixed_options(),
                *_mounts(view, bind if inherit else "", self._size, inner=False),
                *_binds(held, view, first),
                *_mounts(view, "", self._size, inner=True),
                *_LAST,
            )
            variables = _environment(run_id, plan)
            options = sealed("sayso-sandbox", "\0".join((*words, *variables, "")).encode())
            try:
                fds = (self._seccomp(), options, *inherit, *(one.fd for one in held))
                yield Enclosed(self._binary, fds, view, str(scratch), guard)
            finally:
                os.close(options)

    def broke(self, done: Finished) -> bool:
        """Return whether bubblewrap itself may have failed; a command could also imitate that."""
        return done.exit_code == 1 and done.output.text.startswith("bwrap: ")

    async def sweep(self, run_id: ApprovalId | None, done: Finished | None) -> None:
        """Do nothing: all that bubblewrap started ends with it, and its mounts are gone."""

    def fixed_options(self) -> tuple[str, ...]:
        """Return the options that every run has; mounts are made in their order."""
        alone = () if self._network else ("--unshare-net",)
        # bubblewrap's own /dev could be written to without a bound: half of the machine's memory.
        devices = ("--dev", "/dev", *_tmpfs("/dev/shm", self._size), "--remount-ro", "/dev")  # noqa: S108
        return (*_NAMESPACES, *alone, "--seccomp", _SECCOMP, *devices, *_KERNEL)


def _check_seen(view: View, command: PlannedCommand, folder: str) -> None:
    program = command.executable
    if program is None or not (view.sees(program.path) and view.sees(program.realpath)):
        raise SpawnError(f"`{command.argv[0]}` cannot be seen from inside the sandbox")
    if not view.enters(folder):
        words = f"the folder `{folder}` cannot be seen from inside the sandbox"
        raise SpawnError(f"{words}: {view.why_unseen(folder)}")


@functools.lru_cache(maxsize=256)
def _mounts(view: View, bind: str, size: str, *, inner: bool) -> tuple[str, ...]:
    """Return the options that make a view, except for the run's own ``/tmp``.

    ``bind`` is the option that binds the workspace, empty if it is not to be bound. ``size`` is
    that of private folders, in bytes. ``inner``: those in the workspace, which are mounted after
    what is bound to itself there, because that would cover them.
    """
    kinds = [(path, kind) for path, kind in view.places if kind is not Kind.WORKSPACE or bind]
    at = view.workspace
    return tuple(
        word
        for path, kind in kinds
        if (at is not None and path != at and is_within(path, at)) is inner
        for word in _mount(path, kind, bind, size)
    )


def _mount(path: str, kind: Kind, bind: str, size: str) -> tuple[str, ...]:
    match kind:
        case Kind.PRIVATE if path == TMP:
            return ()
        case Kind.PRIVATE | Kind.EMPTIED:
            return _tmpfs(path, size if kind is Kind.PRIVATE else _EMPTIED_BYTES)
        case Kind.BLANKED:
            return ("--ro-bind", os.devnull, path)
        case Kind.LINK:
            return ("--symlink", os.readlink(path), path)  # noqa: PTH115 - as it reads
        case Kind.SYSTEM | Kind.SHOWN:
            return ("--ro-bind", path, path)
        case Kind.WORKSPACE:
            return (bind, _WORKSPACE if bind == "--bind-fd" else path, path)


def _tmpfs(path: str, size: str) -> tuple[str, ...]:
    return ("--size", size, "--tmpfs", path)


def _binds(held: tuple[Hold, ...], view: View, first: int) -> Iterator[str]:
    """Yield the options that bind what is held to itself; ``first`` is the first descriptor."""
    for place, one in enumerate(held, first):
        bind = "--bind-fd" if one.writable else "--ro-bind-fd"
        yield from (bind, str(place), f"{view.workspace}/{one.path}")


def _environment(run_id: ApprovalId, plan: ExecPlan) -> Iterator[str]:
    """Yield the options that set the environment; in memory, as a command line can be read."""
    for name, value in environment(run_id, plan).items():
        yield from ("--setenv", name, value)
