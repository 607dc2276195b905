"""Say what a sandboxed command sees, what is empty for it, and which folder it may change.

All paths are real ones: a mount is made at the path itself, never through a link.
"""
# ruff: noqa: PTH110, PTH112, PTH115
# Asked for each run and command; pathlib is ten times slower here.

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_SYSTEM = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt"),
    *("/proc", "/run", "/sbin", "/snap", "/sys", "/usr", "/var"),
)
_HOMES = ("/home", "/root")
_SECRETS = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers.d"),
    *("/etc/ssh", "/etc/ssl/private", "/etc/sayso"),
)
"""Hidden where the gateway may read them, which it may as root."""

_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - inside they are private ones
_CODE = str(Path(__file__).parents[3])


@dataclass(frozen=True, slots=True)
class View:
    """What one run sees: everything read-only, but for these.

    ``private`` are folders that are empty at first, ``emptied`` are without content, ``blanked``
    are files without content. ``workspace`` may be changed, ``None``: nothing may.
    """

    private: tuple[str, ...]
    emptied: tuple[str, ...]
    blanked: tuple[str, ...]
    workspace: str | None

    def sees(self, path: str) -> bool:
        """Tell whether a real path is inside what it is outside."""
        hidden = (*self.emptied, *self.blanked)
        if self.in_workspace(path):
            return not any(is_within(path, one) for one in hidden if self.in_workspace(one))
        return not any(is_within(path, one) for one in (*self.private, *hidden, "/dev", "/proc"))

    def enters(self, folder: str) -> bool:
        """Tell whether a folder is there inside, if only as an empty one."""
        return folder in self.private or folder in self.emptied or self.sees(folder)

    def in_workspace(self, path: str) -> bool:
        """Tell whether a path is the workspace or lies in it."""
        return self.workspace is not None and is_within(path, self.workspace)

    def reveals(self, folder: str) -> bool:
        """Tell whether a folder could be seen without being the workspace."""
        return not any(is_within(folder, one) for one in (*self.private, *self.emptied))


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one machine and gateway. ``home`` is the user's, ``""`` for none.

    ``guarded`` are what no workspace may hold or lie in; ``hidden`` what the configuration hides;
    ``fixed`` the workspace that it names.
    """

    home: str
    private: tuple[str, ...]
    emptied: tuple[str, ...]
    blanked: tuple[str, ...]
    guarded: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    fixed: str | None = None

    def view(self, cwd: str) -> View:
        """Return what commands see that are run in a folder."""
        hidden = [one for one in map(os.path.realpath, self.hidden) if os.path.lexists(one)]
        folders = tuple(one for one in hidden if os.path.isdir(one))
        files = tuple(one for one in hidden if not os.path.isdir(one))
        workspace = self.fixed
        if workspace is None and self.may_be_changed(cwd, hidden):
            workspace = cwd
        return View(
            self.private, (*self.emptied, *folders), (*self.blanked, *files), workspace
        )

    def may_be_changed(self, folder: str, hidden: Iterable[str] = ()) -> bool:
        """Tell whether a folder that a request names may be its workspace.

        Not what holds more than a project (``/``, a home), nor what belongs to the system, nor a
        hidden folder of a home (``~/.ssh``), nor what leads to the gateway or to hidden places.
        """
        if any(is_within(folder, one) or is_within(one, folder) for one in self.guarded):
            return False
        if any(is_within(folder, one) or _is_deep(one, folder) for one in hidden):
            return False
        if any(is_within(one, folder) for one in (*self.private, *self.emptied, *_SYSTEM)):
            return False
        for base in self.private:
            if is_within(folder, base):
                return "/." not in folder[len(base) :]
        return not any(is_within(folder, one) for one in (*self.emptied, *_SYSTEM))


def places_of(
    gateway: Iterable[Path], home: str, hidden: Iterable[str] = (), fixed: str | None = None
) -> Places:
    """Return the places of this machine.

    ``gateway`` are the files and folders that only the gateway may touch, ``home`` its user's.

    Raises:
        ValueError: the fixed workspace holds the gateway's own files, or lies among them.
    """
    own = [os.path.realpath(one) for one in gateway]
    real = os.path.realpath(home)
    home = real if real != "/" and os.path.isdir(real) else ""
    temporary = (os.path.realpath(one) for one in _TEMPORARY if os.path.isdir(one))
    private = tuple(dict.fromkeys(filter(None, (home, *temporary))))
    secrets = map(os.path.realpath, _SECRETS)
    readable = [one for one in (*secrets, *own) if os.access(one, os.R_OK)]
    emptied = map(os.path.realpath, ("/run", *_HOMES))
    folders = [*emptied, *(one for one in readable if os.path.isdir(one))]
    places = Places(
        home=home,
        private=private,
        emptied=_outermost([one for one in folders if os.path.isdir(one)], private),
        blanked=_outermost([one for one in readable if not os.path.isdir(one)], private),
        guarded=tuple(dict.fromkeys((*own, _CODE, os.path.realpath(sys.prefix)))),
        hidden=tuple(hidden),
        fixed=None if fixed is None else os.path.realpath(fixed),
    )
    _check(places)
    return places


def is_within(path: str, folder: str) -> bool:
    """Tell whether a path is a folder or lies in it; both are real paths."""
    return path == folder or path.startswith(folder if folder == "/" else f"{folder}/")


def _check(places: Places) -> None:
    for one in places.guarded if places.fixed is not None else ():
        if is_within(one, places.fixed or "/") or is_within(places.fixed or "/", one):
            raise ValueError(
                f"sandbox.workspace is {places.fixed}, which shares files with {one}: a sandboxed "
                "command could change the gateway. Name another folder"
            )


def _is_deep(path: str, folder: str) -> bool:
    """Tell whether a path lies in a subfolder: that one could be renamed, and then shows it."""
    return is_within(path, folder) and os.path.dirname(path) != folder


def _outermost(paths: list[str], private: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out what lies in a place that is empty anyway."""
    return tuple(
        one
        for one in dict.fromkeys(paths)
        if not any(one != other and is_within(one, other) for other in paths)
        and not any(is_within(one, other) for other in private)
    )
