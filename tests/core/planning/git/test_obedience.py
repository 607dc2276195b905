"""Count a repository's setting for the subcommands that obey it, and for no other."""

from pathlib import Path

import pytest

from core.model.command import PinnedFile, PlannedCommand
from core.planning.git.config import Setting
from core.planning.git.obedience import (
    ALL,
    Obedience,
    is_plain_host,
    obedience_in,
    obedience_of,
    public_hosts,
    steers,
    subcommand_of,
)
from core.programs.neutral_environment import neutral_environment
from tests.support.tables import rows

GIT = PinnedFile("/usr/bin/git", "/usr/bin/git", 1, 1, 1, "")


def setting(text: str) -> Setting:
    """Return a setting written as ``section.inner.key=value``."""
    name, _, value = text.partition("=")
    section, _, rest = name.partition(".")
    inner, _, key = rest.rpartition(".")
    return Setting(section.lower(), inner or None, key.lower(), value)


def obeys(line: str, *, neutral: bool = True) -> Obedience:
    """Return what a git line obeys."""
    argv = tuple(line.split())
    environ = neutral_environment(argv, GIT) if neutral else ()
    found = obedience_of(PlannedCommand(argv, GIT, neutral=environ))
    assert found is not None
    return found


REACHING = (
    *("core.sshCommand=x", "core.editor=x", "core.askPass=x"),
    *("diff.external=x", "diff.a.textconv=x", "diff.a.command=x", "filter.a.clean=x"),
    *("filter.a.process=x", "merge.a.driver=x", "gpg.program=x", "gpg.ssh.program=x"),
    *("credential.helper=x", "protocol.ext.allow=x", "url.ext::x.insteadOf=y", "hook.a.command=x"),
    *("remote.a.uploadpack=x", "remote.a.vcs=x", "remote.a.promisor=true", "alias.frob=!x"),
    *("extensions.partialClone=a", "submodule.a.update=!x", "http.proxy=x", "core.unknown=x"),
    *(
        "core.gitProxy=x",
        "core.alternateRefsCommand=x",
        "trailer.a.command=x",
        "diff.submodule=diff",
    ),
    *("log.showSignature=true", "status.x.y=x", "sequence.editor=x", "interactive.diffFilter=x"),
    *("branch.a.remote=ext::sh -c x", "gc.recentObjectsHook=x", "lfs.extension.a.clean=x"),
    *("format.pretty=%h %G?", "pretty.a=%(signature)", "mergetool.a.cmd=x", "init.templateDir=x"),
)
HARMLESS = (
    *("core.bare=false", "core.autocrlf=input", "core.pager=x", "pager.log=x", "core.fsmonitor=/x"),
    *(
        "remote.a.fetch=+refs/heads/*:refs/remotes/a/*",
        "branch.a.merge=x",
        "branch.a.vscode-merge-base=x",
    ),
    *("user.email=a@b", "alias.st=!x", "submodule.a.update=rebase", "submodule.a.url=x"),
    *("color.diff.old=red", "lfs.https://x/.access=basic", "diff.renames=true", "pull.rebase=true"),
    *("vscode.x=y", "github.user=z", "annex.uuid=1", "no.such=x", "merge.ours.driver=true"),
    *("branch.a.remote=origin", "format.pretty=%h %s", "diff.submodule=log", "safe.directory=*"),
)


@rows("text", [*REACHING, *HARMLESS])
def test_an_unlisted_subcommand_obeys_whatever_reaches_out(text: str) -> None:
    """A program, another file or another host counts, and what is unknown; the rest is harmless."""
    where = obeys("git frob")

    assert steers(setting(text), where) is (text in REACHING)


@rows(
    "text",
    [
        *("core.editor=x", "core.pager=less", "credential.helper=store", "merge.tool=meld"),
        *("diff.tool=meld", "difftool.meld.cmd=x", "alias.st=!x", "remote.a.url=ext::sh -c x"),
        *("http.proxy=x", "gpg.program=x", "core.sshCommand=ssh -i k", "url.a.insteadOf=b"),
        *("vscode.a=b", "github.user=a", "remote.a.promisor=true", "commit.gpgSign=true"),
        *("core.fsmonitor=/x", "log.showSignature=true", "format.pretty=%G?", "gpg.format=ssh"),
    ],
)
def test_status_obeys_few_settings(text: str) -> None:
    """What other subcommands obey, and what is switched off, makes no `git status` ask."""
    assert not steers(setting(text), obeys("git status"))
    assert not steers(setting(text), obeys("git rev-parse HEAD"))


@rows(
    "line, text",
    [
        ("git status", "filter.a.clean=x"),
        ("git diff", "diff.external=x"),
        ("git log -p", "diff.a.textconv=x"),
        ("git log", "merge.a.driver=x"),
        ("git show HEAD", "remote.a.promisor=true"),
        ("git add a", "remote.a.promisor=true"),
        ("git commit -m x", "extensions.partialClone=a"),
        ("go build ./...", "remote.a.promisor=true"),
        ("git add .", "filter.a.clean=x"),
        ("git commit -m x", "gpg.program=x"),
        ("git commit -m x", "core.editor=x"),
        ("git switch main", "filter.a.smudge=x"),
        ("git stash", "merge.a.driver=x"),
        ("git fetch", "core.sshCommand=x"),
        ("git fetch", "url.x.insteadOf=y"),
        ("git pull --rebase", "remote.a.uploadpack=x"),
        ("git fetch", "branch.a.remote=ext::sh"),
        ("git status", "core.unheardOf=x"),
        ("git status", "hook.a.command=x"),
    ],
)
def test_a_setting_counts_where_it_is_obeyed(line: str, text: str) -> None:
    """One of each power."""
    assert steers(setting(text), obeys(line))


def test_what_is_switched_off_counts_where_it_is_not() -> None:
    """In submodules only variables apply; without the environment nothing does."""
    signing = setting("gpg.program=x")
    ssh = setting("core.fsmonitor=/x")

    assert not steers(signing, obeys("git log"))
    assert steers(signing, obeys("git log", neutral=False))
    assert not steers(ssh, obeys("git status"))
    assert steers(ssh, obeys("git status").below())


def test_reading_forms_and_others_obey_differently() -> None:
    """What the profile does not know may do whatever its subcommand can."""
    textconv, editor = setting("diff.a.textconv=x"), setting("core.editor=x")

    assert not steers(editor, obeys("git branch -a"))
    assert steers(editor, obeys("git branch --edit-description"))
    assert steers(textconv, obeys("git remote update"))
    assert "post-checkout" in obeys("git worktree add ../x").hooks
    assert steers(setting("filter.a.clean=x"), obeys("git apply x.patch"))
    assert "applypatch-msg" in obeys("git apply x.patch").hooks


@pytest.mark.parametrize(
    ("value", "counts"),
    [
        ("git-lfs clean -- %f", False),
        ("git-lfs clean -- %f; x", True),
        ("./git-lfs clean -- %f", True),
    ],
)
def test_only_git_lfs_itself_passes_as_a_filter(value: str, *, counts: bool) -> None:
    """Its exact words, and for what does not write files."""
    assert steers(setting(f"filter.lfs.clean={value}"), obeys("git status")) is counts
    assert steers(setting(f"filter.lfs.clean={value}"), obeys("git switch main"))


@pytest.mark.parametrize(
    ("line", "subcommand", "operands"),
    [
        ("git status", "status", ()),
        ("git -C x stash list", "stash list", ()),
        ("git -c a.b=c --no-pager log -p HEAD", "log", ("HEAD",)),
        ("git --git-dir=x fetch -q origin", "fetch", ("origin",)),
        ("git stash", "stash", ()),
        ("git --exec-path x y", "y", ()),
        ("git", "", ()),
    ],
)
def test_the_subcommand_is_found(line: str, subcommand: str, operands: tuple[str, ...]) -> None:
    """After git's own options and their values."""
    assert subcommand_of(tuple(line.split())) == (subcommand, operands)


@rows(
    "value, plain",
    [
        ("https://github.com/a/b.git", True),
        ("git@github.com:a/b.git", True),
        ("ssh://git@gitlab.com:22/a/b", True),
        ("https://user:token@GitHub.com/a/b", True),
        ("https://github.com.evil.example/a/b", False),
        ("https://evil.example/github.com/b", False),
        ("https://github.com@evil.example/a", False),
        ("https://evil.example#@github.com/a", False),
        ("http://github.com/a/b", False),
        ("git://github.com/a/b", False),
        ("ext::sh -c x", False),
        ("-oProxyCommand=x@github.com:a", False),
        ("/srv/git/a", False),
        ("../other", False),
        ("github.com::x", False),
        ("https://github.com/a/%2e%2e", False),
        ("", False),
    ],
)
def test_only_plain_addresses_of_public_hosts_pass(value: str, *, plain: bool) -> None:
    """`git fetch` may contact hosts where no one else can read the request."""
    assert is_plain_host(value, public_hosts()) is plain


def test_other_programs_obey_nothing() -> None:
    """Only what runs git reads a repository; anything of git's counts as unknown git."""
    ls = PinnedFile("/usr/bin/ls", "/usr/bin/ls", 1, 1, 1, "")
    own = PinnedFile("/usr/lib/git-core/git-diff", "/usr/lib/git-core/git-diff", 1, 1, 1, "")
    found = obedience_of(PlannedCommand((str(Path(own.path)), "x"), own))

    assert obedience_of(PlannedCommand(("ls",), ls)) is None
    assert found is not None
    assert steers(setting("core.editor=x"), found)


@rows(
    "text",
    [
        *("git", "(git)", "git $x", "git status", "(git log)", "xargs git", "git -C d commit"),
        *("git commit$x", 'git com"$x"mit', "git {commit,push}", "git frob", "git commit; git q"),
        *("g=git; $g commit", "/usr/bin/git status", "git-frob", "gh pr create", "g''it st"),
        *("git #\ncommit", "git commit-graph", "git commits", "git submodule foreach x"),
    ],
)
def test_a_text_whose_subcommands_nobody_knows_obeys_anything(text: str) -> None:
    """Nor does a reading one bind what its options do."""
    found = obedience_in(text)

    assert found is not None
    assert found.powers is ALL
    assert {"pre-commit", "pre-push", "post-checkout"} <= found.hooks


@rows(
    "text, power, hook, neither",
    [
        ("(git commit -m x)", "sign", "pre-commit", "reach"),
        ("(git add a; git commit)", "sign", "commit-msg", "reach"),
        ('"git" "commit"', "sign", "pre-commit", "reach"),
        ("git \\\n commit", "sign", "pre-commit", "reach"),
        ("cd d && git push|cat", "push", "pre-push", "convert"),
        ("(git fetch)", "reach", "reference-transaction", "convert"),
    ],
)
def test_a_text_obeys_what_its_subcommands_do(
    text: str, power: str, hook: str, neither: str
) -> None:
    """A commit with its message from a file, as agents write it, pushes to nobody."""
    found = obedience_in(text)

    assert found is not None
    assert found.may(power)
    assert not found.may(neither)
    assert hook in found.hooks


@rows("text", ["", "cat .gitignore", "x.git", "digit", "git.txt", "legit", "my-git", "github.com"])
def test_a_text_without_git_obeys_nothing(text: str) -> None:
    """Words that only contain the name are others."""
    assert obedience_in(text) is None
