import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.project.tracked import ROOT


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with what make reads, and no venv."""
    (tmp_path / "tests").mkdir()
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "tests/system_packages.sh"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run make in a folder; a make around us must not steer it."""
    environ = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_make_alone_says_what_can_be_made(clone: Path) -> None:
    """The two commands that the README names come first."""
    done = make(clone)

    assert done.returncode == 0
    assert [line.split()[:2] for line in done.stdout.splitlines()[:2]] == [
        ["make", "demo"],
        ["make", "test"],
    ]


def test_without_a_python_that_is_new_enough_make_says_so(clone: Path) -> None:
    """The message names what to install, and nothing half-made is left behind."""
    done = make(clone, "install", "PYTHON=/bin/false")

    assert done.returncode != 0
    assert "Sayso needs Python 3.11 or newer" in done.stderr
    assert not (clone / ".venv").exists()


def test_a_python_that_cannot_make_a_venv_leaves_none(clone: Path) -> None:
    """On Debian the venv module is a package of its own: the message names it."""
    python = clone / "python"
    python.write_text('#!/bin/sh\n[ "$1" = -c ] || { mkdir -p .venv/bin; exit 1; }\n')
    python.chmod(0o755)

    done = make(clone, "install", f"PYTHON={python}")

    assert done.returncode != 0
    assert "apt-get install python3-venv" in done.stderr
    assert not (clone / ".venv").exists()


def test_a_second_run_installs_nothing(clone: Path) -> None:
    """Stamps newer than the locks leave make nothing to do."""
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "python").touch()
    (clone / ".venv" / ".sayso-runtime").touch()

    done = make(clone, "--question", "install")

    assert done.returncode == 0, done.stdout


def test_a_changed_lock_installs_again(clone: Path) -> None:
    """Pulling new pins installs them."""
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "python").touch()
    (clone / ".venv" / ".sayso-runtime").touch()
    os.utime(clone / ".venv" / ".sayso-runtime", (1, 1))

    done = make(clone, "--question", "install")

    assert done.returncode == 1


def test_missing_system_packages_are_named_where_none_may_be_installed(tmp_path: Path) -> None:
    """Without root and sudo the script lists what to install and lets the tests decide."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "ls").symlink_to(shutil.which("ls") or "/bin/ls")
    (programs / "id").write_text("#!/bin/sh\necho 1000\n")
    (programs / "id").chmod(0o755)

    done = subprocess.run(
        ["/bin/sh", ROOT / "tests" / "system_packages.sh"],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )

    assert done.returncode == 0
    assert "this user may not install" in done.stderr
    assert "apt-get install" in done.stderr
    assert " dash" in done.stderr


def test_ci_runs_what_people_run() -> None:
    """.ci/run is executable and calls make test."""
    script = ROOT / ".ci" / "run"

    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").splitlines()[-1] == "exec make test"
