"""Compare a source's values with the tree of keys, and fetch the secrets that it refers to."""

from collections.abc import Callable, Mapping
from pathlib import Path

from bot.settings.did_you_mean import unknown_key
from bot.settings.home import expand
from bot.settings.problems import KeyPath, Problem, dotted
from bot.settings.schema import Kind, Shape
from bot.settings.secrets import SecretMissing, fetch


class Examination:
    """Walks one source's values; unknown ones are left out and become problems.

    ``files`` are the files that secrets are read from, by their keys; ``sources`` says where the
    text of each secret that the configuration refers to comes from.
    """

    def __init__(
        self, root: Shape, home: Path, environ: Mapping[str, str], place: Callable[[KeyPath], str]
    ) -> None:
        self.root = root
        self.home = home
        self.environ = environ
        self.place = place
        self.problems: list[Problem] = []
        self.files: dict[str, Path] = {}
        self.sources: dict[KeyPath, str] = {}

    def visit(self, value: object, shape: Shape, path: KeyPath) -> object:
        """Return the value with its secrets fetched and without its unknown keys."""
        if shape.kind is Kind.SECTION and isinstance(value, dict):
            return self.section(value, shape, path)
        if shape.kind is Kind.LIST and shape.item is not None and isinstance(value, list):
            item = shape.item
            return [self.visit(each, item, (*path, i)) for i, each in enumerate(value)]
        if shape.kind is Kind.SECRET and isinstance(value, dict):
            return self._secret(value, path)
        return value

    def section(
        self, value: Mapping[str, object], shape: Shape, path: KeyPath = ()
    ) -> dict[str, object]:
        """Return a section's known keys, each examined."""
        known: dict[str, object] = {}
        for key, each in value.items():
            if key in shape.fields:
                known[key] = self.visit(each, shape.fields[key], (*path, key))
            else:
                self._note((*path, key), unknown_key(self.root, path, key))
        return known

    def _secret(self, reference: Mapping[str, object], path: KeyPath) -> str | None:
        file = reference.get("file")
        if isinstance(file, str):
            self.files[dotted(path)] = self.home / expand(file, self.environ)
            self.sources[path] = str(self.files[dotted(path)])
        elif "env" in reference:
            self.sources[path] = f"environment variable {reference['env']}"
        try:
            return fetch(reference, self.home, self.environ)
        except SecretMissing as error:
            self._note(path, str(error))
            return None

    def _note(self, path: KeyPath, message: str) -> None:
        self.problems.append(Problem(self.place(path), path, message))
