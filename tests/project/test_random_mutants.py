"""Check what the random mutants change, and what they leave out."""

import ast

from tests.project.random_mutants import changes


def changed(text: str) -> list[str]:
    """Return what each mutant of a module would put in place of an expression."""
    return [ast.unparse(new) for _, new in changes(ast.parse(text))]


def test_each_condition_has_its_opposite() -> None:
    """Comparisons, ``and`` and ``or``, ``not``, the two constants, and a plain condition."""
    text = "a < b and c\nx = not d\ny = True\nif e: pass\nz = f is None"

    assert set(changed(text)) == {"a <= b", "a < b or c", "d", "False", "not e", "f is not None"}


def test_what_no_test_can_notice_is_left_out() -> None:
    """``slots`` and TYPE_CHECKING; that a class is frozen can be noticed."""
    text = "TYPE_CHECKING = False\nif TYPE_CHECKING: pass\n@dataclass(slots=True)\nclass A: pass"

    assert changed(text) == []
    assert changed("@dataclass(frozen=True, slots=True)\nclass A: pass") == ["False"]
