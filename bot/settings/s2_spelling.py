"""Accept ``execution`` also as the executors' plan spells it: snake_case, three short variables."""

from collections.abc import Mapping

from bot.settings.json5_file import Document
from bot.settings.problems import KeyPath
from bot.settings.schema import Kind, Shape

SECTION = "execution"

VARIABLES = {
    "SAYSO_EXECUTOR_ENABLED": "SAYSO_EXECUTION__RUNASUNIXUSER",
    "SAYSO_EXECUTOR_UNIX_USER": "SAYSO_EXECUTION__EXECUTORUNIXUSER",
    "SAYSO_EXECUTOR_DEBUG": "SAYSO_EXECUTION__DEBUG",
}
"""The variables, and their names by the rule for all others."""


def in_our_spelling(document: Document, root: Shape) -> Document:
    """Return a file whose section ``execution`` has our keys where it had the plan's.

    A key that is present in both spellings keeps the plan's, as does an unknown one.
    """
    value = document.value
    if not isinstance(value, dict) or not isinstance(value.get(SECTION), dict):
        return document
    renamed: dict[KeyPath, KeyPath] = {}
    section = _renamed(value[SECTION], root.fields[SECTION], (SECTION,), (SECTION,), renamed)
    lines = {_moved(path, renamed): line for path, line in document.lines.items()}
    return Document({**value, SECTION: section}, lines, document.problems)


def _renamed(
    value: object, shape: Shape, old: KeyPath, new: KeyPath, renamed: dict[KeyPath, KeyPath]
) -> object:
    if shape.kind is Kind.SECTION and isinstance(value, Mapping):
        found: dict[str, object] = {}
        for key, each in value.items():
            ours = _camel(key)
            known = ours if ours in shape.fields and (ours == key or ours not in value) else key
            renamed[*old, key] = (*new, known)
            below = shape.fields.get(known)
            found[known] = (
                each
                if below is None
                else _renamed(each, below, (*old, key), (*new, known), renamed)
            )
        return found
    if shape.kind is Kind.LIST and shape.item is not None and isinstance(value, list):
        item = shape.item
        return [
            _renamed(each, item, (*old, place), (*new, place), renamed)
            for place, each in enumerate(value)
        ]
    return value


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _moved(path: KeyPath, renamed: Mapping[KeyPath, KeyPath]) -> KeyPath:
    cuts = (path[:end] for end in range(len(path), 0, -1))
    known = next((cut for cut in cuts if cut in renamed), None)
    return path if known is None else (*renamed[known], *path[len(known) :])
