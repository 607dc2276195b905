from pathlib import Path

from tests.project.shape import (
    FRAGMENTS,
    LARGE_FOLDERS,
    LONG_MODULES,
    LONGEST_MODULE,
    MOST_MODULES,
    Module,
    contracts,
    cycles,
    folders,
    fragments,
    measure,
    report,
    siblings,
    up,
)

ROOT = Path(__file__).parents[2]


def _module(name: str, *imports: str, lines: int = 60) -> Module:
    return Module(name, f"{name.replace('.', '/')}.py", lines, frozenset(imports))


def test_no_folder_is_too_large_to_survey() -> None:
    """A folder holds at most sixteen modules, or its reason is stated; no reason is left over."""
    large = {folder for folder, count in folders(measure(ROOT)).items() if count > MOST_MODULES}

    assert large == set(LARGE_FOLDERS), (
        "split the folder, or state why in LARGE_FOLDERS of shape.py"
    )


def test_a_long_module_has_a_reason() -> None:
    """A module of more than 400 lines has its reason stated; no reason is left over."""
    long = {module.path for module in measure(ROOT) if module.lines > LONGEST_MODULE}

    assert long == set(LONG_MODULES), "split the module, or state why in LONG_MODULES of shape.py"


def test_a_fragment_has_a_reason() -> None:
    """A module of under 40 lines with one importer has its reason stated; none is superfluous."""
    small = {module.path for module in fragments(measure(ROOT))}

    assert small == set(FRAGMENTS), "merge the module, or state why in FRAGMENTS of shape.py"


def test_imports_go_one_way() -> None:
    """No two units of a folder reach one another, and none imports one above it."""
    modules = measure(ROOT)
    found = {name: cycles(arrows) for name, arrows in siblings(modules).items()}

    assert {name: circles for name, circles in found.items() if circles} == {}
    assert up(modules, contracts(ROOT)) == ()


def test_the_measures_see_what_they_look_for() -> None:
    """A planted cycle, arrow up, fragment and full folder are each found."""
    modules = (
        _module("core.a.x", "core.b.y"),
        _module("core.b.y", "core.a.z"),
        _module("core.a.z", lines=12),
        *(_module(f"core.c.m{number}") for number in range(MOST_MODULES + 1)),
    )
    layers: list[dict[str, object]] = [{"containers": ["core"], "layers": ["a", "b | c"]}]

    assert cycles(siblings(modules)["core"]) == (("a", "b"),)
    assert up(modules, layers) == ("core: b -> a",)
    assert [module.name for module in fragments(modules)] == ["core.a.z"]
    assert folders(modules)["core/c"] == MOST_MODULES + 1


def test_imports_are_read_from_source(tmp_path: Path) -> None:
    """Modules that are imported with ``from package import module`` count as such."""
    for top in ("bot", "channels", "core"):
        (tmp_path / top).mkdir()
        (tmp_path / top / "__init__.py").touch()
    (tmp_path / "core" / "one.py").write_text("import os\nfrom core import two\n")
    (tmp_path / "core" / "two.py").write_text("from core.one import name\n")
    (tmp_path / "pyproject.toml").write_text("[tool.importlinter]\ncontracts = []\n")

    found = {module.name: module.imports for module in measure(tmp_path)}

    assert found["core.one"] == {"core.two"}
    assert found["core.two"] == {"core.one"}
    assert "  core: ('one', 'two')" in report(tmp_path)
