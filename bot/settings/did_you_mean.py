"""Find the key that was probably meant."""

from difflib import get_close_matches

from bot.settings.problems import KeyPath, dotted
from bot.settings.schema import Shape, at, walk

_TIMES_LONGER = 3


def unknown_key(root: Shape, parent: KeyPath, key: str) -> str:
    """Format a message about an unknown key: the nearest sibling, the same word deeper, or all."""
    section = at(root, parent)
    known = () if section is None else tuple(section.fields)
    parts = key.split(".")
    if len(parts) > 1 and section and at(section, (*parts,)):
        return f"unknown key; write `{_nested(parts)}`"
    if near := nearest(key, known):
        return f"unknown key; did you mean `{near}`?"
    for path, _ in walk(section) if section else ():
        if str(path[-1]).lower() == key.lower() and 0 not in path:
            return f"unknown key; did you mean `{dotted((*parent, *path))}`?"
    if len(known) == 0:
        return "unknown key; this one has no keys below it"
    return f"unknown key; known keys: {', '.join(known)}"


def _nested(parts: list[str]) -> str:
    """Return a path as the file has it: each key in the section of the one before."""
    return f"{': { '.join(parts)}: …{' }' * (len(parts) - 1)}"


def nearest(word: str, known: tuple[str, ...]) -> str | None:
    """Return the most similar known word, if any is close."""
    by_lower = {name.lower(): name for name in known}
    if len(word) > _TIMES_LONGER * max(map(len, known), default=0):
        return None  # alike by half at most, and difflib takes a second for 8 MiB
    found = get_close_matches(word.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else None
