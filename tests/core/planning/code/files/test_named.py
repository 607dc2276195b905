"""Pin the programs that a vector names in a folder that its search path gets."""

import os
from pathlib import Path

import pytest

from core.planning.code.files.named import programs_named, reached_files
from core.planning.code.files.operands import Code
from core.planning.paths.search_path import SearchPath


@pytest.mark.parametrize(
    ("line", "files", "ahead"),
    [
        ("./tools/build", ["tools/build"], []),
        ("build", [], []),
        ("PATH=tools build", ["tools/build"], []),
        ("PATH=$PWD/tools build", ["tools/build"], []),
        ("PATH=${PWD}/tools build", ["tools/build"], []),
        ("PATH=none:tools build", ["tools/build"], ["none/build"]),
        ("PATH=tools:$PATH build", ["tools/build"], []),
        ("PATH=$PATH:tools build", ["tools/build"], ["/usr/bin/build"]),
        ("PATH=${PATH}:tools build", ["tools/build"], ["/usr/bin/build"]),
        ("PATH=$PATH build", [], []),
        ("PATH=tools; . build", ["tools/build"], []),
        ("PATH=none; . lib", ["lib"], ["none/lib"]),
        ("PATH=none lib", [], []),
    ],
)
def test_a_plain_name_is_looked_for_where_path_leads(
    tmp_path: Path, line: str, files: list[str], ahead: list[str]
) -> None:
    """Folders that are searched before have no such program; `$PATH` means the usual ones."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "none").mkdir()
    for name in ("tools/build", "lib"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    found = programs_named(("sh", "-c", line), str(tmp_path), SearchPath())
    assert isinstance(found, Code)
    base = f"{tmp_path}/"

    assert [one.path.removeprefix(base).removeprefix("./") for one in found.files] == files
    tried = (os.path.realpath(one) for one in found.ahead)  # /bin may be a link
    assert [*dict.fromkeys(one.removeprefix(base) for one in tried)] == ahead


def test_only_files_that_others_may_replace_are_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a kernel makes up, what a system keeps, a folder and nothing are no code that changes.

    What leads through /proc leads the command elsewhere than the planner.
    """
    (tmp_path / "x.sh").write_text("echo\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("/proc/version")
    (tmp_path / "folder").mkdir()
    words = ("x.sh", "link", "folder", "gone", "/proc/version", "/dev/null", "/usr/bin/env")

    found = reached_files((*words, "/proc/self/cwd/x.sh"), str(tmp_path))

    (tmp_path / "x.sh").chmod(0o755)
    vector = ("nice", "/proc/self/cwd/x.sh", "./x.sh")
    started = programs_named(vector, str(tmp_path), SearchPath())

    for one in (found, started):
        assert isinstance(one, Code)
        assert [file.path for file in one.files] == [str(tmp_path / "x.sh")]
