"""Find the folders whose own workspace would protect nothing."""

import os
from pathlib import Path

import pytest

from core.hosts.sandbox.filesystem.links import led_to, lies_in_protected

HOOKS = (".git/hooks", ".envrc")


@pytest.mark.parametrize(
    ("folder", "protected", "lies"),
    [
        (".git", HOOKS, True),
        (".git/info", HOOKS, True),
        (".git/hooks", HOOKS, True),
        ("bare", HOOKS, True),
        ("bare/info", HOOKS, True),
        ("half", HOOKS, False),
        ("src", HOOKS, False),
        ("x.git", HOOKS, False),
        (".envrc", HOOKS, True),
        (".envrc/sub", HOOKS, True),
        ("alias", HOOKS, False),
        ("alias", (*HOOKS, "tools"), True),
        (".git", (".envrc",), False),
        ("bare", (".envrc",), False),
        ("bare", (), False),
        ("src", (*HOOKS, "here"), False),
    ],
)
def test_what_lies_in_a_protected_place(
    tmp_path: Path, folder: str, protected: tuple[str, ...], *, lies: bool
) -> None:
    """A git folder counts by its name or by its content, and only while one of its is protected.

    A link to the folder that it is in protects itself.
    """
    top = Path(os.path.realpath(tmp_path))
    for one in (".git/info", "src", "x.git", "bare/objects", "bare/refs", "half/objects", "alias"):
        (top / one).mkdir(parents=True)
    (top / "tools").symlink_to("alias")
    (top / "here").symlink_to(".")

    assert lies_in_protected(f"{top}/{folder}", protected) is lies


def test_where_protected_links_lead_is_protected_in_the_workspace(tmp_path: Path) -> None:
    """With each link on the way; what is outside cannot be changed from there anyway."""
    top = Path(os.path.realpath(tmp_path))
    (top / "real").mkdir()
    (top / "real/env").touch()
    (top / "on").symlink_to("real/env")
    (top / ".envrc").symlink_to("on")
    (top / "out").symlink_to("/etc/hostname")

    found = led_to(str(top), {".envrc": -1, "out": -1}, ())
    assert sorted(found) == [".envrc", "on", "out", "real/env"]
