"""Check what a run left in its workspace: nothing protected, nothing that lends rights."""

import asyncio
import logging
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.errors import HostUnavailable
from core.hosts.sandbox.filesystem.protect import (
    Found,
    Hold,
    Names,
    Protection,
    Undone,
    cared_for,
    changed,
    holds,
    look,
    targets,
    undo,
)
from core.hosts.sandbox.filesystem.sweep import Moment, Sweep, identity_of, joined

_log = logging.getLogger(__name__)
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_AT_ONCE_S = 0.002
"""How long a walk may take before it moves to a thread; a small workspace is not worth one."""
_MOST_S = 2.0
"""The time that a walk may take in all; the caller waits for it."""
_MOST_NAMED = 10
_MOST_KNOWN = 256
"""Folders whose repositories are remembered."""


@dataclass(slots=True)
class Workspace:
    """What a folder was like when no run was in it: its git folders, and what was protected.

    Runs that overlap share it: what one of them made counts as new for the others, too.
    ``complete``: all of the folder was searched for git folders. ``held`` are those of them that
    are held and compared; for the others, changes are reported.
    """

    git_folders: frozenset[str] = frozenset()
    held: tuple[str, ...] = ()
    complete: bool = False
    paths: tuple[str, ...] = ()
    before: dict[str, Found | None] = field(default_factory=dict)
    runs: int = 0


@dataclass(slots=True)
class Checks:
    """The checks of all runs of a gateway; ``protection`` is what is configured."""

    protection: Protection
    _known: dict[tuple[int, int], Workspace] = field(default_factory=dict)
    _walker: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(
            1,
            thread_name_prefix="sweep",
            initializer=signal.pthread_sigmask,
            initargs=(signal.SIG_BLOCK, signal.valid_signals()),
        )
    )

    def close(self) -> None:
        """End the thread that walks."""
        self._walker.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def run(self) -> Iterator["Check"]:
        """Yield the check of one run; whatever it holds is released afterwards."""
        check = Check(self)
        try:
            yield check
        finally:
            check.close()

    async def prepare(self, workspace: str | None) -> None:
        """Find the repositories of a workspace that no run has been in yet."""
        if workspace is None or not self.protection.of_git:
            return
        try:
            fd = os.open(workspace, _FOLDER)
        except OSError:
            return  # the run itself will report it
        try:
            if identity_of(fd) not in self._known:
                sweep = Sweep(fd, None)
                await self.walk(sweep)
                self.learn(self.workspace(fd), sweep)
        finally:
            os.close(fd)

    async def walk(self, sweep: Sweep) -> None:
        """Walk to the end, or for as long as a caller can be made to wait."""
        try:
            if not sweep.go_on(_AT_ONCE_S):
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self._walker, sweep.go_on, _MOST_S)
        finally:
            sweep.close()

    def learn(self, known: Workspace, sweep: Sweep) -> None:
        """Remember the repositories that were found as those that exist before the next run."""
        if known.runs or (known.complete and not sweep.complete):
            return
        known.git_folders = frozenset(sweep.git_folders)
        known.held = cared_for((*sweep.git_folders, *sweep.git_files), known.held)
        known.complete = sweep.complete

    def workspace(self, fd: int) -> Workspace:
        """Return what is known about a folder."""
        identity = identity_of(fd)
        if identity not in self._known:
            for other in [one for one, known in self._known.items() if not known.runs]:
                if len(self._known) < _MOST_KNOWN:
                    break
                del self._known[other]
        return self._known.setdefault(identity, Workspace())


@dataclass(slots=True)
class Check:
    """The check of one run. ``begin`` starts it, and is not called without a workspace."""

    _checks: Checks
    _fd: int = -1
    _began: Moment | None = None
    _known: Workspace = field(default_factory=Workspace)
    _names: Names = field(default_factory=lambda: Names(-1))
    _held: frozenset[str] = frozenset()
    _undone: list[Undone] = field(default_factory=list)

    def begin(
        self, fd: int, workspace: str, inner: tuple[str, ...] = (), *, binds: bool = True
    ) -> tuple[Hold, ...]:
        """Note what a workspace is like before a run, and return what is to be bound to itself.

        Their descriptors are open until ``close``. ``fd`` is duplicated; ``binds``: whether
        the backend can bind them, else there are none. ``inner`` are paths that will be mounted
        on, such as hidden ones: after a folder above one is renamed, it is elsewhere next time.

        Raises:
            HostUnavailable: what is there cannot be determined.
        """
        began, self._fd = Moment.now(), os.dup(fd)
        self._names = Names(self._fd)
        known = self._known = self._checks.workspace(self._fd)
        try:
            kept = self._look(known, workspace, inner)
        except OSError as error:
            why = f"the workspace {workspace} cannot be checked ({error.strerror})"
            raise HostUnavailable(f"{why}, so nothing ran") from error
        self._began = began
        known.runs += 1
        self._held = frozenset(one.path for one in kept if binds)
        self._names.close(keep=self._held)
        return kept if binds else ()

    def _look(self, known: Workspace, workspace: str, inner: tuple[str, ...]) -> tuple[Hold, ...]:
        names = self._names
        paths = tuple(dict.fromkeys(self._checks.protection.paths(known.held)))
        paths += tuple(targets(workspace, names, paths, self._checks.protection.names))
        if not known.runs:
            known.paths, known.before = paths, look(names, paths)
        return tuple(holds(names, (*inner, *paths)))

    async def finish(self) -> tuple[str, ...]:
        """Undo what must not be left behind, and return it in sentences; nothing if all is well."""
        if self._began is None:
            return ()
        sweep = Sweep(self._fd, self._began.as_dated(), self._judge)
        try:
            await self._checks.walk(sweep)
            self._undo()
        except OSError as error:
            self._undone.append(Undone("what is", f"cannot be checked: {error.strerror}"))
        self._end()
        self._checks.learn(self._known, sweep)
        return tuple(_sentences(sweep, self._undone))

    def _judge(self, path: str, fd: int) -> None:
        """Undo what happened in a git folder that is new, or not among those that are held."""
        known, inside = self._known, self._checks.protection.of_git
        names = Names(fd)
        try:
            if path not in known.git_folders and known.complete:
                found = list(undo(names, inside, {}, frozenset(), {""}))
            elif path not in known.held and self._began is not None:
                found = list(changed(fd, inside, self._began.as_dated()))
            else:
                found = []
        finally:
            names.close()
        self._undone += [Undone(joined(path, one.path), one.words) for one in found]

    def _undo(self) -> None:
        """Undo what happened at the protected paths that were checked before."""
        known, names = self._known, Names(self._fd)
        git_folders = {".git", *known.held}
        try:
            self._undone += undo(names, known.paths, known.before, self._held, git_folders)
        finally:
            names.close()

    def _end(self) -> None:
        if self._began is not None:
            self._began = None
            self._known.runs -= 1

    def close(self) -> None:
        """Release what is held open."""
        self._end()
        self._names.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _sentences(sweep: Sweep, undone: list[Undone]) -> Iterator[str]:
    found = [(one, "was set-user-ID or similar; the bit was removed") for one in sweep.cleared]
    found += [(one, "is set-user-ID or similar, and could not be changed") for one in sweep.left]
    found += [(one.path, one.words) for one in undone]
    for path, words in found[:_MOST_NAMED]:
        yield f"{_shown(path)} in the workspace {words}"
    if len(found) > _MOST_NAMED:
        yield f"{len(found) - _MOST_NAMED} more such files are in the gateway's log"
    if not sweep.complete:
        yield f"only {sweep.entries} entries of the workspace were looked through for such marks"
    for path, words in found:
        _log.warning("%s in the workspace %s", _shown(path), words)


def _shown(path: str) -> str:
    """Return a path so that no character in it can disguise another."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in path
    )
