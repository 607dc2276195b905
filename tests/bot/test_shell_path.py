"""What is said to be typed next is found by the shell, or preceded by what makes it so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.shell_path import first_export

SAYSO = Path(sys.executable).parent / "sayso"


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """Make a folder with a program called sayso, a link to it elsewhere, and another one."""
    for name in ("a b", "linked", "other", "none"):
        (tmp_path / name).mkdir()
    for name in ("a b", "other"):
        (tmp_path / name / "sayso").write_text("#!/bin/sh\n")
        (tmp_path / name / "sayso").chmod(0o755)
    (tmp_path / "linked" / "sayso").symlink_to(tmp_path / "a b" / "sayso")
    return tmp_path / "a b"


@pytest.mark.parametrize(
    ("path", "exported"),
    [("a b", False), ("linked", False), ("none:a b", False), ("none", True), ("other", True)],
)
def test_a_program_that_the_shell_does_not_find(
    bin_folder: Path, path: str, *, exported: bool
) -> None:
    """None, and another one of that name, are the same: what is typed would not be this one."""
    at = ":".join(str(bin_folder.parent / one) for one in path.split(":"))
    said = first_export(str(bin_folder / "sayso"), at)
    assert said == (f"export PATH='{bin_folder}':$PATH" if exported else "")
    assert first_export(str(bin_folder / "__main__.py"), at) == ""


@pytest.mark.parametrize("on_path", [True, False])
def test_init_names_commands_that_the_shell_finds(tmp_path: Path, *, on_path: bool) -> None:
    """Started by its path, as README's `make install` leaves it in another terminal."""
    path = f"{SAYSO.parent}:{os.environ['PATH']}" if on_path else "/usr/bin:/bin"
    done = subprocess.run(
        [SAYSO, "init", "--channel", "terminal", "--yes"],
        env={"SAYSO_HOME": str(tmp_path / "home"), "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    line = f"  export PATH={SAYSO.parent}:$PATH    in each terminal, first\n"
    assert (line in done.stdout) is not on_path
