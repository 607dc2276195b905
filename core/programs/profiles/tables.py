"""Read the shipped tables in ``core/programs/data`` once, when the first command is judged."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "data"
"""The tables."""

Table = Mapping[str, object]


@cache
def table(name: str) -> Table:
    """Return the table ``data/<name>.toml``; the result is shared, so never change it."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def section(holder: Table, key: str) -> Table:
    """Return a sub-table, empty if the key is missing.

    Raises:
        TypeError: the key has another kind of value; the shipped data is broken.
    """
    found = holder.get(key, {})
    if not isinstance(found, dict):
        msg = f"policy data: {key} must be a table"
        raise TypeError(msg)
    return found


def words(holder: Table, key: str) -> tuple[str, ...]:
    """Return the blank-separated words of a string, or the strings of a list.

    Raises:
        TypeError: the key has another kind of value; the shipped data is broken.
    """
    found = holder.get(key, "")
    if isinstance(found, str):
        return tuple(found.split())
    if isinstance(found, list) and all(isinstance(word, str) for word in found):
        return tuple(found)
    msg = f"policy data: {key} must be words"
    raise TypeError(msg)


def check_keys(holder: Table, known: frozenset[str]) -> None:
    """Refuse a key that means nothing: a misspelled `needs` would leave a profile without it.

    Raises:
        ValueError: there is one; the shipped data is broken.
    """
    unknown = holder.keys() - known
    if unknown:
        strange, keys = ", ".join(sorted(unknown)), ", ".join(sorted(known))
        msg = f"policy data: {strange} means nothing; known: {keys}"
        raise ValueError(msg)
