"""Name what is in the files that a command would obey or start unseen."""

from hashlib import sha256
from pathlib import Path

import pytest

from core.planning.paths.contents import (
    contents_of,
    contents_with_named,
    files_in,
    named_in,
)


def digest(text: str) -> str:
    """Return the digest of what is in a file."""
    return sha256(text.encode()).hexdigest()


def test_a_file_has_its_whole_digest_and_anything_else_a_reason(tmp_path: Path) -> None:
    """Nothing that cannot be hashed passes for something that was."""
    (tmp_path / "x").write_text("one")

    assert contents_of(f"{tmp_path}/x") == f" (SHA-256 {digest('one')})"
    assert contents_of(f"{tmp_path}/none") == " (it does not exist)"
    assert contents_of(str(tmp_path)).startswith(" (it ")


def test_files_that_a_file_names_count_too(tmp_path: Path) -> None:
    """Next to it, or in the working folder; those of the system do not."""
    (tmp_path / "d").mkdir()
    (tmp_path / "rc").write_text("use /bin/sh\n")
    alone = contents_with_named(f"{tmp_path}/rc", f"{tmp_path}/d")
    (tmp_path / "rc").write_text("use ./x /bin/sh\n")
    (tmp_path / "d/x").write_text("one")
    held = contents_with_named(f"{tmp_path}/rc", f"{tmp_path}/d")
    (tmp_path / "d/x").write_text("two")

    assert alone == f" (SHA-256 {digest(f'use /bin/sh{chr(10)}')})"
    assert "and what it names (SHA-256 " in held
    assert held != contents_with_named(f"{tmp_path}/rc", f"{tmp_path}/d")


def test_of_a_folder_all_files_below_count_up_to_a_limit(tmp_path: Path) -> None:
    """In the order of their names, and the clause says where it ends."""
    (tmp_path / "b").mkdir()
    for name in ("b/y", "b/x", "a"):
        (tmp_path / name).write_text(name)
    before = contents_with_named(str(tmp_path), "/")
    (tmp_path / "b/y").write_text("changed")

    assert files_in(str(tmp_path)) == tuple(f"{tmp_path}/{one}" for one in ("a", "b/x", "b/y"))
    assert files_in(f"{tmp_path}/a") == (f"{tmp_path}/a",)
    assert before.endswith(" of its 3 files)")
    assert contents_with_named(str(tmp_path), "/") != before
    for one in range(1_022):
        (tmp_path / f"b/{one:04}").touch()
    assert contents_with_named(str(tmp_path), "/").endswith(" of its first 1024 files)")


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("./x", ["x"]),
        ("sh -c 'x; y'", ["x", "y"]),
        ("x x", ["x"]),
        ("z", []),
        ("d", []),
        ("/bin/sh", []),
        ("~/x", ["x"]),
    ],
)
def test_a_value_names_the_files_that_are_there(
    value: str, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each once, with its digest; no folder, and nothing of the system."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "d").mkdir()
    for name in ("x", "y"):
        (tmp_path / name).write_text(name)

    clauses = (f", `{tmp_path}/{one}` (SHA-256 {digest(one)})" for one in names)
    assert named_in(value, (str(tmp_path), str(tmp_path))) == "".join(clauses)
