"""Keep secrets out of what a dataclass prints: it may reach a log, a traceback or an assertion."""

import ast
from collections.abc import Iterator

from tests.project.tracked import ROOT, modules

_SECRET = frozenset(
    ("auth", "credential", "endpoint", "p256dh", "sealed", "secret", "secrets", "token", "totp")
)
_TEXTS = ("str", "str | None", "Mapping[str, str]")
_NAMES_ONE = frozenset(("Caller.token",))
"""Fields that hold the id of a token, never the token."""


def printed(tree: ast.AST) -> Iterator[str]:
    """Yield the fields of dataclasses that are named like a secret, and are printed."""
    for one in ast.walk(tree):
        if isinstance(one, ast.ClassDef) and any(map(_makes_data, one.decorator_list)):
            yield from (
                f"{one.name}.{field.target.id}"
                for field in one.body
                if isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and not _SECRET.isdisjoint(field.target.id.split("_"))
                and ast.unparse(field.annotation) in _TEXTS
                and (field.value is None or "repr=False" not in ast.unparse(field.value))
            )


def _makes_data(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).startswith("dataclass")


def test_no_secret_is_printed() -> None:
    """Neither by the classes that hold one for a moment."""
    found = [
        f"{path.relative_to(ROOT)}: {one}"
        for path in modules()
        for one in printed(ast.parse(path.read_text(encoding="utf-8")))
        if one not in _NAMES_ONE
    ]

    assert found == [], "write field(repr=False)"


def test_one_that_is_printed_is_found() -> None:
    """Also with a default, or where only a part of the name tells; not what is no text."""
    text = "@dataclass(slots=True)\nclass One:\n"
    found = ("token: str", "_token: str = ''", "app_token: str | None = field(default=None)")
    left = ("token: str = field(repr=False)", "token: Token", "tokens: str", "name: str")

    assert [len(list(printed(ast.parse(f"{text}    {one}")))) for one in found] == [1, 1, 1]
    assert [len(list(printed(ast.parse(f"{text}    {one}")))) for one in left] == [0, 0, 0, 0]
    assert list(printed(ast.parse("class One:\n    token: str"))) == []
