"""Freeze values that are never changed, so that their holders can rely on them."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from tests.project.tracked import ROOT, modules


@dataclass(frozen=True, slots=True)
class Source:
    """A module's syntax tree, the modules that it imports from, the attributes that it sets."""

    tree: ast.Module
    imported: frozenset[str]
    sets: frozenset[str]


def source(text: str) -> Source:
    """Read a module."""
    tree = ast.parse(text)
    nodes = tuple(ast.walk(tree))
    imports = [one for one in nodes if isinstance(one, ast.ImportFrom) and one.module]
    named = {f"{one.module}.{name.name}" for one in imports for name in one.names}
    set_here = {
        one.attr
        for one in nodes
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store | ast.Del)
    }
    found = frozenset((*named, *(str(one.module) for one in imports)))
    return Source(tree, found, frozenset(set_here))


def loose(sources: Mapping[str, Source]) -> Iterator[str]:
    """Yield the dataclasses that could be frozen: no code that knows them sets a field.

    One with a field made by ``field()`` keeps state in it, and one that has a base, such as an
    exception, may get its fields set there; both may stay as they are.
    """
    for name, one in sources.items():
        for node in ast.walk(one.tree):
            if isinstance(node, ast.ClassDef) and _is_loose(node) and not node.bases:
                told = [by for place, by in sources.items() if place == name or name in by.imported]
                if _fields(node).isdisjoint(attribute for by in told for attribute in by.sets):
                    yield f"{name}.{node.name}"


def _is_loose(node: ast.ClassDef) -> bool:
    decorated = [ast.unparse(one) for one in node.decorator_list]
    plain = any(one.startswith("dataclass") and "frozen=True" not in one for one in decorated)
    return plain and not any(
        isinstance(one, ast.AnnAssign) and one.value and "field(" in ast.unparse(one.value)
        for one in node.body
    )


def _fields(node: ast.ClassDef) -> set[str]:
    targets = (one.target for one in node.body if isinstance(one, ast.AnnAssign))
    return {one.id for one in targets if isinstance(one, ast.Name)}


@pytest.mark.slow
def test_what_is_never_changed_is_frozen() -> None:
    """Otherwise a plan, an answer or an identity could change behind the back of its judge."""
    sources = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): source(
            path.read_text(encoding="utf-8")
        )
        for path in modules()
    }

    words = "write frozen=True, or change the field in the class's own module"
    assert list(loose(sources)) == [], words


def test_one_that_could_be_is_found() -> None:
    """And none whose fields are set, that holds state or is raised, here or in an importer."""
    head = "from dataclasses import dataclass, field\n"
    one = head + "@dataclass(slots=True)\nclass One:\n    a: int\n"
    frozen = one.replace("slots=True", "frozen=True, slots=True")
    raised = one.replace("One:", "One(Exception):")
    holding = one.replace("a: int", "a: list[int] = field(default_factory=list)")
    here = one + "    def b(self) -> None:\n        self.a = 1\n"
    there = "from x import One\ndef b(one: One) -> None:\n    one.a = 1\n"
    elsewhere = "def b(one) -> None:\n    one.a = 1\n"

    assert list(loose({"x": source(one)})) == ["x.One"]
    assert list(loose({"x": source(one), "y": source(elsewhere)})) == ["x.One"]
    assert list(loose({"x": source(one), "y": source(there)})) == []
    assert [list(loose({"x": source(text)})) for text in (frozen, raised, holding, here)] == [
        []
    ] * 4
