"""Build the executor as one file."""

import subprocess
from pathlib import Path

import pytest

from bot.executor_setup.archive import archive, build_id, exposed, interpreter, modules

ROOT = Path(__file__).parents[3]


def test_equal_sources_make_equal_files() -> None:
    """So that doctor can compare what is installed with what would be."""
    assert archive("/usr/bin/python3") == archive("/usr/bin/python3")
    assert archive("/usr/bin/python3") != archive("/usr/bin/python3.99")
    assert len(build_id()) == 16


IMPORTING = (
    "import importlib, sys; sys.path.insert(0, sys.argv[1])\n"
    "for name in sys.argv[2:]: importlib.import_module(name)"
)


def test_it_holds_what_it_imports_and_no_more(tmp_path: Path) -> None:
    """Run isolated, away from the tree, each of its modules finds everything."""
    names = [name for name, _ in modules()]
    packed = tmp_path / "sayso-executor"
    packed.write_bytes(archive(interpreter()))
    dotted = [name.removesuffix(".py").replace("/", ".") for name in names]
    found = [one.removesuffix(".__init__") for one in dotted if not one.endswith(".__main__")]

    def importing(*wanted: str) -> subprocess.CompletedProcess[str]:
        words = (interpreter(), "-ISXutf8", "-c", IMPORTING, str(packed), *wanted)
        return subprocess.run(words, check=False, cwd=tmp_path, capture_output=True, text=True)

    done = importing(*found)
    assert (done.returncode, done.stderr) == (0, "")
    assert "No module named 'core.model'" in importing("core.model").stderr, "the tree is seen"
    assert not any("/hosts/" in name or "/store/" in name for name in names)


def test_the_interpreter_is_roots_and_open_to_all() -> None:
    """A Python in a user's home could be changed by that user, or not be run by others."""
    found = interpreter()

    assert exposed(found) == ""
    done = subprocess.run(
        [
            "setpriv",
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            found,
            "-c",
            "print(7)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "7\n"


@pytest.mark.parametrize("mode", [0o755, 0o775, 0o757])
def test_what_another_could_change_is_exposed(tmp_path: Path, mode: int) -> None:
    """The file itself, or a folder above it."""
    folder = tmp_path / "lib"
    folder.mkdir()
    folder.chmod(mode)
    file = folder / "python3.11"
    file.touch()

    assert exposed(str(file)) == ("" if mode == 0o755 else str(folder))
