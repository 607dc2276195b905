"""Find what is protected in a workspace, and where protected links lead."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.hosts.sandbox.filesystem.protect import Names, holds, targets


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a workspace with a folder, links inside it, and one that leads out."""
    made = Path(os.path.realpath(tmp_path)) / "work"
    (made / "real" / "below").mkdir(parents=True)
    (made / "link").symlink_to("real")
    (made / "out").symlink_to("/usr")
    return made


@pytest.fixture
def names(workspace: Path) -> Iterator[Names]:
    """Yield what the workspace has at its paths."""
    root = os.open(workspace, os.O_PATH | os.O_DIRECTORY)
    made = Names(root)
    yield made
    made.close()
    os.close(root)


@pytest.mark.parametrize(
    ("path", "leads_to"),
    [
        ("link", ["link", "real"]),
        ("link/below", ["link", "real"]),
        ("real", []),
        ("real/below", []),
        ("out", ["out"]),
        ("gone", []),
    ],
)
def test_a_protected_link_leads_to_a_path_of_the_workspace(
    workspace: Path, names: Names, path: str, leads_to: list[str]
) -> None:
    """Each link on the way and where it leads, as far as that is in the workspace."""
    assert list(targets(str(workspace), names, [path], ())) == leads_to


@pytest.mark.parametrize(
    ("path", "held"),
    [
        ("real/below", [("real", True), ("real/below", False)]),
        ("link", []),
        ("link/below", []),
        ("real/gone", [("real", True)]),
        ("gone/below", []),
    ],
)
def test_what_is_there_is_held_but_no_link(
    names: Names, path: str, held: list[tuple[str, bool]]
) -> None:
    """Folders above it stay writable; a link cannot be mounted on, nor what is below it."""
    assert [(one.path, one.writable) for one in holds(names, [path])] == held
