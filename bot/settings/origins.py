"""Remember where each value was set."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bot.settings.home import CONFIG_NAME
from bot.settings.problems import KeyPath
from bot.settings.schema import Kind, Shape


@dataclass(frozen=True, slots=True)
class Origins:
    """The lines of the file's keys, and the variables above them."""

    lines: Mapping[KeyPath, int]
    variables: Mapping[KeyPath, str]

    def of(self, path: KeyPath) -> str:
        """Return where exactly this value was set: a line, a variable, or ``default``."""
        return self._variable(path) or self._line(path) or "default"

    def near(self, path: KeyPath) -> str:
        """Return the place to fix: where the value is set, or its nearest section is."""
        if variable := self._variable(path):
            return variable
        cuts = (path[:end] for end in range(len(path), 0, -1))
        lines = (line for cut in cuts if (line := self._line(cut)))
        return next(lines, "") or self._beside(path) or CONFIG_NAME

    def _beside(self, path: KeyPath) -> str:
        """Return a variable that sets something else in the same section, which no file has."""
        section = path[:-1]
        near = sorted(name for key, name in self.variables.items() if key[:-1] == section)
        return near[0] if section and near else ""

    def _variable(self, path: KeyPath) -> str:
        """Return the variable that sets this value or the list around it, if one does."""
        cuts = (path[:end] for end in range(len(path), 0, -1))
        return next((self.variables[cut] for cut in cuts if cut in self.variables), "")

    def _line(self, path: KeyPath) -> str:
        return f"{CONFIG_NAME}:{self.lines[path]}" if path in self.lines else ""


def beneath(value: object, shape: Shape, path: KeyPath) -> Iterator[KeyPath]:
    """Yield what a variable sets: a section is merged key by key, all else replaces whole."""
    if shape.kind is not Kind.SECTION or not isinstance(value, dict):
        yield path
        return
    for key, each in value.items():
        if key in shape.fields:
            yield from beneath(each, shape.fields[key], (*path, key))
