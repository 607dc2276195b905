import ast
from collections.abc import Iterator
from pathlib import Path

from tests.project.tracked import ROOT, modules
from tests.support.tables import rows

LONGEST_FUNCTION = 40
EMPTY_WORDS = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}


def functions(text: str) -> Iterator[tuple[str, int]]:
    """Yield the name and the number of lines of each function, without its docstring."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None:
                said = node.body[0]
                assert said.end_lineno is not None
                length -= said.end_lineno - said.lineno + 1
            yield node.name, length


@rows("path", modules())
def test_a_module_is_small_and_named_after_what_it_holds(path: Path) -> None:
    """A module has the size of its concept; its functions stay short enough to see at once."""
    text = path.read_text(encoding="utf-8")

    assert EMPTY_WORDS.isdisjoint(path.with_suffix("").relative_to(ROOT).parts)
    assert [(name, n) for name, n in functions(text) if n > LONGEST_FUNCTION] == []


def test_a_long_function_is_seen() -> None:
    """The measure counts the lines of the body and leaves the docstring out."""
    body = "\n".join("    pass" for _ in range(LONGEST_FUNCTION))
    text = f'def f() -> None:\n    """Say\n\n    much.\n    """\n{body}\n'

    assert list(functions(text)) == [("f", LONGEST_FUNCTION + 1)]
