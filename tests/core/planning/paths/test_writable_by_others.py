"""Find folders through which other users could replace a script."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from core.planning.paths import writable_by_others
from core.planning.paths.writable_by_others import changeable_on_the_way
from tests.support.gateway_process import ROOT
from tests.support.runs import planned, request, script

SCRIPT = "#!/bin/sh\necho hello\n"


def exposed(line: str, cwd: Path = Path("/")) -> str:
    """Return what the planner found to be open about a line's first command."""
    return planned(request(line, cwd=str(cwd))).commands[0].exposed


def leaves(line: str, cwd: Path) -> set[str]:
    """Return what is open about each program of a line."""
    commands = planned(request(line, cwd=str(cwd))).commands
    return {leaf.exposed for one in commands for leaf in one.effective}


def opened(folder: Path, mode: int) -> Path:
    """Make a folder with exactly this mode."""
    folder.mkdir()
    folder.chmod(mode)
    return folder


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o1777, 0o1775])
def test_what_only_its_owner_may_rename_is_not_exposed(tmp_path: Path, mode: int) -> None:
    """Private, readable and sticky folders leave a script where it is."""
    tool = script(opened(tmp_path / "folder", mode) / "tool", SCRIPT)

    assert "" == exposed(f"{tool}")


@pytest.mark.parametrize("form", ["{0}/below/tool", "sh {0}/below/tool", "env {0}/below/tool"])
def test_a_world_writable_folder_above_a_script_is_named(tmp_path: Path, form: str) -> None:
    """However far above, and whatever reads the script: itself, a shell, a wrapper."""
    folder = opened(tmp_path / "open", 0o777)
    script(opened(folder / "below", 0o755) / "tool", SCRIPT)

    assert str(folder) == exposed(form.format(folder))


def test_a_link_in_such_a_folder_counts_as_well(tmp_path: Path) -> None:
    """The name that an interpreter opens is checked, and the file that it leads to."""
    private, folder = opened(tmp_path / "private", 0o755), opened(tmp_path / "open", 0o777)
    (folder / "link").symlink_to(script(private / "tool", SCRIPT))
    (private / "link").symlink_to(script(folder / "tool", SCRIPT))

    assert [str(folder)] * 2 == [exposed(f"{at / 'link'}") for at in (folder, private)]


def test_a_group_of_its_owner_alone_is_no_other_user(tmp_path: Path) -> None:
    """Many systems give each user a group of the same name and a umask of 002."""
    own, shared = opened(tmp_path / "own", 0o775), opened(tmp_path / "shared", 0o775)
    os.chown(own, -1, os.getgid())
    script(own / "tool", SCRIPT)
    script(shared / "tool", SCRIPT)

    assert "" == exposed(f"{own / 'tool'}")
    if os.geteuid() == 0:
        os.chown(shared, -1, 1)  # the primary group of the user daemon
        assert str(shared) == exposed(f"{shared / 'tool'}")


def test_a_program_is_started_by_descriptor_whatever_its_folder(tmp_path: Path) -> None:
    """A binary cannot be replaced by name, so its folder does not matter."""
    folder = opened(tmp_path / "open", 0o777)
    copy = folder / "true"
    copy.write_bytes(Path("/bin/true").read_bytes())
    copy.chmod(0o755)

    assert "" == exposed(f"{copy}")
    assert str(folder) == exposed(f"env {copy}")  # a wrapper starts a program by its name


def test_who_may_write_is_named(tmp_path: Path) -> None:
    """Everyone, an owner who is neither root nor this user, the users of a group."""
    folders = [opened(tmp_path / name, mode) for name, mode in (("a", 0o777), ("b", 0o755))]
    folders.append(opened(tmp_path / "c", 0o775))
    os.chown(folders[1], 65534, -1)
    os.chown(folders[2], -1, 1)
    plans = [planned(request(f"sh {script(one / 'tool', SCRIPT)}")) for one in folders]

    assert [str(one) for one in folders] == [plan.commands[0].exposed for plan in plans]
    assert ["every user", "nobody", "group daemon (daemon)"] == [
        plan.commands[0].writers for plan in plans
    ]


@pytest.mark.parametrize(("most", "words"), [(1, "daemon"), (0, ", …")])
def test_of_many_users_the_first_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, words: str
) -> None:
    """As many as may be named are all of them; the dots mean at least one more."""
    monkeypatch.setattr(writable_by_others, "_MOST_NAMED", most)
    folder = opened(tmp_path / "c", 0o775)
    os.chown(folder, -1, 1)

    (command,) = planned(request(f"sh {script(folder / 'tool', SCRIPT)}")).commands
    assert command.writers == f"group daemon ({words})"


@pytest.mark.parametrize(
    "line", ["make", "make -C {0}", "make -j2 --directory={0} all", "env make"]
)
def test_make_reads_its_folder(tmp_path: Path, line: str) -> None:
    """A Makefile and its includes are read from there, whatever the line names."""
    folder = opened(tmp_path / "open", 0o777)

    cwd = tmp_path if "{0}" in line else folder
    plan = planned(request(line.format(folder), cwd=str(cwd)))
    found = plan.commands[0].exposed or plan.commands[0].inner[0].exposed

    assert str(folder) == found
    assert "" == exposed("make", opened(tmp_path / "own", 0o755))


def test_a_text_for_a_shell_names_the_folder_too(tmp_path: Path) -> None:
    """What cannot be read for certain may load what is next to the scripts that it names."""
    folder = opened(tmp_path / "open", 0o777)
    script(folder / "tool.sh", SCRIPT)

    assert str(folder) == exposed(f". {folder}/tool.sh")
    assert str(folder) == exposed(f"sh -c '. {folder}/tool.sh'")


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """Return a folder of ours in which no one else may write, with a file."""
    (opened(tmp_path / "ours", 0o755) / "file").touch()
    return tmp_path / "ours"


def test_a_file_of_ours_in_folders_of_ours_is_led_nowhere_else(ours: Path) -> None:
    """By its name, by a link of ours, and with ``..`` and ``.`` in the path."""
    (ours / "link").symlink_to("file")
    (ours / "there").symlink_to(ours)

    for name in ("file", "link", "there/link", "./there/../ours/file"):
        assert changeable_on_the_way(f"{ours}/{name}") == ""


def test_a_folder_that_others_may_write_to_is_named(ours: Path) -> None:
    """Also one that only a link leads through."""
    shared = opened(ours / "shared", 0o777)
    (shared / "link").symlink_to(ours / "file")
    (ours / "through").symlink_to(shared / "link")

    assert changeable_on_the_way(f"{shared}/link") == str(shared)
    assert changeable_on_the_way(f"{ours}/through") == str(shared)


def test_a_name_that_is_not_ours_is_named(ours: Path) -> None:
    """Another user's file or link in a folder of ours, and a missing name."""
    assert changeable_on_the_way(f"{ours}/absent") == f"{ours}/absent"
    if os.geteuid() == 0:
        os.chown(ours / "file", 1, 1)
        assert changeable_on_the_way(f"{ours}/file") == f"{ours}/file"


@pytest.mark.parametrize(("links", "named"), [(40, False), (42, True)])
def test_more_links_than_the_kernel_follows_are_not_followed(
    ours: Path, links: int, named: bool
) -> None:
    """A loop would never end (path_resolution(7): 40)."""
    for number in range(links):
        target = f"l{number - 1}" if number else "file"
        (ours / f"l{number}").symlink_to(target)

    assert bool(changeable_on_the_way(f"{ours}/l{links - 1}")) is named


_AS_NOBODY = """
import os, sys
sys.path.insert(0, {root!r})
from core.planning.paths.writable_by_others import is_replaceable
os.setgid(65534)
os.setuid(65534)
print(*(is_replaceable(path) for path in {paths!r}))
"""


CASES = (
    *((0o755, 0o755, False), (0o1777, 0o755, False), (0o777, 0o755, True)),
    *((0o755, 0o777, True), (0o755, 0o1777, True)),
)
"""The modes of a folder and of a file in it, and whether another user could replace the file."""


def test_what_a_user_could_put_elsewhere_is_looked_at_up_to_the_root() -> None:
    """In a folder that all may write to, unless it is sticky; a file's own bit does not count."""
    with tempfile.TemporaryDirectory(prefix="sayso-replaced-") as name:
        Path(name).chmod(0o755)
        expected = {}
        for number, (folder, file, replaceable) in enumerate(CASES):
            tool = script(opened(Path(name, str(number)), folder) / "tool", SCRIPT)
            tool.chmod(file)
            expected[str(tool)] = replaceable
        code = _AS_NOBODY.format(root=str(ROOT), paths=[*expected])
        words = [sys.executable, "-c", code]
        found = subprocess.run(words, capture_output=True, text=True, check=True, timeout=30)

    assert found.stdout.split() == [str(one) for one in expected.values()]


PROJECT = ("npm test", "npm run build", "node --test", "timeout 9 npm test", "make", "cd . && make")
OTHERS = ("npm ls", "node --version", "ls", "git status", "git commit -m x", "mkdir x", "sort a")


@pytest.mark.parametrize("mode", [0o777, 0o1777])
@pytest.mark.parametrize("line", PROJECT)
def test_a_folder_into_which_others_put_files_is_no_project(
    tmp_path: Path, line: str, mode: int
) -> None:
    r"""Before, another user's file ran in a sticky folder, with the example policy.

    As root::

        $ su nobody -s /bin/sh -c 'printf "test:\n\tid -un\n" >/tmp/GNUmakefile'
        $ sayso run -c 'cd /tmp && make test'
        id -un
        root
    """
    folder = opened(tmp_path / "folder", mode)

    assert str(folder) in leaves(line, folder)


@pytest.mark.parametrize("line", PROJECT)
def test_a_project_below_such_a_folder_is_one(tmp_path: Path, line: str) -> None:
    """A control: no one else puts anything into it, nor removes it from where it is."""
    folder = opened(opened(tmp_path / "folder", 0o1777) / "app", 0o755)

    assert leaves(line, folder) == {""}


@pytest.mark.parametrize("line", OTHERS)
def test_what_runs_no_code_of_a_folder_may_run_in_any(tmp_path: Path, line: str) -> None:
    """A command that only reads finds no code there."""
    assert leaves(line, opened(tmp_path / "folder", 0o1777)) == {""}


@pytest.mark.parametrize("line", ["python3 {0}/x.py", "sh {0}/x.sh", "node {0}/x.js"])
def test_a_script_that_is_named_is_looked_for_nowhere_else(tmp_path: Path, line: str) -> None:
    """Only where it is itself."""
    place = opened(tmp_path / "own", 0o755)
    for name in ("x.py", "x.sh", "x.js"):
        (place / name).write_text("")

    assert leaves(line.format(place), opened(tmp_path / "folder", 0o1777)) == {""}
