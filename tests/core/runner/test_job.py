"""Name in a supervisor's job every path under which a command may open a pinned file."""

import os
import pwd
import sys
from pathlib import Path

import pytest

from core.model.identity import ApprovalId
from core.planning.verify import verify
from core.runner.job import job_of
from core.runner.limits import Limits
from tests.support.runs import planned, request, script

RUN = ApprovalId("0" * 32)


def names(line: str, cwd: Path) -> list[str]:
    """Return the names of the file pinned next to the program of a line's only command."""
    with verify(planned(request(line, cwd=cwd))) as opened:
        job, _ = job_of(RUN, opened, Limits())
    return job["stages"][0]["pins"][1]["names"]


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """Return a folder with a script that others could replace."""
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin/tool.sh", "#!/bin/sh\n")
    (tmp_path / "bin").chmod(0o777)
    return tmp_path


def test_a_script_is_named_by_its_path(shared: Path) -> None:
    """Nothing else leads to it."""
    assert names("sh bin/tool.sh", shared) == [f"{shared}/bin/tool.sh"]


def test_other_words_that_lead_to_it_are_named_too(shared: Path) -> None:
    """A link to the file, and a link to the folder around it."""
    (shared / "alias").symlink_to("bin/tool.sh")
    (shared / "folder").symlink_to("bin")
    (shared / "beside").symlink_to("bin/tool.sh2")

    assert names("sh bin/tool.sh ./alias ./folder ./beside", shared) == [
        f"{shared}/bin/tool.sh",
        f"{shared}/alias",
        f"{shared}/folder/tool.sh",
    ]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("node bin/tool.js", True),
        ("node bin/tool.js --watch", True),
        ("node --watch bin/tool.js", False),
        ("node --watch-path=bin bin/tool.js", False),
    ],
)
def test_what_is_to_be_loaded_again_has_no_names(shared: Path, line: str, kept: bool) -> None:
    """A server that loads what is edited would be refused the file; it is checked at the start."""
    (shared / "bin/tool.js").write_text("1\n")

    assert bool(names(line, shared)) is kept


def test_a_program_that_loads_its_code_again_is_still_named(shared: Path) -> None:
    """Its own script is not what anyone edits while it runs."""
    server = script(shared / "bin/uvicorn", f"#!{sys.executable}\n")
    (shared / "app.py").touch()
    line = f"timeout 5 {server} app:app --reload"
    with verify(planned(request(line, cwd=shared))) as opened:
        job, _ = job_of(RUN, opened, Limits())

    found = {pin["path"]: bool(pin["names"]) for pin in job["stages"][0]["pins"]}
    assert (found[str(server)], found[str(shared / "app.py")]) == (True, False)


def test_a_script_of_the_system_has_no_names_but_for_root() -> None:
    """It is opened as it is, because only root writes there; to root itself every path is open."""
    me = os.geteuid()
    with verify(planned(request("sh /usr/bin/ldd", cwd=Path("/")))) as opened:
        as_root, _ = job_of(RUN, opened, Limits())
        if me == 0:
            os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            as_user, _ = job_of(RUN, opened, Limits())
        finally:
            os.seteuid(me)

    assert as_user["stages"][0]["pins"][1]["names"] == []
    assert bool(as_root["stages"][0]["pins"][1]["names"]) is (me == 0)


@pytest.mark.parametrize(
    ("line", "files", "unfound"),
    [
        ("node ./x", ["x.js"], {"x"}),
        ("node ./x", ["x.js", "x/data"], set()),
        ("python3 -m tool", [], set()),
        ("python3 new.py", [], {"new.py"}),
    ],
)
def test_what_a_command_does_not_find(
    tmp_path: Path, line: str, files: list[str], unfound: set[str]
) -> None:
    """Not a folder that exists; and nothing if there is no code whose place it would take."""
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1\n")
    with verify(planned(request(line, cwd=tmp_path))) as opened:
        job, _ = job_of(RUN, opened, Limits())

    absent = job["stages"][0]["absent"]
    assert {path.removeprefix(f"{tmp_path}/") for path in absent} >= unfound
    assert bool(absent) is bool(unfound)


def test_each_elf_program_is_passed_once(tmp_path: Path) -> None:
    """After the folder; a script is started by its path."""
    script(tmp_path / "own.sh", "#!/bin/sh\n")
    with verify(planned(request("ls | cat; ./own.sh && ls -l", cwd=tmp_path))) as opened:
        job, fds = job_of(RUN, opened, Limits())
        used = opened.plan.commands[:2]
        found = [opened.files[one.executable].fd for one in used if one.executable is not None]

    assert fds == [opened.cwd, *found]
    assert [stage["program"] for stage in job["stages"]] == [1, 2, -1, 1]
