"""Run `make release`: one command makes a tag and two identical builds from a clean tree."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.project.artefacts import copy_source
from tests.project.tracked import ROOT


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with one commit: this tree."""
    folder = copy_source(tmp_path_factory.mktemp("release") / "source")
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        ("config", "user.name", "Ana"),
        ("config", "user.email", "ana@example.com"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "All of it"),
    ):
        git(folder, *words)
    return folder


@pytest.fixture
def repository(source: Path, tmp_path: Path) -> Path:
    """Return a clone of its own for each test."""
    folder = tmp_path / "repository"
    git(tmp_path, "clone", "--quiet", str(source), str(folder))
    git(folder, "config", "user.name", "Ana")
    git(folder, "config", "user.email", "ana@example.com")
    return folder


def git(folder: Path, *words: str) -> str:
    """Run git, which must succeed."""
    done = subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def release(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Release as `make release` does, with the Python of the tests."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["sh", ".ci/release", *words],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_make_hands_over(tmp_path: Path) -> None:
    """`make release VERSION=… RELEASE_ARGS=…` calls the script with both."""
    planned = subprocess.run(
        ["make", "--dry-run", "release", "VERSION=9.9.9", "RELEASE_ARGS=--dry-run"],
        cwd=ROOT,
        env={name: text for name, text in os.environ.items() if not name.startswith("MAKE")},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )

    assert "sh .ci/release --dry-run '9.9.9'" in planned.stdout, planned.stderr


def test_what_is_no_version_is_refused(source: Path) -> None:
    """It says what to type, and changes nothing."""
    for version in ("", "1.2", "v1.2.0", "1.2.0;id"):
        done = release(source, version)
        assert done.returncode == 1, version
        assert "make release VERSION=1.2.0" in done.stderr, version
    assert git(source, "status", "--porcelain") == git(source, "tag") == ""


def test_a_dirty_tree_is_refused(repository: Path) -> None:
    """A file that is not committed would not be in what is tagged."""
    (repository / "bot" / "new.py").touch()
    done = release(repository, "9.9.9")

    assert done.returncode == 1
    assert "not committed" in done.stderr
    assert git(repository, "tag") == ""


def test_a_tag_that_exists_is_refused(repository: Path) -> None:
    """No version is released twice."""
    git(repository, "tag", "v9.9.9")
    done = release(repository, "9.9.9")

    assert done.returncode == 1
    assert "v9.9.9 exists" in done.stderr


@pytest.mark.deep
@pytest.mark.slow
def test_an_empty_section_of_the_changelog_is_refused(repository: Path) -> None:
    """Users are told what changed, or nothing is released."""
    empty = "# Changelog\n\n## [Unreleased]\n\n## [0.0.1]\n\n- x\n"
    (repository / "CHANGELOG.md").write_text(empty)
    git(repository, "commit", "--quiet", "--all", "--message", "Forget the changelog")
    head = git(repository, "rev-parse", "HEAD")
    done = release(repository, "9.9.9")

    assert done.returncode == 1
    assert "nothing below [Unreleased]" in done.stderr
    assert git(repository, "rev-parse", "HEAD") == head


@pytest.mark.deep
def test_a_dry_run_changes_nothing(repository: Path) -> None:
    """The artefacts exist, the commit and the tag do not."""
    head = git(repository, "rev-parse", "HEAD")
    done = release(repository, "--dry-run", "9.9.9")

    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (repository / "dist").iterdir()) == [
        "SHA256SUMS",
        "sayso-9.9.9-py3-none-any.whl",
        "sayso-9.9.9.tar.gz",
    ]
    assert (git(repository, "tag"), git(repository, "rev-parse", "HEAD")) == ("", head)
    assert git(repository, "status", "--porcelain") == ""


@pytest.mark.slow
@pytest.mark.deep
def test_a_release_is_a_commit_a_tag_and_artefacts(repository: Path) -> None:
    """The version is in every place that has one; the tag's text is the changelog's."""
    done = release(repository, "9.9.9")

    assert done.returncode == 0, done.stderr
    assert git(repository, "log", "-1", "--format=%s") == "Release 9.9.9"
    assert git(repository, "rev-list", "-1", "v9.9.9") == git(repository, "rev-parse", "HEAD")
    assert "### Added" in git(repository, "tag", "-l", "--format=%(contents)", "v9.9.9")
    assert 'version = "9.9.9"' in (repository / "pyproject.toml").read_text()
    wheel = zipfile.ZipFile(repository / "dist" / "sayso-9.9.9-py3-none-any.whl")
    manual = wheel.read("sayso-9.9.9.data/data/share/man/man1/sayso.1").decode()
    assert '"sayso 9.9.9"' in manual.splitlines()[0]
    changelog = (repository / "CHANGELOG.md").read_text()
    assert changelog.index("## [Unreleased]") < changelog.index("## [9.9.9] - 20")
    check = ["sha256sum", "--quiet", "--check", "SHA256SUMS"]
    sums = subprocess.run(check, cwd=repository / "dist", check=False)
    assert sums.returncode == 0
    assert git(repository, "status", "--porcelain") == ""


@pytest.mark.deep
def test_builds_that_differ_are_seen(repository: Path) -> None:
    """The control: with the current time in it, no two builds are the same."""
    project = repository / "pyproject.toml"
    hooked = project.read_text().replace('path = ".ci/man_page.py"', 'path = "clock.py"')
    project.write_text(hooked)
    (repository / "clock.py").write_text(
        "import time\n"
        "from hatchling.builders.hooks.plugin.interface import BuildHookInterface\n"
        "class Clock(BuildHookInterface):\n"
        "    def initialize(self, version, data):\n"
        "        with open('bot/built.py', 'w') as file:\n"
        "            file.write(f'AT = {time.time_ns()}')\n"
    )
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "Note when it was built")
    done = release(repository, "9.9.9")

    assert done.returncode == 1
    assert "differ" in done.stderr
    assert git(repository, "tag") == ""
