"""Swap, or put there, what a line starts by a name that nobody reads, after its approval."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from core.errors import PlanDrift
from core.planning.further_code import became_program
from core.planning.planner import Planner
from core.planning.verify import verify
from tests.support.runs import drifts, planned, request, script
from tests.support.tables import rows

GOOD, EVIL = "#!/bin/sh\necho good\n", "#!/bin/sh\necho evil\n"


def data(path: Path) -> None:
    """Write what cannot be started."""
    path.write_text(GOOD)


def program(path: Path) -> None:
    """Write what can be started."""
    script(path, GOOD)


def nothing(path: Path) -> None:
    """Leave it absent."""


def tried(
    line: str,
    at: str,
    before: Callable[[Path], None],
    search: tuple[str, ...] = ("/usr/bin", "/bin"),
) -> tuple[bool, bool]:
    """Return whether it drifts as it is, and whether it does with another program there.

    The line is asked for in a folder `work` of the home, which has a folder of programs.
    """
    with TemporaryDirectory() as place:
        home = Path(place)
        for name in ("work/d", "bin"):
            (home / name).mkdir(parents=True)
        before(home / at)
        planner = Planner((*search, f"{home}/bin"), {"HOME": place})
        plan = planned(request(line, cwd=home / "work"), planner)
        unchanged = drifts(plan)
        (home / at).unlink(missing_ok=True)
        script(home / at, EVIL)
        return unchanged, drifts(plan)


@pytest.mark.parametrize("before", [data, nothing])
@rows(
    "line",
    [
        "nice ./x",
        "env A=1 ./x",
        "timeout 5 ./x a b",
        "nohup ./x > log",
        "echo a | xargs -n1 ./x",
        "nice timeout 5 ./x",
        "cd d && nice ../x",
        "env PATH=. x",
        "sh -c './x | cat'",
        "sh -c \"sh -c './x; true'\"",
        "true && nice ./x",
        "chmod +x x && nice ./x",
        "chmod +x x && flock l ./x",
        "echo ./x | sh",
        "printf './%s' x | sh",
        "sh -c './$1' s x",
        "echo ./x | sed e",
    ],
)
def test_what_could_not_start_does_not_start(line: str, before: Callable[[Path], None]) -> None:
    """A wrapper looked through, and a pipe into a shell, start it as soon as it can be."""
    assert tried(line, "work/x", before) == (False, True)


@pytest.mark.parametrize("before", [program, data, nothing])
@rows(
    "line",
    [
        "${PWD}/x",
        "`pwd`/x",
        '"$(git rev-parse --show-toplevel)"/x',
        'D=$(pwd); "$D/x"',
        "time $PWD/x",
        "/proc/$$/cwd/x",
        "setsid -w /proc/self/cwd/x",
        "flock l sh -c '$PWD/x > log'",
        "git -c alias.q='!$PWD/x' q",
        "make --eval 'a:;$(CURDIR)/x' a",
        "python3 -c 'import os; os.system(os.getcwd() + \"/x\")'",
        "python3 -c 'import os; os.system(f\"{os.getcwd()}/x\")'",
        'node -e \'require("child_process").execSync(process.cwd() + "/x")\'',
        "time ./\\x",
    ],
)
def test_a_path_after_something_unknown(line: str, before: Callable[[Path], None]) -> None:
    """What a shell or a program puts in front is most likely the working folder."""
    assert tried(line, "work/x", before) == (False, True)


@pytest.mark.parametrize("before", [program, data, nothing])
@rows(
    "line",
    [
        "time ${HOME}/x",
        "(cd ~ && ./x)",
        "(cd; ./x)",
        "bash -lc 'cd ~ && ./x'",
        "bash -c 'cd $HOME && ./x'",
        "sh -c '~/x'",
        "PATH=~:$PATH x",
        'export PATH="$HOME:$PATH"; x',
        "a=~; $a/x",
        "flock l sh -c '~/x'",
        "git -c alias.q='!~/x' q",
        "python3 -c 'import os; os.system(\"~/x\")'",
        "find . -maxdepth 0 -exec sh -c '~/x' \\;",
        "echo '~/x' | sh",
    ],
)
def test_a_path_in_the_home(line: str, before: Callable[[Path], None]) -> None:
    """A shell within the line reads `~` and `$HOME`, not the planner."""
    assert tried(line, "x", before) == (False, True)


@pytest.mark.parametrize("before", [program, data, nothing])
@rows(
    "line",
    [
        "time tool",
        "(tool)",
        "a=$(tool)",
        "if tool; then true; fi",
        "tool > log; (cat log)",
        "flock l tool",
        "f=tool; $f",
        "git -c alias.q=!tool q",
        "echo tool | sh",
        "python3 -c 'import os; os.system(\"tool\")'",
    ],
)
def test_a_program_in_a_folder_of_the_search_path(
    line: str, before: Callable[[Path], None]
) -> None:
    """`tools.exec.searchPath` may have a folder that others than the administrator write to."""
    assert tried(line, "bin/tool", before) == (False, True)


@pytest.mark.parametrize("before", [program, data, nothing])
@rows(
    "line",
    [
        "a=./xy; ${a%y}",
        "a=yx; ./${a#y}",
        "for f in x.c; do ./${f%.c}; done",
        "for f in x.c; do sh ${f%%.*}; done",
        "for f in a/x; do sh ${f##*/}; done",
        "f=$(basename d/x); ./$f",
        "./$(basename d/x)",
        "sh $(basename d/x.sh .sh)",
        "./$(dirname x/y)",
        "sh `dirname x/y`",
        "bash -c 'a=X; ./${a,,}'",
        "bash -c 'a=.x; ./${a:1}'",
        "bash -c 'a=.x.; sh ${a:1:1}'",
        "bash -c 'a=z; ./${a/z/x}'",
        "bash -c './${0,,}' X",
        "sh -c './${1%.c}' s x.c",
        "echo x.c | while read f; do ./${f%.c}; done",
        "mkdir -p b/c; (cd b/c; ../../x)",
        "mkdir -p b/c; (cd b/c; sh ../../x)",
        "mkdir -p b/c/e; (cd b/c/e; cat ../../../x | sh)",
        "git worktree add b/w && cd b/w && ../../x",
    ],
)
def test_a_name_that_a_shell_makes_of_another(line: str, before: Callable[[Path], None]) -> None:
    """It cuts off what is written in the line, or starts from a folder that the line makes."""
    assert tried(line, "work/x", before) == (False, True)


@pytest.mark.parametrize("before", [program, data, nothing])
@rows(
    "line, at",
    [
        ("git q", "bin/git-q"),
        ("(git q)", "bin/git-q"),
        ("nice git q", "bin/git-q"),
        ("git --no-pager q a", "bin/git-q"),
        ("git -C d q", "bin/git-q"),
        ("git -c alias.w=q w", "bin/git-q"),
        ("kubectl q a", "bin/kubectl-q"),
        ("(cargo q)", "bin/cargo-q"),
        ("GIT_EXEC_PATH=d git q", "work/d/git-q"),
        ("env GIT_EXEC_PATH=d git q", "work/d/git-q"),
        ("env PATH=d:/usr/bin git q", "work/d/git-q"),
        ("git --exec-path=d q", "work/d/git-q"),
        ("git --exec-path=$PWD/d q", "work/d/git-q"),
        ("git bisect run sh x", "work/x"),
    ],
)
def test_a_program_with_the_name_of_another_in_front(
    line: str, at: str, before: Callable[[Path], None]
) -> None:
    """Some programs start `NAME-WORD` for a word that they do not know."""
    with TemporaryDirectory() as place:
        script(Path(place) / "kubectl", GOOD)
        search = ("/usr/bin", "/bin", place) if "kubectl" in line else ("/usr/bin", "/bin")
        assert tried(line, at, before, search) == (False, True)


@pytest.mark.parametrize("before", [program, data, nothing])
@rows(
    "line",
    [
        "git -c alias.q='!./x' q",
        "git -c alias.q='!sh x' q",
        "nice git -c alias.q='!./x' q",
        "git -c alias.q='!. ./x;:' q",
        "git -c alias.q='!cat x | sh' q",
        "(git -c alias.q='!./x' q)",
    ],
)
def test_an_alias_starts_in_the_folder_of_the_work_tree(
    line: str, before: Callable[[Path], None]
) -> None:
    """Git changes to it, wherever it was called."""
    with TemporaryDirectory() as place:
        tree = Path(place)
        (tree / ".git").mkdir()
        (tree / "d/e").mkdir(parents=True)
        before(tree / "x")
        plan = planned(request(line, cwd=tree / "d/e"))
        unchanged = drifts(plan)
        script(tree / "x", EVIL)

        assert (unchanged, drifts(plan)) == (False, True)


def test_a_program_that_is_put_before_the_systems(tmp_path: Path) -> None:
    """The folder is searched first, so another `true` there is what runs."""
    planner = Planner((str(tmp_path), "/usr/bin", "/bin"))
    plan = planned(request("time true", cwd=tmp_path), planner)
    script(tmp_path / "true", EVIL)

    with pytest.raises(PlanDrift, match="was no program when"), verify(plan):
        pass


@rows(
    "line",
    [
        "cat notes | grep x",
        "nice cat notes",
        "timeout 5 sort notes > out",
        "(cat notes; ls) > log",
        "time wc -l notes",
        "bash -c 'cd ~/work && cat notes'",
        'echo "$(date)/notes"',
        "find . -name notes -exec cat {} \\;",
        "ls | xargs -n1 wc notes",
        "python3 -c 'print(open(\"notes\").read())'",
        "for f in notes.txt; do wc -l ${f%.txt}; done",
        "echo $(basename a/notes)",
        "mkdir -p a/b; (cd a/b; cat ../../notes)",
        "git add notes",
        "git commit -m 'sh notes'",
    ],
)
def test_data_may_appear_and_change(line: str) -> None:
    """It is not started, so nothing has to be asked again."""
    with TemporaryDirectory() as place:
        work = Path(place) / "work"
        work.mkdir()
        plan = planned(request(line, cwd=work), Planner(base_env={"HOME": place}))
        data(work / "notes")
        assert not drifts(plan)
        (work / "out").write_text("more\n")
        assert not drifts(plan)


def test_what_a_request_sets_leads_to_no_drift(tmp_path: Path) -> None:
    """Its children search another path and have another home than the planner: nothing is new."""
    program(tmp_path / "x")
    changes = (("HOME", str(tmp_path)), ("PATH", f"{tmp_path}:/usr/bin:/bin"))
    for line in ("time ~/x", "time x", "./x", "nice ./x", "ls | cat", "sh -c ./x"):
        with verify(planned(request(line, cwd=tmp_path, env=changes))):
            pass


@pytest.mark.parametrize(
    ("line", "made", "found"),
    [
        ("PATH=$PWD/own:$PATH; eval tool", "own/tool", True),
        ("PATH=$PWD/own:$PATH; eval tool", "other/tool", False),
        ("PATH=$PWD/own:$PATH; eval tool", "own/another", False),
        ("eval ./tool", "tool", True),
        ("eval ./tool", "other/tool", False),
    ],
)
def test_a_program_that_was_made_later_is_found(
    tmp_path: Path, line: str, made: str, *, found: bool
) -> None:
    """By its path, or by its name in a folder that the line adds to PATH."""
    plan = planned(request(line, cwd=tmp_path))
    assert became_program(plan) == ""

    (tmp_path / made).parent.mkdir(exist_ok=True)
    program = script(tmp_path / made, GOOD)
    why = became_program(plan)
    assert why.startswith(f"`{program}` was no program") if found else not why


def test_what_names_too_much_by_now_is_drift(tmp_path: Path) -> None:
    """What was bound is not all of it."""
    names = [f"{one}.sh" for one in range(1_030)]
    plan = planned(request(f"(ls {' '.join(names)})", cwd=tmp_path))
    assert not drifts(plan)

    for name in names:
        (tmp_path / name).touch()
    assert "files that may be code by now" in became_program(plan)
    assert drifts(plan)


def test_a_reading_that_names_too_much_is_denied(tmp_path: Path) -> None:
    """Otherwise an agent could add as many folders as leave nothing of it bound."""
    folders = [f"d{one}" for one in range(255)]
    for name in (*folders, "home", "x"):
        (tmp_path / name).mkdir()
    line = f"(ls {' '.join(folders)}; ls ~ ; ${{PWD}}/x/run)"
    planner = Planner(("/usr/bin", "/bin"), {"HOME": str(tmp_path / "home")})
    (command,) = planned(request(line, cwd=tmp_path), planner).commands

    assert "more than 256 folders" in command.problem
