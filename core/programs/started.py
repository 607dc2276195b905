"""Find the program that another starts by a name among its arguments, and what that one gets."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.programs.wrappers import is_builtin, names_of, wrapper_kind

_SUFFIX = re.compile(r"\.[a-z]\w*\Z")
_NO_PROGRAMS = frozenset(("[", "printf", "test"))
"""Their options name a variable of a shell; behind a runner they name a script of a project."""

_PROGRAM_FOLDERS = frozenset(("bin", ".bin", "sbin"))


class Start(StrEnum):
    """What a name among arguments is the name of; the values are tables of ``inline.toml``."""

    PROGRAM = "starts"
    MODULE = "starts_module"
    SCRIPT = "starts_script"


@dataclass(frozen=True, slots=True, eq=False)
class Starter:
    """How a program names another: ``head`` matches what comes before, from the first NUL on."""

    kind: Start
    head: re.Pattern[str]

    def started(self, arguments: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield each word that may be the name, and the arguments after it.

        It is the first word that is no option, and the next one behind an option, which may have
        taken it.
        """
        joined = "\0".join(("", *arguments, ""))
        found = self.head.match(joined)
        if found is None:
            return
        first = joined.count("\0", 0, found.end()) - 1
        if joined[found.end() - 1] != "\0":  # python's `-mpip`
            yield (
                arguments[first][found.end() - joined.rindex("\0", 0, found.end()) - 1 :],
                (arguments[first + 1 :]),
            )
            return
        for place in range(first, len(arguments)):
            if arguments[place][:1] in {"", "-"}:
                continue
            yield arguments[place], arguments[place + 1 :]
            before = arguments[place - 1] if place > first else ""
            if before[:1] != "-" or before == "--" or "=" in before:
                return

    def wrapper(self, name: str, count: int) -> str | None:
        """Return what kind of wrapper a name means, ``None`` for an ordinary program.

        A script is one if it is where programs are kept; a module is none.
        """
        folder, _, last = name.rpartition("/")
        kept = self.kind is Start.PROGRAM or folder.rpartition("/")[2] in _PROGRAM_FOLDERS
        if not kept or self.kind is Start.MODULE or is_builtin(last):
            return None
        return wrapper_kind(names_started(name), count)


def names_started(name: str) -> frozenset[str]:
    """Return the names in the tables that a started program has; with a suffix only its whole."""
    last = name.rpartition("/")[2].lower()
    last = last.partition("@")[0] or last  # `npx tsx@latest`
    last = last.rpartition(":")[2] or last  # `hatch run test:python`
    names = frozenset((last,)) if _SUFFIX.search(last) else names_of(last)
    return names - _NO_PROGRAMS
