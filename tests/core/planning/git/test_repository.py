"""Find what a repository's configuration would make git start before git finds it."""

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from core.errors import PlanDrift
from core.planning.digest import bind
from core.planning.git.repository import steering
from core.planning.planner import Planner
from core.programs.profiles.tables import section, table
from core.runner.runner import Runner
from tests.support.git_repositories import git, repository, with_hooks
from tests.support.runs import Start, drifts, new_run, planned, request, run, script

Plant = Callable[[Path, str], Path]
"""Puts a program's path into a repository's configuration; returns where to run git."""


def setting(key: str) -> Plant:
    """Return what sets one key."""

    def plant(place: Path, program: str) -> Path:
        git(repository(place), "config", key, program)
        return place

    return plant


def included(place: Path, program: str) -> Path:
    """Set it in a file that the configuration includes."""
    git(repository(place), "config", "--file", ".git/more", "filter.x.clean", program)
    git(place, "config", "include.path", "more")
    return place


def worktree_config(place: Path, program: str) -> Path:
    """Set it for this work tree alone."""
    git(repository(place), "config", "extensions.worktreeConfig", "true")
    git(place, "config", "--worktree", "filter.x.clean", program)
    return place


def linked(place: Path, program: str) -> Path:
    """Set it in the repository of another work tree."""
    git(repository(place / "first"), "worktree", "add", "-q", "../second")
    git(place / "first", "config", "filter.x.clean", program)
    (place / "second/a").write_text("two\n")
    return place / "second"


def shared(place: Path, program: str) -> Path:
    """Set it in a folder that the repository, which has no settings, names as the common one."""
    setting("filter.x.clean")(place / "first", program)
    own = repository(place / "second") / ".git"
    (own / "config").unlink()
    (own / "commondir").write_text(f"{place}/first/.git\n")
    return place / "second"


def below(place: Path, program: str) -> Path:
    """Set it two folders further up."""
    setting("filter.x.clean")(place, program)
    (place / "b/c").mkdir(parents=True)
    return place / "b/c"


def by_file(place: Path, program: str) -> Path:
    """Keep the repository elsewhere, named by a file."""
    setting("filter.x.clean")(place / "files", program)
    (place / "files/.git").rename(place / "elsewhere")
    (place / "files/.git").write_text(f"gitdir: {place}/elsewhere\n")
    return place / "files"


def submodule(place: Path, program: str) -> Path:
    """Set it in a repository that the index calls a submodule."""
    setting("filter.x.clean")(repository(place) / "sub", program)
    git(place, "add", "sub")
    return place


def deeper(place: Path, program: str) -> Path:
    """Set it in a submodule's submodule."""
    submodule(repository(place) / "outer", program)
    git(place / "outer", "commit", "-qm", "with its own")
    git(place, "add", "outer")
    return place


def split(place: Path, program: str) -> Path:
    """Keep the submodule's entry in the shared part of a split index."""
    submodule(place, program)
    git(place, "update-index", "--split-index")
    return place


def elsewhere(place: Path, program: str) -> Path:
    """Look at another folder's files, whose attributes were not here."""
    setting("filter.x.clean")(place / "other", program)
    git(place / "other", "config", "core.worktree", str(place / "other"))
    return place / "other"


def outsider(place: Path, program: str) -> Path:
    """Make a folder look like a bare repository; git takes it for one and obeys it."""
    setting("diff.external")(place / "made", program)
    git(place / "made", "commit", "-qam", "second")
    (place / "made/.git").rename(place / "plain")
    return place / "plain"


PLANTED: dict[str, tuple[Plant, str]] = {
    "a filter": (setting("filter.x.clean"), "git status --short"),
    "a filter process": (setting("filter.x.process"), "git diff"),
    "a text conversion": (setting("diff.x.textconv"), "git diff"),
    "a text conversion of blame": (setting("diff.x.textconv"), "git blame a"),
    "a driver": (setting("diff.x.command"), "git diff"),
    "an external diff": (setting("diff.external"), "git diff HEAD"),
    "an included file": (included, "git diff"),
    "a work tree's own": (worktree_config, "git diff"),
    "a linked work tree": (linked, "git diff"),
    "a common folder": (shared, "git diff"),
    "a folder further up": (below, "git diff ../../a"),
    "a repository elsewhere": (by_file, "git diff"),
    "a submodule": (submodule, "git status --short"),
    "a submodule's submodule": (deeper, "git status --short"),
    "a submodule in a split index": (split, "git diff"),
    "a wrapper around git": (setting("filter.x.clean"), "timeout 9 git diff"),
    "another folder's files": (elsewhere, "git diff"),
    "a bare repository": (outsider, "git show --ext-diff HEAD"),
}


@pytest.mark.parametrize(("plant", "line"), PLANTED.values(), ids=PLANTED)
async def test_what_git_would_start_is_seen(
    plant: Plant, line: str, runner: Runner, tmp_path: Path
) -> None:
    """Each program that a repository can name is really run by git, and reported before."""
    witness = tmp_path / "ran"
    program = script(tmp_path / "program", f"#!/bin/sh\ntouch {witness}\n")
    place = plant(tmp_path / "place", str(program))

    plan = planned(request(line, cwd=place))
    witness.unlink(missing_ok=True)
    await runner.run(new_run(), plan, Start())

    assert witness.exists(), "or it proves nothing"
    assert [one.steered != "" for one in plan.commands[0].effective] == [True]


@pytest.mark.parametrize(
    "line", ["git -C {} diff", "git --git-dir={}/.git diff", "git -C . -C {} log"]
)
def test_a_repository_that_the_line_names_is_seen(line: str, tmp_path: Path) -> None:
    """An entry or a rule may let these options pass; strict profiles ask about them anyway."""
    setting("diff.external")(tmp_path / "place/there", "/bin/echo")

    for folder in ("there", str(tmp_path / "place/there"), "../place/there"):
        plan = planned(request(line.format(folder), cwd=tmp_path / "place"))
        assert "diff.external" in plan.commands[0].steered


def plain(place: Path) -> Path:
    """Make a repository as git makes it."""
    return repository(place)


def cloned(place: Path) -> Path:
    """Clone one, and create a branch."""
    repository(place / "origin")
    git(place, "clone", "-q", "origin", "copy")
    git(place / "copy", "checkout", "-q", "-b", "mine", "--track", "origin/HEAD")
    return place / "copy"


def with_submodule(place: Path) -> Path:
    """Add a submodule as people do."""
    repository(place / "library")
    git(repository(place / "main"), "submodule", "--quiet", "add", str(place / "library"), "lib")
    return place / "main"


def in_submodule(place: Path) -> Path:
    """Run in a submodule."""
    return with_submodule(place) / "lib"


def in_linked_tree(place: Path) -> Path:
    """Run in a linked work tree."""
    git(repository(place / "first"), "worktree", "add", "-q", "../second")
    return place / "second"


def nowhere(place: Path) -> Path:
    """Run in no repository."""
    place.mkdir()
    return place


@pytest.mark.parametrize(
    "make", [plain, cloned, with_submodule, in_submodule, in_linked_tree, with_hooks, nowhere]
)
def test_everyday_repositories_steer_nothing(make: Callable[[Path], Path], tmp_path: Path) -> None:
    """What git and its users write into a configuration makes nothing ask."""
    place = make(tmp_path / "place")

    assert [planned(request("git status", cwd=place)).commands[0].steered] == [""]


HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit"),
    *("prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "pre-push"),
    *("post-merge", "pre-receive", "update", "proc-receive", "post-receive", "post-update"),
    *("reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite"),
    *("sendemail-validate", "fsmonitor-watchman", "post-index-change"),
)


@pytest.mark.parametrize("neutral", [True, False])
async def test_reading_runs_no_hooks(*, neutral: bool, runner: Runner, tmp_path: Path) -> None:
    """What the profile lets pass runs none; without its environment at most the one looked for."""
    place = repository(tmp_path / "place")
    for hook in HOOKS:
        script(place / f".git/hooks/{hook}", f"#!/bin/sh\ntouch {tmp_path}/ran-{hook}\n")
    accepted: Any = section(table("carriers/vcs"), "git")["accept"]
    for number, words in enumerate((*accepted, "diff")):
        vector = ("git", *(words.split() if isinstance(words, str) else words))
        os.utime(place / ".gitattributes", (number, number))
        plan = planned(request(argv=vector, cwd=place))
        if not neutral:
            bare = replace(plan.commands[0], neutral=())
            bare = replace(bare, steered=steering(bare, str(place)))
            plan = bind(replace(plan, commands=(bare,)))
        await runner.run(new_run(), plan, Start())

    ran = {path.name for path in tmp_path.glob("ran-*")}
    assert ran == (set() if neutral else {"ran-post-index-change"})


@pytest.mark.parametrize("where", ["own", "/", "~"])
def test_a_writers_hook_in_another_folder_is_seen(where: str, tmp_path: Path) -> None:
    """core.hooksPath is followed: below the work tree, from the root, from home."""
    place = with_hooks(tmp_path / "place")
    hooks = {"own": place / ".husky/_", "/": tmp_path / "hooks", "~": Path("~").expanduser() / "h"}
    value = {"own": ".husky/_", "/": str(tmp_path / "hooks"), "~": "~/h"}[where]
    git(place, "config", "core.hooksPath", value)
    before = planned(request("git add a", cwd=place)).commands[0].steered
    hooks[where].mkdir(parents=True)
    script(hooks[where] / "post-index-change", "#!/bin/sh\n")
    found = planned(request("git add a", cwd=place)).commands[0].steered
    shutil.rmtree(hooks[where])

    assert (before, found.startswith("it runs the hook")) == ("", True)


async def test_a_setting_that_comes_later_stops_the_run(runner: Runner, tmp_path: Path) -> None:
    """What is planted between the question and the run is noticed; the same again is not."""
    place = repository(tmp_path / "place")
    early, late = (planned(request("git diff", cwd=place)) for _ in range(2))
    await runner.run(new_run(), early, Start())
    git(place, "config", "diff.external", "/bin/echo")

    with pytest.raises(PlanDrift, match=r"`git` would do something other .*diff\.external"):
        await runner.run(new_run(), late, Start())
    steered = await run(runner, request("git diff", cwd=place))
    assert (steered.exit_code, steered.output.text.split()[0]) == (0, "a")


def test_other_programs_are_not_concerned(tmp_path: Path) -> None:
    """Only what reads a repository is steered by it; a plan's digest holds the difference."""
    place = setting("diff.external")(tmp_path / "place", "/bin/echo")
    planner = Planner()
    steered = planned(request("git diff", cwd=place), planner)
    git(place, "config", "--unset", "diff.external")

    assert planned(request("ls", cwd=place)).commands[0].steered == ""
    assert planned(request("git diff", cwd=place), planner).digest != steered.digest


@pytest.mark.parametrize(
    "content",
    [b"[core]\n\tbare = false\\\n", b"[a\n", b"[core]\n\tx\0 = 1\n", b"x" * 300_000],
    ids=["continued", "cut off", "control", "large"],
)
def test_what_is_not_understood_is_told(content: bytes, tmp_path: Path) -> None:
    """A configuration that cannot be read may say anything."""
    place = repository(tmp_path / "place")
    (place / ".git/config").write_bytes(content)

    assert str(place / ".git/config") in planned(request("git diff", cwd=place)).commands[0].steered


def test_an_index_that_is_not_understood_is_told(tmp_path: Path) -> None:
    """Submodules in a packed index cannot be named; without any it is not read."""
    place = submodule(tmp_path / "place", "true")
    git(place / "sub", "config", "--unset", "filter.x.clean")
    before = planned(request("git diff", cwd=place)).commands[0].steered
    git(place, "update-index", "--index-version", "4")

    assert before == ""
    assert "lists submodules" in planned(request("git diff", cwd=place)).commands[0].steered
    git(place, "rm", "-qf", "--cached", "sub")
    assert planned(request("git diff", cwd=place)).commands[0].steered == ""


@pytest.mark.parametrize(
    "written",
    [
        *("gitdir: own ", "gitdir:  own", "gitdir: own\t", "gitdir: own\n\n", "gitdir: own\0"),
        *("gitdir: own\u00a0", "gitdir: own\u2003", "gitdir: own\nb", "gitdir:own", "own", ""),
        *("gitdir: own\r\n", "gitdir: own\x1b[0m", "gitdir: own\ufeff", "\ufeffgitdir: own"),
    ],
)
def test_a_link_that_git_does_not_write_asks(written: str, tmp_path: Path) -> None:
    """Git reads it in its own ways: no other reader can be sure of the same."""
    place = repository(tmp_path / "place")
    (place / ".git").rename(place / "own")
    (place / ".git").write_bytes(b"gitdir: own\n")
    before = planned(request("git status", cwd=place)).commands[0].steered
    (place / ".git").write_bytes(written.encode())

    assert before == ""
    assert f"{place}/.git" in planned(request("git status", cwd=place)).commands[0].steered


def test_a_link_to_a_repository_is_followed_where_all_follow_it_alike(tmp_path: Path) -> None:
    """What is in each process's own folder is another repository for git than for the planner."""
    place = repository(tmp_path / "place")
    (place / ".git").rename(place / "own")
    (place / ".git").symlink_to("own")
    plain = planned(request("git status", cwd=place)).commands[0].steered
    (place / ".git").unlink()
    (place / ".git").symlink_to("/proc/self/cwd/own")
    found = planned(request("git status", cwd=place)).commands[0].steered

    assert plain == ""
    assert f"`{place}/.git` leads each process to a file of its own" in found


def test_all_of_it_is_named_with_file_and_line(tmp_path: Path) -> None:
    """What must be asked is asked in full, so that nothing can be added later."""
    place = repository(tmp_path / "place")
    (place / ".git/config").write_text('[diff]\n\texternal = x\n[filter "x"]\n\n\tclean = y\n')
    script(place / ".git/hooks/post-index-change", "#!/bin/sh\n")
    digest = sha256(b"#!/bin/sh\n").hexdigest()

    assert planned(request("git diff", cwd=place)).commands[0].steered == (
        f"line 2 of `{place}/.git/config` sets `diff.external = x`; "
        f"line 5 of `{place}/.git/config` sets `filter.x.clean = y`; "
        f"it runs the hook `{place}/.git/hooks/post-index-change` (SHA-256 {digest})"
    )


def _many(count: int) -> tuple[tuple[str, str], ...]:
    return tuple((f"filter.f{number}.clean", "x") for number in range(count))


@pytest.mark.parametrize(
    ("line", "at", "settings"),
    [
        ("git commit -am x", ".git/hooks/pre-commit", ()),
        ("nice git commit -am x", ".git/hooks/post-commit", ()),
        ("git push . HEAD:b", ".git/hooks/pre-push", ()),
        ("git commit -am x", "own/pre-commit", (("core.hooksPath", "own"),)),
        ("git -c core.hooksPath=own commit -am x", "own/pre-commit", ()),
        ("git -c a.b=c -c Core.HooksPath=./own commit -am x", "own/commit-msg", ()),
        ("git -c core.hooksPath=c -c core.hooksPath=own commit -am x", "own/pre-commit", ()),
        ("git add a", "own", (("filter.x.clean", "./own"),)),
        ("git add a", "own", (("filter.x.clean", "sh own %f"),)),
        ("git diff", "own", (("diff.external", "sh -c '. ./own'"),)),
        ("git diff", "own", (("diff.x.textconv", "./own"),)),
        ("git q", "own", (("alias.q", "!./own"),)),
        ("git q", "own", (("alias.q", f"!: {'word ' * 20}; ./own"),)),
        ("git commit -am x", ".git/hooks/pre-commit", _many(20)),
        ("git commit -am x", ".git/hooks/pre-commit", _many(70)),
        ("git config core.hooksPath own && git commit -am x", "own/pre-commit", ()),
        ("git init --template=own && git commit -am x", "own/hooks/pre-commit", ()),
        ("git init --template own && git commit -am x", "own/hooks/pre-commit", ()),
        ("git -c init.templateDir=own init && git commit -am x", "own/hooks/pre-commit", ()),
        ("git clone --config=core.hooksPath=$PWD/own . c", "own/post-checkout", ()),
    ],
)
@pytest.mark.parametrize("mode", [0o755, 0o644])
def test_what_git_would_start_may_not_change(
    line: str, at: str, settings: tuple[tuple[str, str], ...], mode: int, tmp_path: Path
) -> None:
    """A hook that was there, or a program that a setting names, was seen with its content."""
    place = repository(tmp_path / "place")
    for name, value in settings:
        git(place, "config", name, value)
    (place / at).parent.mkdir(parents=True, exist_ok=True)
    script(place / at, "#!/bin/sh\n").chmod(mode)
    plan = planned(request(line, cwd=place))
    unchanged = drifts(plan)
    script(place / at, "#!/bin/sh\ntrue\n")

    assert (unchanged, drifts(plan)) == (False, True)


def test_the_end_of_a_long_value_may_not_change(tmp_path: Path) -> None:
    """It is not shown, and would be started."""
    place = repository(tmp_path / "place")
    git(place, "config", "alias.q", f"!: {'a' * 300}; true")
    plan = planned(request("git q", cwd=place))
    unchanged = drifts(plan)
    git(place, "config", "alias.q", f"!: {'a' * 300}; evil")

    assert (unchanged, drifts(plan)) == (False, True)


@pytest.mark.parametrize(
    ("url", "asks"),
    [
        ("https://github.com/a/b.git", False),
        ("git@gitlab.com:a/b.git", False),
        ("https://evil.example/a/b", True),
        ("git@git.corp.example:a/b", True),
        ("/srv/git/a", True),
        ("ext::sh -c x", True),
    ],
)
def test_fetching_asks_about_addresses_that_are_not_public(
    url: str, asks: bool, tmp_path: Path
) -> None:
    """The author of the configuration chooses the target; other subcommands do not go there."""
    place = repository(tmp_path / "place")
    git(place, "remote", "add", "origin", url)

    found = [planned(request(f"git {one}", cwd=place)) for one in ("fetch origin", "status")]
    assert [bool(one.commands[0].steered) for one in found] == [asks, False]


def test_a_host_of_the_users_own_configuration_is_fetched_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``sayso.host`` in ~/.gitconfig names additional ones; in the repository it says nothing."""
    monkeypatch.setenv("HOME", str(tmp_path))
    place = repository(tmp_path / "place")
    git(place, "remote", "add", "origin", "git@git.corp.example:a/b")
    git(place, "config", "sayso.host", "git.corp.example")
    before = planned(request("git fetch", cwd=place)).commands[0].steered
    (tmp_path / ".gitconfig").write_text("[sayso]\n\thost = git.corp.example\n")

    assert "remote.origin.url" in before
    assert planned(request("git fetch", cwd=place)).commands[0].steered == ""


@pytest.mark.parametrize(
    "line",
    [
        *("git apply x.patch", "git cherry -v main", "git config user.name Ana"),
        *("git bisect start", "git worktree remove x", "git remote rename a b"),
        *("git notes add -m x", "git range-diff a b", "git am x.patch", "git gc", "git fsck x"),
        "git interpret-trailers a",
    ],
)
def test_what_stays_in_the_repository_names_no_remote(line: str, tmp_path: Path) -> None:
    """What it names is a file, a commit or a setting; where remotes lead does not matter to it."""
    place = repository(tmp_path / "place")
    git(place, "remote", "add", "origin", "https://git.example.org/a/b")

    assert planned(request(line, cwd=place)).commands[0].steered == ""


@pytest.mark.parametrize(
    "line",
    [
        *(
            "git submodule update",
            "git archive HEAD",
            "git init d",
            "git lfs fetch",
            "git hook run x",
        ),
        *("git format-patch HEAD", "git maintenance run", "git bundle verify b", "git help log"),
    ],
)
def test_a_word_that_can_be_no_remote_is_not_taken_for_one(line: str, tmp_path: Path) -> None:
    """The prompt said that `update` is not a remote."""
    assert planned(request(line, cwd=repository(tmp_path / "place"))).commands[0].steered == ""


@pytest.mark.parametrize("line", ["git fetch upstream", "git pull origin2 main", "git ls-remote x"])
def test_a_remote_without_an_address_is_a_path(line: str, tmp_path: Path) -> None:
    """Git would read a folder of that name."""
    place = repository(tmp_path / "place")
    git(place, "remote", "add", "origin", "https://github.com/a/b")

    assert "is not a remote" in planned(request(line, cwd=place)).commands[0].steered


def test_old_ways_to_name_a_remote_are_seen(tmp_path: Path) -> None:
    """Each file in .git/remotes and .git/branches is an address."""
    place = repository(tmp_path / "place")
    (place / ".git/branches").mkdir(exist_ok=True)
    before = planned(request("git fetch", cwd=place)).commands[0].steered
    (place / ".git/branches/origin").write_text("https://evil.example/a\n")

    assert before == ""
    assert "branches" in planned(request("git fetch", cwd=place)).commands[0].steered


def test_old_ways_in_a_common_folder_are_seen(tmp_path: Path) -> None:
    """The repository's own folder need not have such files itself."""
    place = shared(tmp_path / "place", "cat")
    shutil.rmtree(place / ".git/branches", ignore_errors=True)
    addresses = tmp_path / "place/first/.git/branches"
    addresses.mkdir(exist_ok=True)
    before = planned(request("git fetch", cwd=place)).commands[0].steered
    (addresses / "origin").write_text("https://evil.example/a\n")

    assert "branches" not in before
    assert "branches" in planned(request("git fetch", cwd=place)).commands[0].steered


def test_what_editors_and_hosts_write_asks_nobody(tmp_path: Path) -> None:
    """Settings of other programs and of other subcommands."""
    place = repository(tmp_path / "place")
    for key in ("vscode.x", "github.user", "credential.helper", "core.editor", "merge.tool"):
        git(place, "config", key, "value")
    git(place, "config", "filter.lfs.process", "git-lfs filter-process")
    git(place, "config", "filter.lfs.clean", "git-lfs clean -- %f")

    for line in ("git status", "git diff", "git log", "git branch -a", "git show HEAD"):
        assert planned(request(line, cwd=place)).commands[0].steered == "", line


@pytest.mark.parametrize("value", ["%(prefix)/x", ":(optional)x", "a\\tb", "x\u00a0", ""])
def test_a_hooks_folder_that_reads_oddly_asks_what_runs_hooks(value: str, tmp_path: Path) -> None:
    """Git takes some of it for more than a path; readings get another folder."""
    place = repository(tmp_path / "place")
    with (place / ".git/config").open("a") as config:
        config.write(f'[core]\n\thooksPath = "{value}"\n')

    found = [planned(request(f"git {one}", cwd=place)) for one in ("add a", "diff")]
    assert [bool(one.commands[0].steered) for one in found] == [True, False]


def test_an_included_file_is_read(tmp_path: Path) -> None:
    """What it says counts like the rest; one that is named oddly asks."""
    place = repository(tmp_path / "place")
    (place / ".git/more").write_text("[user]\n\tname = b\n")
    git(place, "config", "include.path", "more")
    before = planned(request("git status", cwd=place)).commands[0].steered
    git(place, "config", "include.path", "~/more")

    assert before == ""
    assert "include.path" in planned(request("git status", cwd=place)).commands[0].steered


@pytest.mark.parametrize(
    ("files", "each"), [(1, 50), (6, 6), (1, 5_000)], ids=["itself", "each other", "very often"]
)
def test_files_that_include_one_another_often_ask_at_once(
    tmp_path: Path, files: int, each: int
) -> None:
    """Ten levels of them were read 6^10 times, and the gateway answered no one in that time."""
    place = repository(tmp_path / "place")
    for file in range(files):
        lines = (f"[include]\n\tpath = more{one % files}\n" for one in range(each))
        (place / f".git/more{file}").write_text("".join(lines))
    git(place, "config", "include.path", "more0")
    begun = time.process_time()

    assert "git configurations" in planned(request("git status", cwd=place)).commands[0].steered
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("settings", ["a = b\n" * 40_000, "filemode = true\n" * 8_000])
@pytest.mark.parametrize("line", ["git status", "git fetch"])
def test_large_configurations_of_many_submodules_ask_at_once(
    tmp_path: Path, settings: str, line: str
) -> None:
    """They were read for a minute, and the gateway answered no one in that time."""
    place = repository(tmp_path / "place")
    shutil.copytree(place / ".git", tmp_path / "bare")
    for module in range(30):
        made = shutil.copytree(tmp_path / "bare", place / f".git/modules/{module}")
        (made / "config").write_text(f"# {module}\n[core]\n{settings}")
    (place / ".gitmodules").touch()
    begun = time.process_time()
    plan = planned(request(line, cwd=place))

    assert line == "git status" or "git configurations" in plan.commands[0].steered
    assert time.process_time() - begun < 1


def test_one_command_of_many_repositories_asks_at_once(tmp_path: Path) -> None:
    """Each `-C` is checked; what is read for all of them together is bounded."""
    words = []
    for number in range(40):
        place = repository(tmp_path / f"place{number}")
        (place / ".git/config").write_text(f"# {number}\n[core]\n" + "filemode = true\n" * 8_000)
        words += ["-C", f"../place{number}"]
    plan = planned(request(argv=("git", *words, "status"), cwd=tmp_path / "place0"))

    assert "more git configurations than are read" in plan.commands[0].steered


def test_some_files_that_are_included_are_read(tmp_path: Path) -> None:
    """With a few more of them it asks."""
    place = repository(tmp_path / "place")
    for file in range(64):
        (place / f".git/more{file}").touch()
    with (place / ".git/config").open("a") as config:
        config.writelines(f"[include]\n\tpath = more{file}\n" for file in range(60))
    before = planned(request("git status", cwd=place)).commands[0].steered
    with (place / ".git/config").open("a") as config:
        config.writelines(f"[include]\n\tpath = more{file}\n" for file in range(60, 64))

    assert before == ""
    assert "git configurations" in planned(request("git status", cwd=place)).commands[0].steered


def with_absorbed(place: Path) -> Path:
    """Make a repository from github.com whose submodule ``a/b`` is in its own folder."""
    main = repository(place / "main")
    git(main, "remote", "add", "origin", "https://github.com/a/b.git")
    git(repository(place / "b"), "config", "core.sshCommand", "/tmp/evil")
    (main / ".git/modules/a").mkdir(parents=True)
    (place / "b/.git").rename(main / ".git/modules/a/b")
    return main


def head_above(main: Path) -> None:
    """Have the folder above look like a repository too."""
    (main / ".git/modules/a/HEAD").write_text("x\n")


def link_to_it(main: Path) -> None:
    """Have a link lead to it."""
    (main / ".git/modules/a/b").rename(main / "away")
    (main / ".git/modules/a/b").symlink_to("../../../away")


def head_is_a_link(main: Path) -> None:
    """Make its HEAD a link to a folder."""
    (main / ".git/modules/a/b/HEAD").unlink()
    (main / ".git/modules/a/b/HEAD").symlink_to("refs")


@pytest.mark.parametrize("hide", [lambda _: None, head_above, link_to_it, head_is_a_link])
@pytest.mark.parametrize("line", ["git fetch", "git fetch origin", "git switch other"])
def test_each_repository_below_modules_is_seen(
    line: str, hide: Callable[[Path], None], tmp_path: Path
) -> None:
    """A submodule's name may have slashes; git ignores what is above it, and links."""
    main = with_absorbed(tmp_path)
    hide(main)
    if "switch" in line:  # a branch may bring a submodule that the index does not list
        for config in (main / ".git/modules").rglob("config"):
            git(config.parent, "config", "filter.evil.smudge", "/tmp/evil")
    assert planned(request(line, cwd=main)).commands[0].steered != ""


@pytest.mark.parametrize("line", ["git status", "git diff", "git add ."])
def test_a_sparse_index_hides_no_submodule(line: str, tmp_path: Path) -> None:
    """An entry that represents a folder may hold submodules, which git enters."""
    place = repository(tmp_path / "place")
    for name in ("d", "e"):
        (place / name).mkdir()
        (place / name / "f").write_text("one\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "second")
    assert planned(request(line, cwd=place)).commands[0].steered == ""
    git(place, "sparse-checkout", "set", "--cone", "--sparse-index", "e")
    assert "lists submodules" in planned(request(line, cwd=place)).commands[0].steered


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("git fetch", "remote.origin.fetch", "+refs/heads/*:refs/heads/*"),
        ("git fetch", "remote.origin.fetch", "+refs/tags/*:refs/tags/*"),
        ("git fetch", "fetch.pruneTags", "true"),
        ("git fetch", "remote.origin.pruneTags", "yes"),
        ("git commit -am x", "gc.pruneExpire", "now"),
        ("git commit -am x", "gc.reflogExpire", "1.second.ago"),
        ("git commit -am x", "gc.reflogExpireUnreachable", "all"),
    ],
)
def test_a_setting_that_throws_work_away_asks(
    line: str, key: str, value: str, tmp_path: Path
) -> None:
    """What replaces local branches and tags, or prunes commits that are still wanted."""
    place = repository(tmp_path / "place")
    git(place, "remote", "add", "origin", "https://github.com/a/b.git")
    assert planned(request(line, cwd=place)).commands[0].steered == ""
    git(place, "config", key, value)
    assert (
        f"{key.lower()} = {value}" in planned(request(line, cwd=place)).commands[0].steered.lower()
    )
