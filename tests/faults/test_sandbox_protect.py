"""Write to the sandbox's workspace what the host's own programs would obey later."""

import asyncio
import contextlib
import errno
import fcntl
import os
import shutil
import signal
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from core.errors import SpawnError
from core.hosts.sandbox.filesystem.sweep import Sweep
from core.hosts.sandbox.filesystem.workspace_check import Checks
from core.model.result import Finished
from tests.support.runs import Start, new_run
from tests.support.sandbox import PROTECTED, HomeBeside, sandbox
from tests.support.waiting import until

# Each prepares a program `evil` next to it that leaves a trace. `$T` is the workspace.
PRELUDE = """
printf '#!/bin/sh\\necho ran >> "%s/fired"\\n' "$T" > "$T/evil"; chmod +x "$T/evil"
HOOK="$T/evil"
g() { git -c user.name=a -c user.email=a@b "$@"; }
"""

AGAINST_GIT = {
    "adds a hook": 'cp "$HOOK" .git/hooks/post-checkout',
    "sets a command": 'git config core.fsmonitor "$HOOK"',
    "appends to the config": 'printf "[core]\\n\\tfsmonitor = %s\\n" "$HOOK" >> .git/config',
    "renames a config over it": """
        cp .git/config c; printf "[core]\\n\\tfsmonitor = %s\\n" "$HOOK" >> c; mv -f c .git/config
        """,
    "removes the config and makes another": """
        rm -f .git/config; printf "[core]\\n\\tfsmonitor = %s\\n" "$HOOK" > .git/config
        """,
    "moves the repository away and makes another": """
        mv .git x; cp -a x .git; cp "$HOOK" .git/hooks/post-checkout
        git config core.fsmonitor "$HOOK"
        """,
    "moves the hooks away": """
        mv .git/hooks x; mkdir .git/hooks; cp "$HOOK" .git/hooks/post-checkout
        """,
    "leads git elsewhere": """
        cp -a .git other; printf "[core]\\n\\tfsmonitor = %s\\n" "$HOOK" >> other/config
        echo ../other > .git/commondir
        """,
    "writes by a descriptor of the folder": """
        exec 9<.git; printf "[core]\\n\\tfsmonitor = %s\\n" "$HOOK" > /proc/self/fd/9/config
        """,
    "writes by a hard link": """
        ln .git/config c; printf "[core]\\n\\tfsmonitor = %s\\n" "$HOOK" >> c
        """,
    "takes the right to look away": """
        echo ../other > .git/commondir; cp -a .git other 2>/dev/null
        printf "[core]\\n\\tfsmonitor = %s\\n" "$HOOK" >> other/config; chmod 0 .git
        """,
    "writes into a nested repository": 'git -C sub config core.fsmonitor "$HOOK"',
    "moves a nested repository away": """
        mv sub old; cp -a old sub; git -C sub config core.fsmonitor "$HOOK"
        """,
    "moves the .git of a nested one away": """
        mv sub/.git x; cp -a x sub/.git; git -C sub config core.fsmonitor "$HOOK"
        """,
    "writes into a submodule's": 'git -C module config core.fsmonitor "$HOOK"',
    "adds a hook to a submodule's": 'cp "$HOOK" .git/modules/m/hooks/post-checkout',
    "makes another of a submodule's": """
        mv .git/modules old; cp -a old .git/modules; git -C module config core.fsmonitor "$HOOK"
        """,
    "makes a repository": 'git init -q made; git -C made config core.fsmonitor "$HOOK"',
    "makes one with a hook": """
        git init -q made; g -C made commit -q --allow-empty -m x
        cp "$HOOK" made/.git/hooks/post-checkout
        """,
    "makes one deep inside": """
        git init -q a/b/c; git -C a/b/c config core.fsmonitor "$HOOK"
        """,
    "makes a link to one": """
        git init -q --bare hidden; git -C hidden config core.bare false
        git -C hidden config core.fsmonitor "$HOOK"; mkdir made; ln -s ../hidden made/.git
        """,
    "makes one without a HEAD of its own": """
        git init -q --bare hidden; git -C hidden config core.bare false
        git -C hidden config core.fsmonitor "$HOOK"
        mkdir -p hidden/worktrees/w made; echo ../.. > hidden/worktrees/w/commondir
        mv hidden/HEAD hidden/worktrees/w/HEAD; echo "gitdir: ../hidden/worktrees/w" > made/.git
        """,
    "makes a worktree elsewhere lead to another": """
        cp -a .git other; printf "[core]\\n\\tfsmonitor = %s\\n" "$HOOK" >> other/config
        mkdir -p .git/worktrees/w made; echo "$PWD/other" > .git/worktrees/w/commondir
        cp .git/HEAD .git/worktrees/w; echo "gitdir: ../.git/worktrees/w" > made/.git
        """,
    "sets a command for a linked work tree": """
        printf "[core]\\n\\tfsmonitor = %s\\n" "$HOOK" > .git/worktrees/tree/config.worktree
        """,
    "moves the folder of a linked work tree away": """
        cp -a .git/worktrees/tree x; mv .git/worktrees/tree y; mv x .git/worktrees/tree
        printf "[core]\\n\\tfsmonitor = %s\\n" "$HOOK" > .git/worktrees/tree/config.worktree
        """,
    "makes a linked work tree": """
        git worktree add -q made
        printf "[core]\\n\\tfsmonitor = %s\\n" "$HOOK" > .git/worktrees/made/config.worktree
        """,
    "changes the script that a hook is a link to": 'cp "$HOOK" scripts/hook',
    "moves the folder of such a script away": """
        mv scripts old; mkdir scripts; cp "$HOOK" scripts/hook
        """,
    "replaces a link on the way to it": """
        mkdir new; cp "$HOOK" new/hook; rm way; ln -s new way
        """,
    "leads a linked work tree elsewhere": """
        cp -a .git/worktrees/tree .git/worktrees/x; echo "gitdir: ../.git/worktrees/x" > tree/.git
        printf "[core]\\n\\tfsmonitor = %s\\n" "$HOOK" > .git/worktrees/x/config.worktree
        """,
}
AGAINST_OTHERS = {
    "makes .envrc": "echo evil > .envrc",
    "moves one to .envrc": "echo evil > x; mv x .envrc",
    "makes .envrc a link": "echo evil > x; ln -s x .envrc",
    "makes .idea": "mkdir .idea; echo evil > .idea/workspace.xml",
    "makes .husky a link": "mkdir x; echo evil > x/pre-commit; ln -s x .husky",
    "changes .vscode": "echo evil > .vscode/tasks.json",
    "adds to .vscode": "echo evil > .vscode/launch.json",
    "moves .vscode away": "mv .vscode x; cp -a x .vscode; echo evil > .vscode/tasks.json",
    "changes what a link leads to": "echo evil > shared/linked.json",
    "replaces a link": "mkdir x; echo evil > x/pre-push; rm linked; ln -s x linked",
    "makes .envrc in a nested repository": "echo evil > sub/.envrc",
    "makes .envrc in a submodule": "echo evil > module/.envrc",
    "makes .envrc in a linked work tree": "echo evil > tree/.envrc",
    "makes .vscode in a linked work tree": "mkdir tree/.vscode; echo evil > tree/.vscode/x",
}
LINKED = (*PROTECTED, "linked")


def git(*words: str, cwd: Path) -> str:
    """Run git on the host, as its user would."""
    done = subprocess.run(
        ("git", "-c", "user.name=a", "-c", "user.email=a@b", *words),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"},
    )
    return done.stdout + done.stderr


def prepare(work: Path) -> None:
    """Make a repository with a nested one, an editor's settings, and a protected link."""
    for folder in (work, work / "sub"):
        git("init", "-q", str(folder), cwd=work)
        (folder / "f").write_text("x")
        git("add", "f", cwd=folder)
        git("commit", "-qm", "x", cwd=folder)
    module = work / "module"
    (work / ".git" / "modules").mkdir()
    git("init", "-q", "--separate-git-dir", str(work / ".git/modules/m"), str(module), cwd=work)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=module)
    git("config", "extensions.worktreeConfig", "true", cwd=work)
    git("worktree", "add", "-q", "tree", cwd=work)
    (work / ".vscode").mkdir()
    (work / ".vscode" / "tasks.json").write_text("{}")
    (work / "shared").mkdir()
    (work / "shared" / "linked.json").write_text("{}")
    (work / "linked").symlink_to("shared")
    (work / "scripts").mkdir()
    (work / "scripts" / "hook").write_text("#!/bin/sh\n")
    (work / "scripts" / "hook").chmod(0o755)
    (work / "way").symlink_to("scripts")
    (work / ".git" / "hooks" / "post-checkout").symlink_to("../../way/hook")


def fires(work: Path) -> bool:
    """Use git everywhere in a workspace as its owner would; return whether it ran something."""
    for folder in [work, *(one.parent for one in sorted(work.rglob(".git")))]:
        git("status", cwd=folder)
        git("checkout", "-q", "-B", "probe", cwd=folder)
    return (work / "fired").exists()


def obeyed(work: Path) -> bool:
    """Return whether a program that reads the protected places finds something written there."""
    places = [".envrc", ".idea", ".husky", ".vscode", "linked"]
    places += (f"{top}/{one}" for top in ("sub", "module", "tree") for one in (".envrc", ".vscode"))
    files = [one for place in places for one in ((work / place), *(work / place).glob("*"))]
    return any("evil" in one.read_text() for one in files if one.is_file())


async def attack(house: HomeBeside, script: str, *names: str) -> Finished:
    """Carry out an attack in the workspace."""
    words = ("/bin/sh", "-c", f"T={house.workspace}\n{PRELUDE}{script}\ntrue", *names)
    return await house.run(words)


@pytest.mark.parametrize("name", AGAINST_GIT)
async def test_git_runs_nothing_that_was_written_inside(name: str, tmp_path: Path) -> None:
    """The owner's own git runs nothing afterwards; unprotected (control) it does."""
    ran = {}
    for protect in (PROTECTED, ()):
        (folder := tmp_path / str(len(protect))).mkdir()
        async with sandbox(folder, protect=protect) as house:
            prepare(house.workspace)
            await attack(house, AGAINST_GIT[name])
            ran[protect] = fires(house.workspace)

    assert ran == {PROTECTED: False, (): True}


@pytest.mark.parametrize("name", AGAINST_OTHERS)
async def test_other_programs_find_nothing(name: str, tmp_path: Path) -> None:
    """Nothing written inside stays where editors and shells look; unprotected (control) it does."""
    found = {}
    for protect in (LINKED, ()):
        (folder := tmp_path / str(len(protect))).mkdir()
        async with sandbox(folder, protect=protect) as house:
            prepare(house.workspace)
            await attack(house, AGAINST_OTHERS[name])
            found[protect] = obeyed(house.workspace)

    assert found == {LINKED: False, (): True}


EVERYDAY = """
set -e
g() { git -c user.name=a -c user.email=a@b "$@"; }
echo y > f; g commit -qam second; g checkout -qb topic; g branch -qD master; g stash list
g tag -am t t; g gc -q; mkdir d; mv f d/f; g add -A; g commit -qm moved
git init -q fresh; cd fresh; echo x > f; g add f; g commit -qm x
echo WORKED
"""


async def test_git_works_inside(tmp_path: Path) -> None:
    """Commits, branches, tags, stashes and a new repository need nothing that is protected."""
    async with sandbox(tmp_path) as house:
        git("init", "-q", "-b", "master", ".", cwd=house.workspace)
        (house.workspace / "f").write_text("x")
        git("add", "f", cwd=house.workspace)
        git("commit", "-qm", "x", cwd=house.workspace)
        done = await house.run(("/bin/sh", "-c", EVERYDAY))
        log = git("log", "--oneline", cwd=house.workspace)
        fresh = git("log", "--oneline", cwd=house.workspace / "fresh")

    assert done.output.text.endswith("WORKED\n"), done.output.text
    assert (len(log.splitlines()), len(fresh.splitlines())) == (3, 1)
    assert done.findings == ()


async def test_a_refused_setting_is_said_clearly(tmp_path: Path) -> None:
    """`git config` fails and names the file."""
    async with sandbox(tmp_path) as house:
        prepare(house.workspace)
        done = await house.run(("/usr/bin/git", "config", "user.name", "x"))

    assert done.exit_code not in {0, None}
    assert "could not write config file .git/config" in done.output.text


async def test_what_appeared_is_moved_and_named(tmp_path: Path) -> None:
    """Nothing is lost: the result gives its new name."""
    async with sandbox(tmp_path) as house:
        done = await attack(house, "echo evil > .envrc")
        (moved,) = house.workspace.glob(".envrc*")

    assert moved.read_text() == "evil\n"
    assert done.findings == (
        f".envrc in the workspace appeared although it is protected; it is called {moved.name} now",
    )


@pytest.mark.parametrize("place", [".envrc", ".git/hooks", "nested/.git"])
async def test_a_pipe_at_a_protected_place_holds_nothing_up(place: str, tmp_path: Path) -> None:
    """Whoever may write there would otherwise stop every run in the workspace, and its end."""
    async with sandbox(tmp_path) as house:
        prepare(house.workspace)
        pipe = house.workspace / place
        if pipe.is_dir():
            shutil.rmtree(pipe)
        pipe.parent.mkdir(exist_ok=True)
        os.mkfifo(pipe)
        run = asyncio.create_task(house.run(("/bin/sh", "-c", f"rm -f {place}; echo ran")))
        in_time, _ = await asyncio.wait({run}, timeout=20)
        released = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        done = await run
        os.close(released)

    assert in_time
    assert done.output.text.endswith("Device or resource busy\nran\n"), "it is held as well"


async def test_a_file_that_somebody_leases_holds_nothing_up(tmp_path: Path) -> None:
    """The kernel would let its owner delay each open of it by 45 s (fcntl(2), "Leases")."""
    async with sandbox(tmp_path) as house:
        prepare(house.workspace)
        with (house.workspace / ".git/config").open("r+b") as leased:
            fcntl.fcntl(leased, fcntl.F_SETSIG, signal.SIGURG)  # which nobody handles
            fcntl.fcntl(leased, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            run = asyncio.create_task(house.run("echo ran"))
            in_time, _ = await asyncio.wait({run}, timeout=20)
            fcntl.fcntl(leased, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        done = await run

    assert (bool(in_time), done.output.text) == (True, "ran\n")


async def test_what_git_did_not_take_for_a_repository_before(tmp_path: Path) -> None:
    """What one run prepares becomes a repository in the next one: it is checked then."""
    async with sandbox(tmp_path) as house:
        prepare(house.workspace)
        first = (
            'git init -q m; git -C m config core.fsmonitor "$HOOK"; mv m/.git/HEAD m/.git/refs .'
        )
        await attack(house, first)
        await attack(house, "mv HEAD refs m/.git")
        ran = fires(house.workspace)

    assert not ran


async def test_more_repositories_than_are_held(tmp_path: Path) -> None:
    """However many and however deep: few descriptors, the older ones kept, the rest reported."""
    deep = "p=$PWD; for i in $(seq 60); do mkdir d && cd d; done; git init -q .; cd $p"
    many = "for i in $(seq 60); do git init -q --template= a$i; done"
    evil = "git config -f a60/.git/config a.b c"
    async with sandbox(tmp_path) as house:
        prepare(house.workspace)
        first = await attack(house, f"{deep}; {many}; {evil}")
        opened = len(list(Path("/proc/self/fd").iterdir()))
        second = await attack(house, "git config -f a59/.git/config core.fsmonitor x")
        third = await attack(house, 'git -C sub config core.fsmonitor "$HOOK"')
        ran = fires(house.workspace)

    assert any(one.startswith("a60/.git/config in the workspace app") for one in first.findings)
    assert any("a59/.git/config in the workspace was replaced" in one for one in second.findings)
    assert "could not write config file" in third.output.text
    assert (ran, opened < 200) == (False, True)


async def test_a_workspace_that_cannot_be_looked_at_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How the run ended is not lost: the result says what could not be done."""

    async def fails(self: Checks, sweep: Sweep) -> None:
        del self, sweep
        raise OSError(errno.EIO, "Input/output error")

    async with sandbox(tmp_path) as house:
        prepare(house.workspace)
        await house.run("id")
        monkeypatch.setattr(Checks, "walk", fails)
        done = await house.run("echo done")

    assert (done.exit_code, done.output.text) == (0, "done\n")
    assert any("cannot be checked: Input/output error" in one for one in done.findings)


async def test_runs_that_overlap_cannot_pass_it_on(tmp_path: Path) -> None:
    """What another run that continues has seen there is still new."""
    async with sandbox(tmp_path) as house:
        go, begun = house.workspace / "go", house.workspace / "begun"
        (waits := house.workspace / "waits").write_text(
            "#!/bin/sh\ntouch begun; while ! [ -e go ]; do sleep 0.01; done; echo evil > .envrc\n"
        )
        waits.chmod(0o755)
        plans = (house.plan(("/bin/sh", "./waits")), house.plan(("/bin/sh", "./waits")))
        first = asyncio.create_task(house.host.run(new_run(), plans[0], Start()))
        await until(begun.exists)
        (house.workspace / ".envrc").write_text("evil")  # as if the first had made it
        begun.unlink()
        second = asyncio.create_task(house.host.run(new_run(), plans[1], Start()))
        await until(begun.exists)
        go.touch()
        await asyncio.gather(first, second)
        left = [one.name for one in house.workspace.glob(".envrc")]

    assert left == []


@pytest.mark.parametrize("inside", [".git", ".git/hooks", ".vscode", "bare.git", "bare.git/hooks"])
async def test_no_protected_folder_is_a_workspace(inside: str, tmp_path: Path) -> None:
    """The requester names the folder: one below a protected path may not be changed."""
    tried = {}
    for protect in (PROTECTED, ()):
        (folder := tmp_path / str(len(protect))).mkdir()
        with TemporaryDirectory(dir="/srv") as project:  # in homes and /tmp no hidden folder is one
            prepare(Path(project))
            git("init", "-q", "--bare", "bare.git", cwd=Path(project))
            place = Path(project) / inside
            async with sandbox(folder, protect=protect) as house:
                with contextlib.suppress(SpawnError):
                    plan = house.plan(("/bin/sh", "-c", "touch made"), place)
                    await house.host.check(plan)
                    await house.host.run(new_run(), plan, Start())
            tried[protect] = (place / "made").exists()

    assert tried == {PROTECTED: False, (): True}


HOOK = "printf '#!/bin/sh\\necho ran >> {}\\n' > {}; chmod +x {}; true"


@pytest.mark.parametrize("inside", ["hooks", "above/hooks"])
async def test_where_a_link_further_up_leads(inside: str, tmp_path: Path) -> None:
    """`.git/hooks` may be a link to a folder of the project, which a command can be run in."""
    fired = {}
    for protect in (PROTECTED, ()):
        (folder := tmp_path / str(len(protect))).mkdir()
        with TemporaryDirectory(dir="/srv") as name:
            project = Path(name)
            git("init", "-q", ".", cwd=project)
            git("commit", "-q", "--allow-empty", "-m", "x", cwd=project)
            shutil.rmtree(project / ".git/hooks")
            (project / inside).mkdir(parents=True)
            (project / ".git/hooks").symlink_to(f"../{inside}")
            place = (project / inside).parent if "/" in inside else project / inside
            hook = (project / inside / "post-checkout").relative_to(place)
            async with sandbox(folder, protect=protect) as house:
                with contextlib.suppress(SpawnError):
                    line = HOOK.format(project / "fired", hook, hook)
                    plan = house.plan(("/bin/sh", "-c", line), place)
                    await house.host.check(plan)
                    await house.host.run(new_run(), plan, Start())
            git("checkout", "-q", "-B", "probe", cwd=project)
            fired[protect] = (project / "fired").exists()

    assert fired == {PROTECTED: False, (): True}


async def test_a_folder_that_has_become_a_git_folder(tmp_path: Path) -> None:
    """A command ran in it before; what it is now decides."""
    fired = {}
    for protect in (PROTECTED, ()):
        (folder := tmp_path / str(len(protect))).mkdir()
        with TemporaryDirectory(dir="/srv") as name:
            project = Path(name)
            hook = HOOK.format(project / "fired", "post-checkout", "post-checkout")
            steps = (
                ("mkdir -p y/hooks", project),
                ("true", project / "y/hooks"),
                ("git init -q --separate-git-dir=y made", project),
                (hook, project / "y/hooks"),
            )
            async with sandbox(folder, protect=protect) as house:
                for line, place in steps:
                    with contextlib.suppress(SpawnError):
                        await house.run(("/bin/sh", "-c", line), place)
            git("commit", "-q", "--allow-empty", "-m", "x", cwd=project / "made")
            git("checkout", "-q", "-B", "probe", cwd=project / "made")
            fired[protect] = (project / "fired").exists()

    assert fired == {PROTECTED: False, (): True}
