"""Write the sudo rule, and check it with visudo."""

import shutil
import subprocess
from pathlib import Path

import pytest

from bot.executor_setup import sudoers
from core.errors import StateError


@pytest.fixture(autouse=True)
def _sudo() -> None:
    assert shutil.which("visudo"), "sudo is missing: tests/system_packages.sh installs it"


def test_the_rule_is_one_file_without_arguments() -> None:
    """As the run-as group; S2's wildcard is refused by sudo itself."""
    text = sudoers.rule("gate")

    assert 'gate ALL=(%sayso_exec) NOPASSWD: /usr/local/libexec/sayso-executor ""\n' in text
    assert "ALL=(ALL)" not in text


def test_it_is_written_closed_and_once(tmp_path: Path) -> None:
    """0440; nothing else is left in the folder."""
    path, text = tmp_path / "sayso", sudoers.rule("daemon")
    sudoers.write(text, path)

    assert sudoers.is_written(text, path)
    assert path.stat().st_mode & 0o777 == 0o440
    assert [one.name for one in tmp_path.iterdir()] == ["sayso"]
    checked = ["visudo", "--check", "--file", str(path)]
    assert subprocess.run(checked, capture_output=True, check=False).returncode == 0
    path.chmod(0o444)
    assert not sudoers.is_written(text, path)


def test_what_visudo_refuses_is_not_put_in_place(tmp_path: Path) -> None:
    """And what existed stays."""
    path = tmp_path / "sayso"
    sudoers.write(sudoers.rule("daemon"), path)

    with pytest.raises(StateError, match="visudo does not accept"):
        sudoers.write("gate ALL=(%x NOPASSWD: /bin/sh\n", path)

    assert sudoers.is_written(sudoers.rule("daemon"), path)
    assert [one.name for one in tmp_path.iterdir()] == ["sayso"]
