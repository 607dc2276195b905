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
        if _difference(entry, command, pins) is None:
            return entry
    return None


def difference(allowlist: Allowlist, paths: Sequence[str], command: PlannedCommand) -> str | None:
    """Say which file keeps an entry from covering a command; ``None``: none covers its words."""
    if not allowlist.binds:
        return None
    pins = _pins(command)
    found = (
        _difference(entry, command, pins)
        for arguments in (command.argv[1:], None)
        for entry in allowlist.bound(paths, arguments, pins)
    )
    return next((words for words in found if words is not None), None)


def _pins(command: PlannedCommand) -> dict[str, str]:
    own = () if command.executable is None else (command.executable,)
    return {one.realpath: one.sha256 for one in (*own, *command.operands)}


def _bindable(pins: Iterable[PinnedFile]) -> Iterator[PinnedFile]:
    return (one for one in pins if not in_system_directory(one.realpath))


def _difference(
    entry: AllowlistEntry, command: PlannedCommand, pins: Mapping[str, str]
) -> str | None:
    if command.fed:
        return "it was allowed always without code from a pipe"
    if command.reloads:
        return "it also runs what its code is changed to later"
    known = dict(entry.content or ())
    for path, digest in known.items():
        if pins.get(path) != digest:
            return f"{path} changed since it was allowed always"
    # `guile -l other.scm p.scm`, `python3 -m x` in a folder that has an x.py by now, or a program
    # that was a binary and is a script.
    added = (path for path, _ in reversed(content_of(command)) if path not in known)
    return next((f"it was allowed always without {path}" for path in added), None)
