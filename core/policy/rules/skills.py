"""Recognise the programs of agents' skills (S1 "Auto-allow skill CLIs").

The names of ``skills.bins`` are looked up once, on the fixed search path. A program counts as
listed only while it is the very file that was found then: another path, other content or a newer
version asks until the gateway is started again.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from core.model.command import PinnedFile
from core.programs.carriers import is_carrier, profiled
from core.programs.profiles.tables import section, table, words
from core.programs.program import program_of
from core.programs.wrappers import names_of

Find = Callable[[str], PinnedFile | str]
"""Look up a name on the fixed search path: the file, or why there is none."""


@dataclass(frozen=True, slots=True)
class Skills:
    """The programs of skills by their real paths, each with the name that it was listed under.

    ``lint`` holds a sentence for each name that is not trusted, ``names`` all that were listed.
    """

    pins: Mapping[str, tuple[str, PinnedFile]] = field(default_factory=dict)
    lint: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def name_of(self, file: PinnedFile) -> str | None:
        """Return the name of the skill program that a file is, ``None`` if it is none."""
        name, pin = self.pins.get(file.realpath, ("", None))
        return name if pin is not None and _same(pin, file) else None


def skills_of(names: Iterable[str], find: Find) -> Skills:
    """Look up the programs of skills, and leave out what no path alone can vouch for."""
    pins: dict[str, tuple[str, PinnedFile]] = {}
    lint: list[str] = []
    listed = tuple(names)
    for name in listed:
        found = find(name) if "/" not in name else "only names on the search path are looked up"
        why = found if isinstance(found, str) else _refused(name, found)
        if why is not None:
            lint.append(f"skills.bins {name!r} is ignored: {why}")
        elif isinstance(found, PinnedFile):
            pins[found.realpath] = (name, found)
    return Skills(pins, tuple(lint), listed)


def _refused(name: str, file: PinnedFile) -> str | None:
    """Return why a program is not trusted by its path, ``None`` if it may be."""
    program = program_of(name, file)
    kind = program.bare or program.laden
    if kind is not None:
        return kind
    called = names_of(name) | names_of(file.path) | names_of(file.realpath)
    interpreter = sorted(called & _interpreters())
    if interpreter:
        return f"{interpreter[0]} is an interpreter: its arguments or its input are programs"
    for path in program.paths:
        if is_carrier(path) and names_of(path).isdisjoint(_with_profile()):
            return f"{path} can do more than read, and no profile says with which arguments"
    return None


def _interpreters() -> frozenset[str]:
    """Return the programs that take code as an argument, as their tables say."""
    known = section(table("carriers"), "inline")
    return frozenset(name for name in known if not _CODE.isdisjoint(words(known, name)))


_CODE = frozenset(("-e", "-c", "-E", "-r", "--eval", "eval", "-eval"))


def _with_profile() -> frozenset[str]:
    aliases = section(table("carriers"), "aliases")
    return frozenset((*profiled(), *(one for name in aliases for one in words(aliases, name))))


def _same(one: PinnedFile, other: PinnedFile) -> bool:
    return (one.device, one.inode, one.size, one.sha256) == (
        other.device,
        other.inode,
        other.size,
        other.sha256,
    )


NO_SKILLS = Skills()
