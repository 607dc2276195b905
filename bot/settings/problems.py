"""Report what is wrong with the configuration: one line for each mistake."""

from collections.abc import Iterable
from dataclasses import dataclass

from core.errors import ConfigError

KeyPath = tuple[str | int, ...]
"""The path of a value: keys of objects, and indexes of lists from 0."""


def dotted(path: KeyPath) -> str:
    """Format a path as people write it: ``approvals.exec.targets[0].to``."""
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return words.removeprefix(".")


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: its location (``config.json5:12`` or a variable), the key, and what is wrong."""

    place: str
    path: KeyPath
    message: str

    @property
    def key(self) -> str:
        """Return the key as people write it; empty if the file as a whole is wrong."""
        return dotted(self.path)

    @property
    def line(self) -> str:
        """Return the mistake as one line."""
        parts = (self.place, _printable(self.key), _printable(self.message))
        return ": ".join(part for part in parts if part)


class InvalidConfig(ConfigError):
    """The configuration cannot be used. Each line names a key and what to do about it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problem.line for problem in self.problems))


def _printable(text: str) -> str:
    """Escape what could move a terminal's cursor or break the line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
