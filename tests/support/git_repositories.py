"""Make git repositories."""

import os
import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> None:
    """Run git quietly, under a fixed name and without this machine's settings."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    subprocess.run(["git", "-C", folder, *who, *words], check=True, env=environ, stdout=-3)


def repository(folder: Path) -> Path:
    """Make a repository with a commit and a changed file."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "a").write_text("one\n")
    (folder / ".gitattributes").write_text("a filter=x diff=x\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / "a").write_text("two\n")
    return folder


def with_hooks(place: Path) -> Path:
    """Keep the hooks in another folder, as husky does."""
    git(repository(place), "config", "core.hooksPath", ".husky/_")
    return place
