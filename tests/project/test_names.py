import ast
from collections.abc import Iterator
from pathlib import Path

from tests.project.tracked import ROOT, modules
from tests.support.tables import rows

LONGEST_FUNCTION = 40
EMPTY_WORDS = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}


def functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the name, the first line and the length of each function, without its docstring."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None:
                said = node.body[0]
                assert said.end_lineno is not None
                length -= said.end_lineno - said.lineno + 1
            yield node.name, node.lineno, length


@rows("path", modules())
def test_a_module_is_small_and_named_after_what_it_holds(path: Path) -> None:
    """A module has the size of its concept; its functions stay short enough to see at once."""
    text, place = path.read_text(encoding="utf-8"), path.relative_to(ROOT)

    empty = EMPTY_WORDS.intersection(place.with_suffix("").parts)
    assert not empty, f"{place}: name it after what it holds, not {', '.join(sorted(empty))}"
    long = [f"{place}:{at}: {name}, {n}" for name, at, n in functions(text) if n > LONGEST_FUNCTION]
    assert not long, f"split what has more than {LONGEST_FUNCTION} lines:\n" + "\n".join(long)


def test_a_long_function_is_seen() -> None:
    """The measure counts the lines of the body and leaves the docstring out."""
    body = "\n".join("    pass" for _ in range(LONGEST_FUNCTION))
    text = f'def f() -> None:\n    """Say\n\n    much.\n    """\n{body}\n'

    assert list(functions(text)) == [("f", 1, LONGEST_FUNCTION + 1)]
