"""Read settings from the environment: ``SAYSO_TOOLS__EXEC__ASK=always``.

A variable names a key by its path, ``__`` between the parts, in any case. Strings and keywords are
taken as they are; everything else (numbers, true and false, lists, sections) is written as JSON5.
"""

from collections.abc import Mapping

from bot.settings.did_you_mean import unknown_key
from bot.settings.json5_file import value_of_json5
from bot.settings.origins import beneath
from bot.settings.problems import KeyPath, Problem
from bot.settings.s2_spelling import VARIABLES
from bot.settings.schema import Kind, Shape

PREFIX = "SAYSO_"
_BETWEEN = "__"

Tree = dict[str, object]


class Overrides:
    """The settings that the environment holds, with the variable that each came from.

    ``given`` has the keys that variables name, ``places`` the values that they set: a variable for
    a section sets each key in it.
    """

    def __init__(self, root: Shape) -> None:
        self.root = root
        self.tree: Tree = {}
        self.given: dict[KeyPath, str] = {}
        self.places: dict[KeyPath, str] = {}
        self.problems: list[Problem] = []

    def read(self, environ: Mapping[str, str]) -> None:
        """Read every variable that names a key; a variable without ``__`` is not a setting."""
        for name in sorted(environ):
            spelt = VARIABLES.get(name, name)
            if spelt.startswith(PREFIX) and _BETWEEN in spelt.removeprefix(PREFIX):
                self._take(name, environ[name])

    def place(self, path: KeyPath) -> str:
        """Return the variable that holds this key, known or not."""
        cuts = (path[:end] for end in range(len(path), 0, -1))
        return next((self.given[cut] for cut in cuts if cut in self.given), PREFIX)

    def _take(self, name: str, text: str) -> None:
        shape: Shape = self.root
        path: tuple[str, ...] = ()
        for word in VARIABLES.get(name, name).removeprefix(PREFIX).split(_BETWEEN):
            key = next((key for key in shape.fields if key.lower() == word.lower()), None)
            if key is None:
                said = unknown_key(self.root, path, word.lower())
                self.problems.append(Problem(name, (*path, word.lower()), said))
                return
            shape, path = shape.fields[key], (*path, key)
        self._put(name, path, shape, text)

    def _put(self, name: str, path: tuple[str, ...], shape: Shape, text: str) -> None:
        try:
            value = value_of(text, shape)
        except ValueError:
            hint = 'must be written as JSON5: a number, true, false, null, ["a", "b"] or {…}'
            self.problems.append(Problem(name, path, hint))
            return
        branch = self.tree
        for key in path[:-1]:
            below = branch.setdefault(key, {})
            if not isinstance(below, dict):  # SAYSO_A=null next to SAYSO_A__B: the deeper one wins
                below = branch[key] = {}
            branch = below
        branch[path[-1]] = value
        self.given[path] = name
        for set_here in beneath(value, shape, path):
            self.places[set_here] = name


def value_of(text: str, shape: Shape) -> object:
    """Return the value that a variable's text has for a key of this shape.

    Raises:
        ValueError: the key is not a string, and this is not JSON5.
    """
    if shape.optional and text == "null":
        return None
    plain = shape.kind is Kind.TEXT or (shape.kind is Kind.SECRET and not text.startswith("{"))
    return text if plain else value_of_json5(text)
