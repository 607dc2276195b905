"""Find the tests of core, bot and channels by path: they mirror the product's tree."""

import re
from collections.abc import Set as AbstractSet
from pathlib import Path, PurePath

from tests.project.tracked import ROOT, files, modules
from tests.support.tables import rows

PRODUCT = frozenset(path.relative_to(ROOT) for path in modules())
TOPS = {PurePath("tests", top) for top in ("core", "bot", "channels")}
MIRRORED = tuple(
    path.relative_to(ROOT / "tests")
    for path in files()
    if path.suffix == ".py" and not TOPS.isdisjoint(path.relative_to(ROOT).parents)
)
"""The Python files of the mirrored tree, by their path below ``tests``."""


def subject(test: PurePath, product: AbstractSet[PurePath]) -> PurePath | None:
    """Return the module or package that the path of a test names, ``None`` if it names none.

    ``a/b/test_c.py`` and ``a/b/test_c_aspect.py`` name the module ``a/b/c.py``, the package
    ``a/b/c``, or the package ``a/b`` itself if that is called ``c``.
    """
    words = test.stem.removeprefix("test_").split("_")
    for count in range(len(words), 0, -1):
        name = "_".join(words[:count])
        places = [test.parent / f"{name}.py", test.parent / name / "__init__.py"]
        if name == test.parent.name:
            places.append(test.parent / "__init__.py")
        for place in places:
            if place in product:
                return place
    return None


def test_every_test_names_a_module() -> None:
    """A test of core/store/approvals/decide.py is tests/core/store/approvals/test_decide*.py."""
    tests = [path for path in MIRRORED if path.name.startswith("test_")]
    lost = [f"tests/{path}" for path in tests if subject(path, PRODUCT) is None]

    assert len(tests) > 200
    assert lost == [], "name each test_MODULE.py or test_MODULE_ASPECT.py, in the module's folder"


def test_every_folder_names_a_package() -> None:
    """A folder of the mirrored tree corresponds to a package of the product, helpers or not."""
    folders = {path.parent for path in MIRRORED}
    lost = {f"tests/{folder}" for folder in folders if folder / "__init__.py" not in PRODUCT}

    assert lost == set(), "give each the name of a package of the product"


@rows(
    "test, named",
    [
        ("core/store/test_open.py", "core/store/open.py"),
        ("core/store/test_open_twice.py", "core/store/open.py"),
        ("core/store/test_open_file.py", "core/store/open_file.py"),
        ("core/store/test_votes.py", "core/store/votes/__init__.py"),
        ("core/store/test_store_model.py", "core/store/__init__.py"),
        ("core/store/test_opening.py", None),
        ("core/store/test_twice_open.py", None),
        ("core/test_open.py", None),
        ("core/weather/test_open.py", None),
        ("core/weather/test_weather.py", None),
    ],
)
def test_a_test_without_a_module_is_seen(test: str, named: str | None) -> None:
    """A name or a folder that the product does not have is no subject."""
    names = ("", "/store", "/store/votes")
    product = {Path(f"core{name}/__init__.py") for name in names}
    product |= {Path(f"core/store/{name}.py") for name in ("open", "open_file")}

    found = subject(PurePath(test), product)

    assert found == (None if named is None else PurePath(named))


def test_no_test_module_imports_another() -> None:
    """What two of them need is in ``tests/support``, or next to them under its own name."""
    imports = re.compile(r"^(?:from|import) tests\.[\w.]*\btest_\w+", re.MULTILINE)
    tests = [path for path in files() if path.suffix == ".py" and "tests" in path.parts]

    assert len(tests) > 600
    found = [str(path) for path in tests if imports.search(path.read_text(encoding="utf-8"))]
    assert found == [], "put what they share into tests/support/, or a module beside them"
    assert imports.search("from tests.core.test_x import y")
