from pathlib import Path

from tests.project import shape
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


def entries(found: set[str], name: str) -> str:
    """Return what to write in a list of reasons, and what to delete from it."""
    stated = set(getattr(shape, name))
    new = (f'write "{one}": "WHY"' for one in sorted(found - stated))
    gone = (f'delete "{one}"' for one in sorted(stated - found))
    return f"in {name} of tests/project/shape.py {'; '.join((*new, *gone))}"


def test_no_folder_is_too_large_to_survey() -> None:
    """A folder holds at most sixteen modules, or its reason is stated; no reason is left over."""
    large = {folder for folder, count in folders(measure(ROOT)).items() if count > MOST_MODULES}

    assert large == set(LARGE_FOLDERS), f"split it, or {entries(large, 'LARGE_FOLDERS')}"


def test_a_long_module_has_a_reason() -> None:
    """A module of more than 400 lines has its reason stated; no reason is left over."""
    long = {module.path for module in measure(ROOT) if module.lines > LONGEST_MODULE}

    assert long == set(LONG_MODULES), f"split it, or {entries(long, 'LONG_MODULES')}"


def test_a_fragment_has_a_reason() -> None:
    """A module of under 40 lines with one importer has its reason stated; none is superfluous."""
    small = {module.path for module in fragments(measure(ROOT))}

    assert small == set(FRAGMENTS), f"merge it, or {entries(small, 'FRAGMENTS')}"


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


def test_the_entry_to_write_is_named() -> None:
    """With the list and its file; what has no reason to be there is to be deleted."""
    assert entries({"core/x.py"}, "LONG_MODULES") == (
        'in LONG_MODULES of tests/project/shape.py write "core/x.py": "WHY"; '
        'delete "core/audit/verify_export.py"'
    )


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
