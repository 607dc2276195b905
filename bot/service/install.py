"""Install, compare and remove the unit; a person's edits are never overwritten."""

import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from difflib import unified_diff
from enum import StrEnum
from pathlib import Path

from bot.service.systemctl import Systemd
from bot.service.unit import Program, Scope, is_ours
from core.errors import Conflict, StateError
from core.files.private import replace_private
from core.files.unreadable import unreadable
from core.planning.paths.writable_by_others import changeable_on_the_way

_MODE = 0o644
_LINGER = Path("/var/lib/systemd/linger")
_PASSING = ("/tmp/", "/var/tmp/", "/dev/shm/", "/run/", "/.cache/", "/archive-v")  # noqa: S108 - names to refuse


class UnitState(StrEnum):
    """How the installed unit compares with what this version writes."""

    MISSING = "missing"
    SAME = "same"
    OLDER = "older"
    EDITED = "edited"


def unit_path(scope: Scope, environ: Mapping[str, str], runs: Program = Program.GATEWAY) -> Path:
    """Return the path of the unit."""
    if scope is Scope.SYSTEM:
        return Path("/etc/systemd/system") / runs.unit_name
    home = Path(environ.get("HOME") or Path.home())
    config = environ.get("XDG_CONFIG_HOME", "")
    base = Path(config) if config.startswith("/") else home / ".config"
    return base / "systemd" / "user" / runs.unit_name


def program(environ: Mapping[str, str]) -> Path:
    """Return a lasting path of ``sayso``: the one that runs, else the one on ``PATH``.

    A link such as ``~/.local/bin/sayso`` is not resolved: an upgrade gives it another target.

    Raises:
        StateError: there is none, it is temporary, or others may replace it.
    """
    started = Path(sys.argv[0]).absolute()
    beside = Path(sys.executable).with_name("sayso")
    on_path = shutil.which("sayso", path=environ.get("PATH"))
    named = [started] if started.name == "sayso" else []
    candidates = [*named, *([Path(on_path)] if on_path else []), beside]
    found = next((one for one in candidates if os.access(one, os.X_OK)), None)
    if found is None:
        raise StateError("No program sayso was found. Install Sayso: `make install` in its clone")
    place = str(found.absolute())
    if any(part in place for part in _PASSING) and not (Path(place).parent / "activate").exists():
        raise StateError(
            f"{place} may be gone tomorrow: it is in a temporary folder or a cache. Install Sayso "
            "elsewhere (`make install` in a clone), and run this command of that one."
        )
    changeable = changeable_on_the_way(place)
    if changeable:
        raise StateError(_replaceable(changeable, place))
    return Path(place)


def _replaceable(on_the_way: str, place: str) -> str:
    owner = os.lstat(on_the_way).st_uid
    if owner in {0, os.geteuid()}:
        return (
            f"Others may write to {on_the_way}, and could replace {place}. Run: "
            f"chmod go-w '{on_the_way}'"
        )
    whose = "root owns, such as /opt/sayso" if os.geteuid() == 0 else "you own"
    return (
        f"{on_the_way} belongs to uid {owner}, who could replace {place}. Install Sayso in a clone "
        f"that {whose}, and run this command of that one."
    )


def unit_state(path: Path, text: str) -> UnitState:
    """Compare the installed unit with the one that would be written.

    Raises:
        StateError: it cannot be read.
    """
    there = read(path)
    if there is None:
        return UnitState.MISSING
    if there == text:
        return UnitState.SAME
    return UnitState.OLDER if is_ours(there) else UnitState.EDITED


def read(path: Path) -> str | None:
    """Return the installed unit, ``None`` if there is none.

    Raises:
        StateError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(unreadable(path, error)) from error


def difference(path: Path, text: str) -> str:
    """Return what differs, as a unified diff from the installed unit; empty if nothing does."""
    there = (read(path) or "").splitlines(keepends=True)
    wanted = text.splitlines(keepends=True)
    return "".join(unified_diff(there, wanted, str(path), "as this version writes it"))


def verify(systemd: Systemd, text: str) -> bool:
    """Have systemd check a unit before it is put in place; ``False`` if systemd cannot be run.

    Raises:
        StateError: systemd finds a fault in it.
        SpawnError: no process can be started.
    """
    with tempfile.TemporaryDirectory(prefix="sayso-unit-") as folder:
        draft = Path(folder) / systemd.unit
        draft.write_text(text, encoding="utf-8")
        faults = systemd.faults(str(draft))
    if faults:
        raise StateError(f"systemd does not accept the unit; nothing was written:\n{faults}")
    return faults is not None


def put(path: Path, text: str, *, force: bool) -> UnitState:
    """Write the unit, and return how the previous one compared.

    Raises:
        Conflict: a person edited it, and ``force`` was not given.
        StateError: it cannot be written.
    """
    before = unit_state(path, text)
    if before is UnitState.EDITED and not force:
        raise Conflict(
            f"{path} was edited, so it was not replaced. Keep your changes in a drop-in "
            f"(systemctl edit), or replace it with --force:\n{difference(path, text)}"
        )
    if before is not UnitState.SAME:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_private(path, text.encode())
            path.chmod(_MODE)
        except OSError as error:
            raise StateError(f"{path} cannot be written: {error.strerror}.") from error
    return before


def remove(path: Path, text: str, *, force: bool) -> UnitState:
    """Remove the unit, and return how it compared.

    Raises:
        Conflict: a person edited it, and ``force`` was not given.
        StateError: it cannot be removed.
    """
    before = unit_state(path, text)
    if before is UnitState.EDITED and not force:
        raise Conflict(f"{path} was edited, so it was not removed. Remove it with --force.")
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StateError(f"{path} cannot be removed: {error.strerror}.") from error
    with suppress(OSError):
        path.with_name(f"{path.name}.d").rmdir()  # only if it is empty
    return before


def lingers(uid: int) -> bool:
    """Return whether a user's services run while the user is not logged in."""
    with suppress(KeyError, OSError):
        return (_LINGER / pwd.getpwuid(uid).pw_name).exists()
    return False


def lost_settings(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the variables with settings that apply in this shell but will not in the service."""
    yield from sorted(name for name in environ if name.startswith("SAYSO_") and "__" in name)
