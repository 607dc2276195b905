"""Describe what a command or a text would run as code."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from core.planning.code.words.loading import loaded_by_any
from core.planning.code.words.parts import fed_names


@dataclass(frozen=True, slots=True)
class Reached:
    """The words that may name code, and whether the input or a variable's value is code as well.

    ``paths`` may be code whatever they look like; so may ``named`` if input is run (``takes``).
    ``folders`` may be entered first. ``inserts``: code contains the value of a variable, which may
    be the content of a file. ``made`` are makefiles, which make may rebuild from others.
    """

    paths: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    takes: bool = False
    inserts: bool = False
    made: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """Return the words that may name a file of code."""
        if not self.takes:
            return tuple(dict.fromkeys(self.paths))
        fed = (*fed_names(self.named, self.named), *loaded_by_any(self.named))
        return tuple(dict.fromkeys((*self.paths, *fed)))

    @property
    def places(self) -> tuple[str, ...]:
        """Return the words that may name a folder that contains code."""
        words = (*self.named, *self.folders)
        return (*words, *(word.partition("=")[2] for word in words if "=" in word))


NOTHING: Final = Reached()
TAKES: Final = Reached(takes=True)
INSERTS: Final = Reached(inserts=True)


def joined(parts: Iterable[Reached]) -> Reached:
    """Return the union of several results."""
    found = [one for one in parts if one is not NOTHING]
    if len(found) < 2:  # noqa: PLR2004 - nothing to join
        return found[0] if found else NOTHING
    return Reached(
        tuple(word for one in found for word in one.paths),
        tuple(word for one in found for word in one.named),
        tuple(word for one in found for word in one.folders),
        any(one.takes for one in found),
        any(one.inserts for one in found),
        tuple(word for one in found for word in one.made),
    )


def within(text: Reached, given: Iterable[str] = ()) -> Reached:
    """Return the result of a text inside a word: its own input decides whether ``named`` counts.

    ``given`` are the words after the text, which it may use (`$1`).
    """
    words = tuple(given)
    more = fed_names(words, ()) if text.takes else ()
    places = (*text.places, *words)
    return Reached((*text.files, *more), (), places, text.takes, text.inserts, text.made)
