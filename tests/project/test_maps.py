"""The map in the docstring of each package names its modules, and nothing else."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FLOWS = re.compile(r"[─│▼▲◀═|]")
"""What a line of a diagram has; it is not a row of a list of modules."""
_NAME = re.compile(r"\w+")
_LARGE = 9


def lines_of(text: str) -> list[str]:
    """Return the lines of the indented blocks in a docstring."""
    return [line for line in text.splitlines() if line.startswith("    ")]


def modules(folder: Path) -> set[str]:
    """Return the names of the modules and packages in a folder."""
    files = {one.stem for one in folder.glob("*.py")} - {"__init__", "__main__"}
    return files | {one.parent.name for one in folder.glob("*/__init__.py")}


def not_named(text: str, above: str, known: set[str]) -> set[str]:
    """Return the modules that neither a package's own map nor the one above it names."""
    named = {word for line in lines_of(text) + lines_of(above) for word in _NAME.findall(line)}
    return known - named


def astray(text: str, known: set[str]) -> list[str]:
    """Return the rows of a map that do not begin with a module, such as a wrapped one."""
    rows = (line for line in lines_of(text) if line[4] != " " and not _FLOWS.search(line))
    return [row.strip() for row in rows if (_NAME.findall(row) or [""])[0] not in known]


def known(folder: Path) -> set[str]:
    """Return what a row may begin with: a module here or one level below, or a top folder."""
    below = (modules(one.parent) for one in folder.glob("*/__init__.py"))
    return {"core", "bot", "channels"}.union(modules(folder), *below)


def docstring(folder: Path) -> str:
    """Return the docstring of a package, empty if it is none."""
    file = folder / "__init__.py"
    return (ast.get_docstring(ast.parse(file.read_text())) or "") if file.exists() else ""


def maps() -> Iterator[tuple[Path, str]]:
    """Yield each package whose docstring has a map, with the docstring."""
    for top in ("core", "bot", "channels"):
        for file in sorted((ROOT / top).rglob("__init__.py")):
            text = docstring(file.parent)
            if "::\n" in text:
                yield file.parent, text


def test_each_map_is_complete() -> None:
    """Whoever looks for a module finds it there; the map above may name it for several packages."""
    found = {
        f"{folder.relative_to(ROOT)}/__init__.py: {', '.join(sorted(missing))}"
        for folder, text in maps()
        if (missing := not_named(text, docstring(folder.parent), modules(folder)))
    }
    assert found == set(), "write a row for each in the map of that docstring: `NAME  what it does`"
    assert len(list(maps())) > 50


def test_each_large_package_has_a_map() -> None:
    """Nobody finds a module among many by opening them; revisions are in the order of time."""
    drawn = {folder for folder, _ in maps()}
    large = {
        file.parent.relative_to(ROOT)
        for top in ("core", "bot", "channels")
        for file in (ROOT / top).rglob("__init__.py")
        if len(modules(file.parent)) >= _LARGE and file.parent not in drawn
    }
    assert large == {Path("core/store/migrations/versions")}, "draw a map in its docstring"


def test_no_row_was_wrapped_as_prose() -> None:
    """A tool that wraps docstrings takes a map for a paragraph, and then nobody can read it."""
    found = {
        f"{folder.relative_to(ROOT)}/__init__.py: {row}"
        for folder, text in maps()
        for row in astray(text, known(folder))
    }
    assert found == set(), "begin each row of that map with the name of a module, on one line"


def test_what_is_missing_or_astray_is_found() -> None:
    """The control: a module that is not there, and a row that lost its beginning."""
    text = "Do.\n\n::\n\n    one   does it, and nothing that is\n    two less   the rest\n"

    assert not_named(text, "", {"one", "three"}) == {"three"}
    assert not_named(text, "::\n\n    three  in each of them\n", {"one", "three"}) == set()
    assert astray(text, {"one", "three"}) == ["two less   the rest"]
