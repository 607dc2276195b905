"""Follow the `main` of a Node package, the file that runs if the package's folder is named."""

# ruff: noqa: PTH118, PTH120
# pathlib is ten times slower here.

import json
from collections.abc import Iterator
from os.path import dirname, join, normpath
from typing import Final

from core.files.lookup import open_regular

PACKAGE: Final = "package.json"
_LARGEST: Final = 1_048_576
_TRIED: Final = (
    *("", ".js", ".node", ".mjs", ".cjs", ".ts"),
    *("/index.js", "/index.node", "/index.ts"),
)


def mains(path: str) -> Iterator[str]:
    """Yield the paths that node tries for the `main` of a package file; none if it has none."""
    try:
        with open_regular(path) as file:
            found = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return  # a file that cannot be read here may still be bound, with the content it has
    main = found.get("main") if isinstance(found, dict) else None
    if isinstance(main, str) and main and "\0" not in main:
        at = join(dirname(path), main)
        for one in dict.fromkeys((at, normpath(at))):  # node does not follow links before `..`
            yield from (one + tried for tried in _TRIED)
