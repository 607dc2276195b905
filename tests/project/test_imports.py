import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of the tree in a folder."""
    program = Path(sys.executable).parent / "lint-imports"
    return subprocess.run(
        [program, "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the product's source, to break."""
    for package in ("bot", "channels", "core"):
        shutil.copytree(ROOT / package, tmp_path / package)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.timeout(120)
def test_every_contract_is_kept() -> None:
    """The dependency rule of the design holds in the whole tree."""
    done = lint_imports(ROOT)

    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("module", "planted", "contract"),
    [
        ("core/errors.py", "import channels", "bot on channels on core"),
        ("core/model/policy.py", "import core.gate", "a request only moves down"),
        ("core/store/__init__.py", "import core.runner", "people's wing never sees"),
        ("core/runner/__init__.py", "import core.approvals", "machines' wing never sees"),
        ("core/policy/evaluate.py", "import sqlite3", "SQL stays in core.store"),
        ("channels/cards.py", "import telegram", "chat SDKs stay in their platform"),
        ("core/approvals/ids.py", "import apscheduler", "core knows no scheduler"),
    ],
)
def test_a_forbidden_import_is_reported(
    copy: Path, module: str, planted: str, contract: str
) -> None:
    """Each contract still bites: an import planted against it breaks it."""
    path = copy / module
    path.write_text(f"{path.read_text()}\n{planted}\n")

    done = lint_imports(copy)

    assert done.returncode == 1
    broken = [line for line in done.stdout.splitlines() if line.endswith("BROKEN")]
    assert any(contract in line for line in broken), done.stdout


@pytest.mark.timeout(120)
def test_a_stray_module_in_core_is_reported(copy: Path) -> None:
    """A module of core that no layer names would be outside the rule."""
    (copy / "core" / "stray.py").write_text('"""Stray."""\n')

    done = lint_imports(copy)

    assert done.returncode != 0
    assert "stray" in done.stdout + done.stderr
