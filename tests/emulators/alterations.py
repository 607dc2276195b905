"""Record every field that a platform sends, and leave one of them out."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Field = tuple[str, str]
"""An answer or event, and the path of a field in it: ``getMessages``, ``[].author.id``."""


@dataclass(slots=True)
class Alterations:
    """What a platform sent; each answer and event passes through ``apply`` once.

    ``dropped`` is absent from all of them, and ``hits`` counts how often.
    """

    seen: dict[Field, None] = field(default_factory=dict)
    dropped: Field | None = None
    hits: int = 0

    def apply(self, name: str, answer: Any) -> Any:
        """Return an answer as it is sent."""
        self.seen |= dict.fromkeys((name, path) for path in _paths(answer))
        if self.dropped is None or self.dropped[0] != name:
            return answer
        return self._without(answer, "", self.dropped[1])

    def _without(self, value: Any, at: str, dropped: str) -> Any:
        if isinstance(value, list):
            return [self._without(one, f"{at}[]", dropped) for one in value]
        if not isinstance(value, dict):
            return value
        kept = {}
        for key, inner in value.items():
            path = f"{at}.{key}" if at else key
            if path == dropped:
                self.hits += 1
            else:
                kept[key] = self._without(inner, path, dropped)
        return kept


def _paths(value: Any, at: str = "") -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _paths(one, f"{at}[]")
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{at}.{key}" if at else key
            yield path
            yield from _paths(inner, path)
