"""Pin an allow-always to the code that people saw: scripts by their content (decision 21).

Only the administrator writes to system directories, so a path there is enough.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from core.model.approval import AllowlistEntry
from core.model.command import PinnedFile, PlannedCommand
from core.model.decision import Content
from core.policy.matching.allowlist import Allowlist
from core.programs.carriers import in_system_directory


def content_of(command: PlannedCommand) -> Content:
    """Return the code files of a command that are to stay as they are.

    Its executable is one where it is a script, or runs one.
    """
    file = command.executable
    pins = () if file is None or not command.operands else (file, *command.operands)
    return tuple({one.realpath: one.sha256 for one in _bindable(pins)}.items())


def held(
    allowlist: Allowlist,
    paths: Sequence[str],
    arguments: tuple[str, ...] | None,
    command: PlannedCommand,
) -> AllowlistEntry | None:
    """Return the entry with content that covers a command as its files are now."""
    if not allowlist.binds:
        return None
    pins = _pins(command)
    for entry in allowlist.bound(paths, arguments, pins):
        if _changed(entry, pins) is None and _names_all(entry, command):
            return entry
    return None


def _names_all(entry: AllowlistEntry, command: PlannedCommand) -> bool:
    """Return whether no code is read that the entry does not name: `guile -l other.scm p.scm`."""
    code = [one.realpath for one in _bindable(command.operands)]
    return {path for path, _ in entry.content}.issuperset(code)


def changed(allowlist: Allowlist, paths: Sequence[str], command: PlannedCommand) -> str | None:
    """Name the file that would have to be as it was for an entry to cover a command."""
    if not allowlist.binds:
        return None
    pins = _pins(command)
    found = (
        _changed(entry, pins)
        for arguments in (command.argv[1:], None)
        for entry in allowlist.bound(paths, arguments, pins)
    )
    return next((path for path in found if path is not None), None)


def _pins(command: PlannedCommand) -> dict[str, str]:
    own = () if command.executable is None else (command.executable,)
    return {one.realpath: one.sha256 for one in (*own, *command.operands)}


def _bindable(pins: Iterable[PinnedFile]) -> Iterator[PinnedFile]:
    return (one for one in pins if not in_system_directory(one.realpath))


def _changed(entry: AllowlistEntry, pins: Mapping[str, str]) -> str | None:
    return next((path for path, digest in entry.content if pins.get(path) != digest), None)
