"""Find the line of a TOML file that a complaint is about; the standard reader does not say."""

import re
from collections import Counter
from collections.abc import Sequence

_HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_.\- ]+?)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")

Place = tuple[str | int, ...]


def line_of(text: str, place: Sequence[str | int]) -> int:
    """Return the line of a place, else that of the nearest table around it, else 1.

    ``place`` is a path such as ``("exec", "allow", 0, "commands", 1, "argv", 2)``.
    """
    lines = _lines(text)
    wanted = tuple(place)
    while wanted and wanted not in lines:
        wanted = wanted[:-1]
    return lines.get(wanted, 1)


def _lines(text: str) -> dict[Place, int]:
    """Return the first line of each table and key that has its own line."""
    found: dict[Place, int] = {}
    seen: Counter[Place] = Counter()
    table: Place = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.fullmatch(line)
        if header is not None:
            parts = [part.strip() for part in header[2].split(".")]
            table = _table(parts, seen, many=header[1] == "[[")
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault((*table, key[1]), number)
    return found


def _table(parts: list[str], seen: Counter[Place], *, many: bool) -> Place:
    """Return the path of a header's table: an array's table means its last element."""
    path: Place = ()
    for part in parts[:-1]:
        path = (*path, part)
        if seen[path]:
            path = (*path, seen[path] - 1)
    path = (*path, parts[-1])
    if many:
        seen[path] += 1
        path = (*path, seen[path] - 1)
    return path
