"""Format the counters of remote exec as a table of two columns."""

import time
from collections.abc import Iterator, Mapping

_NAMES = {"acl": "access list", "unheard": "unheard requests"}


def table(counts: Mapping[str, object]) -> str:
    """Return one line for each counter and each cap; several values get a line each."""
    rows = [row for name, value in counts.items() for row in _rows(_name(name), value)]
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}}  {value}\n" for name, value in rows)


def _name(key: str) -> str:
    return _NAMES.get(key, key.replace("_", " "))


def _rows(name: str, value: object) -> Iterator[tuple[str, str]]:
    match value:
        case dict() | list() if not value:
            yield name, "none"
        case dict() if "warning" in value:
            at = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(value["at_ms"] / 1000))
            yield name, f"{at}  {value['agent']}  {value['warning']}"
        case dict():
            yield from ((f"{name}: {key}", _word(one)) for key, one in value.items())
        case list():
            for one in value:
                yield from _rows(name, one)
        case _:
            yield name, _word(value)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
