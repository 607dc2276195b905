"""Check how a repository made a git line run a program without asking (issue 9, holes 1 to 6).

Each is the shell transcript that showed it. ``$P`` is a program that leaves a trace, ``~/projects``
the folder that the example policy covers. Before the fix, each line ran ``$P`` without a question.
"""

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.model.decision import Decision
from tests.faults.git_oracle.oracle import Oracle, Trap, oracle_at, trap
from tests.support.runs import running

_REPOSITORY = """
git init -q . && git config user.name a && git config user.email a@b
echo 'a* diff=x filter=x' >.gitattributes; echo one >a
git add . && git commit -qm first; echo two >a
"""
_EVIL = f"""{_REPOSITORY}
git config diff.external $P
mv .git moved
"""
_LINKED = f"""{_REPOSITORY}
git worktree add -q ../linked && mv ../linked . && echo three >linked/a
cd .git/worktrees/linked && git config --file ../../config diff.external $P
cp -r ../../ "$PWD/../../../evil" && git config --file ../../config --unset diff.external
"""
BARE = f"""{_REPOSITORY}
mkdir -p vendor/x vendor/common/info
cp .git/HEAD vendor/x && echo ../common >vendor/x/commondir
cp -r .git/objects .git/refs .git/config vendor/common
echo '* diff=x' >vendor/common/info/attributes
git config --file vendor/common/config diff.x.textconv $P
"""
HOLES: dict[str, tuple[str, str]] = {
    "1: a bare-looking repository with commondir": (BARE, "cd vendor/x && git show"),
    "2: a blank behind gitdir": (
        f"{_EVIL} mv moved 'evil '; printf 'gitdir: evil ' >.git",
        "git diff",
    ),
    "2: a blank before gitdir": (
        f"{_EVIL} mv moved ' evil'; printf 'gitdir:  evil' >.git",
        "git diff",
    ),
    "2: NBSP behind gitdir": (
        f"{_EVIL} mv moved $(printf 'evil\\302\\240'); printf 'gitdir: evil\\302\\240' >.git",
        "git diff",
    ),
    "2: an em space behind gitdir": (
        f"""{_EVIL} mv moved $(printf 'evil\\342\\200\\203')
        printf 'gitdir: evil\\342\\200\\203' >.git""",
        "git diff",
    ),
    "2: a blank behind commondir": (
        f"{_LINKED} mv ../../../evil '../../evil '; printf '../../evil ' >commondir",
        "cd linked && git diff",
    ),
    "3: NUL in gitdir": (
        f"{_EVIL} mv moved evil; printf 'gitdir: evil\\0else' >.git",
        "git diff",
    ),
    "3: NUL in commondir": (
        f"{_LINKED} mv ../../../evil ../../evil; printf '../../evil\\0else' >commondir",
        "cd linked && git diff",
    ),
    "4: %(prefix) in core.hooksPath": (
        f"""{_REPOSITORY} git commit -qam second
        mkdir hooks && cp $P hooks/post-index-change
        git config core.hooksPath "%(prefix)/..$PWD/hooks"; touch -d @1 a""",
        "git diff",
    ),
    "4: a tab in core.hooksPath": (
        f"""{_REPOSITORY} git commit -qam second
        mkdir 'the hooks' && cp $P 'the hooks/post-index-change'
        printf '[core]\\n\\thooksPath = the\\thooks\\n' >>.git/config; touch -d @1 a""",
        "git diff",
    ),
    "5: a configuration that the line puts there": (
        f"{_REPOSITORY} cp .git/config evilcfg; git config --file evilcfg diff.external $P",
        "cp evilcfg .git/config && git diff",
    ),
    "5: a hook that the line puts there": (
        f"{_REPOSITORY} git commit -qam second; cp $P h; mkdir -p .git/hooks; touch -d @1 a",
        "cp h .git/hooks/post-index-change && git diff",
    ),
    "6: an include that each process reads elsewhere": (
        f"""{_REPOSITORY} git config --file evilcfg diff.external $P
        git config include.path /proc/self/cwd/evilcfg""",
        "git diff",
    ),
    "6: an include from standard input": (
        f"""{_REPOSITORY} git config --file evilcfg diff.external $P
        git config include.path /dev/stdin""",
        "cat evilcfg | git diff",
    ),
    "6: gitdir that each process reads elsewhere": (
        f"{_EVIL} mv moved evil; printf 'gitdir: /proc/self/cwd/evil' >.git",
        "git diff",
    ),
    "6: commondir that each process reads elsewhere": (
        f"{_LINKED} mv ../../../evil ../../../linked/evil; printf '/proc/self/cwd/evil' >commondir",
        "cd linked && git diff",
    ),
    "6: a link out of /proc": (
        f"""{_REPOSITORY} git config --file evilcfg diff.external $P
        ln -s /proc/self/cwd .git/here; git config include.path here/evilcfg""",
        "git diff",
    ),
    "6: hooks that each process reads elsewhere": (
        f"""{_REPOSITORY} mkdir hk && cp $P hk/pre-commit
        git config core.hooksPath /proc/self/cwd/hk""",
        "git commit -am second",
    ),
    "6: a hooks folder that is another one for each process": (
        f"""{_REPOSITORY} mkdir hk && cp $P hk/pre-commit
        rm -rf .git/hooks && ln -s /proc/self/cwd/hk .git/hooks""",
        "git commit -am second",
    ),
}


@pytest.fixture
async def oracle(tmp_path: Path) -> AsyncIterator[Oracle]:
    """Return a world with a runner."""
    async with running() as runner:
        yield oracle_at(tmp_path / "home", runner)


def made(oracle: Oracle, found: Trap, setup: str) -> Path:
    """Run a transcript up to the line in question."""
    place = oracle.home / "projects/app"
    place.mkdir(parents=True)
    environ = {"PATH": os.environ["PATH"], "HOME": str(oracle.home), "P": str(found.canary)}
    subprocess.run(["sh", "-ec", setup], cwd=place, env=environ, check=True)
    found.sprung()
    return place


def sprung_by_itself(line: str, place: Path, found: Trap) -> bool:
    """Run the line in a shell, with a changed file to look at; return whether that starts it."""
    (place / "a").touch()
    os.utime(place / "a", (2, 2))
    subprocess.run(["sh", "-c", line], cwd=place, stdout=-3, stderr=-3, check=False)
    return found.sprung()


@pytest.mark.parametrize("name", HOLES)
async def test_a_hole_is_closed(name: str, oracle: Oracle, tmp_path: Path) -> None:
    """The line needs an answer, or runs and starts nothing; git on its own does start it."""
    setup, line = HOLES[name]
    with trap(tmp_path) as found:
        place = made(oracle, found, setup)

        await oracle.allows(line, place)
        sprung = found.sprung()

        assert (sprung, sprung_by_itself(line, place, found)) == (False, True)


WRITTEN_THROUGH = {
    "git commit -am precious": ("COMMIT_EDITMSG", "logs/HEAD", "logs/refs/heads"),
    "git checkout -b other": ("logs", "refs/heads", "logs/HEAD"),
    "git stash": ("logs", "refs"),
}


@pytest.mark.parametrize(
    ("line", "name"), [(line, name) for line, names in WRITTEN_THROUGH.items() for name in names]
)
async def test_git_writes_through_no_link(
    line: str, name: str, oracle: Oracle, tmp_path: Path
) -> None:
    """A link out of the repository's own folder makes lines that write ask, and only those."""
    with trap(tmp_path) as found:
        place = made(oracle, found, f"{_REPOSITORY} git log")
        before = oracle.decided(line, place)
        link = place / ".git" / name
        outside = tmp_path / "outside"
        if link.exists():
            link.rename(outside)
        link.symlink_to(outside)

        assert (before, oracle.decided(line, place)) == (Decision.ALLOW, Decision.ASK)
        assert oracle.decided("git status", place) is Decision.ALLOW


async def test_a_pipe_is_no_configuration(oracle: Oracle, tmp_path: Path) -> None:
    """It applies to git what is written to it later."""
    with trap(tmp_path) as found:
        place = made(oracle, found, f"{_REPOSITORY} rm .git/config && mkfifo .git/config")

        assert oracle.decided("git diff", place) is Decision.ASK


@pytest.mark.parametrize("how", ["a pipe", "another one for each process"])
async def test_an_index_that_cannot_be_read_asks(how: str, oracle: Oracle, tmp_path: Path) -> None:
    """It may list submodules whose configuration counts; looking at a pipe blocks nothing."""
    change = "mkfifo .git/index" if how == "a pipe" else "ln -s /proc/self/cwd/idx .git/index"
    with trap(tmp_path) as found:
        place = made(oracle, found, f"{_REPOSITORY} mv .git/index idx && {change}")

        assert oracle.decided("git status --short", place) is Decision.ASK
