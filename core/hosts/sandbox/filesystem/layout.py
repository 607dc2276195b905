"""Define this machine's places: which of them sandboxed commands see, and which they may change.

All paths are real ones: a mount is made at the path itself, never through a link.
"""
# ruff: noqa: PTH112, PTH114, PTH116, PTH123
# Asked for each run; pathlib is ten times slower here.

import functools
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core.hosts.sandbox.filesystem.bind_mounts import mounts_now
from core.hosts.sandbox.filesystem.links import lies_in_protected
from core.hosts.sandbox.filesystem.mounts import Kind, View, is_within

_SHOWN = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix"),
)
"""The system: programs, their libraries and settings."""

_NO_WORKSPACE = (
    *("/boot", "/dev", "/home", "/proc", "/root", "/run", "/snap", "/sys", "/var"),
    *_SHOWN,
)
_SECRETS = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers.d"),
    *("/etc/ssh", "/etc/ssl/private", "/etc/sayso"),
)
"""Hidden if the gateway may read them, as it may when it is root."""

_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - inside they are private ones
_SOCKETS = "/proc/net/unix"
_SOCKET_PATH = 7
"""The column of the path; sockets without a name have none (proc(5))."""
_CODE = str(Path(__file__).parents[4])
_PYTHON = os.path.realpath(sys.prefix)
_ELSEWHERE = "Run it in another project's folder"


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one machine and gateway.

    ``fixed`` are those of every run. ``guarded`` is what no workspace may hold or be in.
    ``hidden`` is what the configuration hides, ``workspace`` the one that it names. ``protected``
    are the relative paths that no command may change.
    """

    fixed: tuple[tuple[str, Kind], ...]
    guarded: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    workspace: str | None = None
    protected: tuple[str, ...] = ()

    def view(self, cwd: str) -> View:
        """Return what commands that run in a folder see."""
        hidden = tuple(os.path.realpath(one) for one in self.hidden if os.path.lexists(one))
        view = _view(self, cwd, hidden, self._bar(cwd))
        reachable = dict.fromkeys(sockets(view), Kind.BLANKED)
        if not reachable:
            return view
        return View(_sorted(dict(view.places) | reachable), view.workspace, view.barred)

    def workspace_for(self, cwd: str) -> str | None:
        """Return what commands that run in a folder may change."""
        hidden = tuple(os.path.realpath(one) for one in self.hidden if os.path.lexists(one))
        return _view(self, cwd, hidden, self._bar(cwd)).workspace

    def _bar(self, cwd: str) -> str:
        """Return why a folder with something guarded or protected is no workspace, else ``""``.

        It is checked each time: what a folder is to git, or what leads to it, changes.
        """
        if self.workspace is not None:
            return ""
        for one in self.guarded:
            if is_within(cwd, one) or is_within(one, cwd):
                return _shares(one)
        if lies_in_protected(cwd, self.protected):
            return f"is in a place that no command may change (sandbox.protect). {_ELSEWHERE}"
        if mounts_now().shares(cwd, self.guarded):
            return f"shares files with Sayso's own by a bind mount. {_ELSEWHERE}"
        return ""

    def without_sockets(self, cwd: str, hidden: tuple[str, ...], *, barred: str) -> View:
        """Return the view before this moment's sockets are hidden; ``hidden`` are real paths.

        ``barred``: why the folder is no workspace, whatever its name.
        """
        workspace = self.workspace
        if workspace is None and not barred and self._may_be_changed(cwd, hidden):
            workspace = cwd
        places = dict(self.fixed)
        if workspace is not None:
            places[workspace] = Kind.WORKSPACE
        places.update((one, _hiding(one)) for one in hidden)
        return View(_sorted(places), workspace, (cwd, barred) if barred else ("", ""))

    def _may_be_changed(self, folder: str, hidden: tuple[str, ...]) -> bool:
        """Return whether a folder that a request names may be its workspace.

        It must not contain more than a project (``/``, a home), belong to the system, be a hidden
        folder of a home (``~/.ssh``), or lead to the gateway or to hidden places.
        """
        if any(is_within(folder, one) or is_within(one, folder) for one in self.guarded):
            return False
        if any(is_within(folder, one) or _is_deep(one, folder) for one in hidden):
            return False
        private = [path for path, kind in self.fixed if kind is Kind.PRIVATE]
        if any(is_within(one, folder) for one in (*private, *_NO_WORKSPACE)):
            return False
        for base in private:
            if is_within(folder, base):
                return "/." not in folder[len(base) :]
        return not any(is_within(folder, one) for one in _NO_WORKSPACE)


def places_of(
    gateway: Iterable[Path],
    home: str,
    hidden: Iterable[str] = (),
    shown: Iterable[str] = (),
    workspace: str | None = None,
    protected: Iterable[str] = (),
) -> Places:
    """Return the places of this machine.

    ``gateway`` are the files and folders that only the gateway may touch, ``home`` its user's,
    ``shown`` what is to be seen besides the system. ``protected`` are the relative paths that
    commands must not change; a folder that a request names is no workspace below one of them.

    Raises:
        ValueError: the workspace, or what is shown, holds the gateway's own files or is inside
        them.
    """
    own = [os.path.realpath(one) for one in gateway]
    guarded = tuple(dict.fromkeys((*own, _CODE, _PYTHON)))
    workspace = None if workspace is None else os.path.realpath(workspace)
    visible = [os.path.realpath(one) for one in shown]
    _check("sandbox.workspace", filter(None, (workspace,)), guarded)
    _check("sandbox.show", visible, own)
    places = dict(_system())
    places |= dict.fromkeys(_folders((*_TEMPORARY, home)), Kind.PRIVATE)
    places |= {one: Kind.SHOWN for one in visible if os.path.lexists(one)}
    secrets = (*map(os.path.realpath, _SECRETS), *own)
    view = View(_sorted(places))
    places |= {one: _hiding(one) for one in secrets if view.sees(one) and os.access(one, os.R_OK)}
    return Places(_sorted(places), guarded, tuple(hidden), workspace, tuple(protected))


def _system() -> Iterator[tuple[str, Kind]]:
    for path in _SHOWN:
        if os.path.islink(path):
            yield path, Kind.LINK
        elif os.path.isdir(path):
            yield path, Kind.SYSTEM


@functools.lru_cache(maxsize=256)
def _view(places: Places, cwd: str, hidden: tuple[str, ...], barred: str) -> View:
    return places.without_sockets(cwd, hidden, barred=barred)


def _folders(paths: Iterable[str]) -> Iterator[str]:
    for path in map(os.path.realpath, paths):
        if path != "/" and os.path.isdir(path):
            yield path


def _hiding(path: str) -> Kind:
    return Kind.EMPTIED if os.path.isdir(path) else Kind.BLANKED


def _sorted(places: dict[str, Kind]) -> tuple[tuple[str, Kind], ...]:
    return tuple(sorted(places.items()))


def _shares(guarded: str) -> str:
    """Return the message that a folder shares files with one of Sayso's own, and what to do."""
    what = "code" if guarded == _CODE else "Python" if guarded == _PYTHON else "state"
    words = f"shares files with Sayso's own {what} ({guarded}), which no command may change"
    show = "" if what == "state" else ", or set sandbox.show to let commands read it"
    return f"{words}. {_ELSEWHERE}{show}"


def _check(setting: str, paths: Iterable[str], guarded: Iterable[str]) -> None:
    for path in paths:
        for one in guarded:
            if is_within(one, path) or is_within(path, one):
                raise ValueError(
                    f"{setting} names {path}, which shares files with {one}: sandboxed commands "
                    "must not reach the gateway's own files. Choose another folder"
                )


def _is_deep(path: str, folder: str) -> bool:
    """Return whether a path is in a subfolder, which could be renamed and then shows it."""
    return is_within(path, folder) and os.path.dirname(path) != folder  # noqa: PTH120 - as above


def sockets(view: View) -> Iterator[str]:
    """Yield the real paths of this machine's sockets that a view shows, except the workspace's.

    A read-only view would not keep a command from the services that listen there.
    """
    with open(_SOCKETS, "rb") as table:
        content = table.read()
    if b"/" not in content:
        return
    named = {line.split(None, _SOCKET_PATH)[-1] for line in content.splitlines() if b" /" in line}
    for path in map(os.fsdecode, named):
        if view.sees(path) and not view.in_workspace(path) and _is_socket(path):
            yield os.path.realpath(path)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False
