"""Make git read a configuration in the ways that its manuals and its source describe.

Each makes a place from a template: where the command is run, and the folders whose ``config`` and
``hooks`` it obeys there (gitrepository-layout(5), git-worktree(1), gitsubmodules(7)).
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line is run; the files that are changed before; where to plant."""

    cwd: Path
    tree: Path
    folder: Path
    config: str = "config"


Route = Callable[[Path, Path], Place]
"""Makes a place below its first argument from the template repository in the second."""


def git(folder: Path, *words: str) -> None:
    """Run git quietly, under a fixed name and without this machine's settings."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    subprocess.run(
        ["git", "-C", folder, *who, *words], check=True, env=environ, stdout=-3, stderr=-3
    )


def template(at: Path) -> Path:
    """Make the repository that places copy: two branches that merge with a conflict."""
    at.mkdir(parents=True)
    git(at, "init", "-q", "--template=", "-b", "main")
    git(at, "config", "user.name", "a")
    git(at, "config", "user.email", "a@b")
    (at / ".gitattributes").write_text("a* filter=x diff=x merge=x\n")
    for name in ("a", "a2"):
        (at / name).write_text("one\n" * 5)
    git(at, "add", ".")
    git(at, "commit", "-qm", "first")
    git(at, "switch", "-qc", "other")
    (at / "a").write_text("other\n" * 5)
    git(at, "commit", "-qam", "second")
    git(at, "switch", "-q", "main")
    (at / "a").write_text("main\n" * 5)
    git(at, "commit", "-qam", "third")
    git(at, "merge", "-q", "-s", "ours", "-m", "merged", "other")
    git(at, "tag", "-m", "v1", "v1")
    signed(at)
    (at / "a2").write_text("stashed\n")
    git(at, "stash")
    (at / "a").write_text("two\n")
    git(at, "gc", "-q")  # few files to copy
    return at


def signed(at: Path) -> None:
    """Add commits that claim to be signed, one of each kind, the last one on the branch."""
    words = ["git", "-C", str(at), "cat-file", "commit", "HEAD"]
    head, body = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split(
        "\n\n", 1
    )
    for kind in ("PGP SIGNATURE", "SSH SIGNATURE", "SIGNED MESSAGE"):
        text = f"{head}\ngpgsig -----BEGIN {kind}-----\n \n AAAA\n -----END {kind}-----\n\n{body}"
        made = subprocess.run(
            ["git", "-C", at, "hash-object", "-t", "commit", "-w", "--stdin"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        git(at, "update-ref", f"refs/heads/{kind.split()[0].lower()}", made)


def copy(source: Path, to: Path) -> Path:
    """Copy a repository with its work tree."""
    shutil.copytree(source, to, symlinks=True)
    return to


def plain(at: Path, source: Path) -> Place:
    """Run in a repository."""
    tree = copy(source, at / "place")
    return Place(tree, tree, tree / ".git")


def below(at: Path, source: Path) -> Place:
    """Run two folders further down."""
    place = plain(at, source)
    deep = place.tree / "b/c"
    deep.mkdir(parents=True)
    return Place(deep, place.tree, place.folder)


def link(name: str, written: str) -> Route:
    """Keep the repository elsewhere, in a folder of some name that a ``.git`` file contains."""

    def make(at: Path, source: Path) -> Place:
        place = plain(at, source)
        folder = place.tree / name
        place.folder.rename(at / "moved")
        (at / "moved").rename(folder)
        (place.tree / ".git").write_bytes(written.format(at=at / "place").encode())
        return Place(place.tree, place.tree, folder)

    return make


def symlinked(at: Path, source: Path) -> Place:
    """Keep the repository behind a symbolic link."""
    place = plain(at, source)
    place.folder.rename(at / "moved")
    place.folder.symlink_to("../moved")
    return place


def linked(at: Path, source: Path) -> Place:
    """Run in another work tree."""
    place = plain(at, source)
    git(place.tree, "worktree", "add", "-q", "-b", "linked", "../second")
    return Place(at / "second", at / "second", place.folder)


def linked_alone(at: Path, source: Path) -> Place:
    """Run in another work tree that has its own configuration."""
    linked(at, source)
    git(at / "place", "config", "extensions.worktreeConfig", "true")
    own = at / "place/.git/worktrees/second"
    return Place(at / "second", at / "second", own, "config.worktree")


def linked_oddly(written: str, name: str) -> Route:
    """Run in another work tree whose ``commondir`` is written in an odd way."""

    def make(at: Path, source: Path) -> Place:
        place = linked(at, source)
        own = place.folder / "worktrees/second"
        copy(place.folder, at / "copied").rename(own / name)
        (own / "commondir").write_bytes(written.encode())
        return Place(place.cwd, place.tree, own / name)

    return make


def submodule(at: Path, source: Path) -> Place:
    """Run in a superproject; the repository is a submodule of it."""
    place = plain(at, source)
    copy(source, place.tree / "sub")
    git(place.tree, "add", "sub")
    return Place(place.tree, place.tree / "sub", place.tree / "sub/.git")


def in_submodule(at: Path, source: Path) -> Place:
    """Run in a submodule whose repository is inside the superproject's."""
    place = submodule(at, source)
    absorbed = place.cwd / ".git/modules/sub"
    absorbed.parent.mkdir()
    place.folder.rename(absorbed)
    place.folder.write_text("gitdir: ../.git/modules/sub\n")
    git(absorbed, "config", "core.worktree", "../../../sub")
    return Place(place.tree, place.tree, absorbed)


def around_absorbed(at: Path, source: Path) -> Place:
    """Run in the superproject of such a submodule."""
    place = in_submodule(at, source)
    return Place(at / "place", place.tree, place.folder)


def deeper(at: Path, source: Path) -> Place:
    """Run in a superproject whose submodule has one."""
    place = submodule(at, source)
    copy(source, place.tree / "inner")
    git(place.tree, "add", "inner")
    return Place(place.cwd, place.tree / "inner", place.tree / "inner/.git")


def bare(at: Path, source: Path) -> Place:
    """Run in a folder that looks like a bare repository, in a work tree."""
    place = plain(at, source)
    vendor = copy(source / ".git", place.tree / "vendor")
    return Place(vendor, place.tree, vendor)


def below_bare(at: Path, source: Path) -> Place:
    """Run below such a folder."""
    place = bare(at, source)
    return Place(place.cwd / "refs", place.tree, place.folder)


def bare_apart(at: Path, source: Path) -> Place:
    """Run in one that keeps its parts elsewhere (hole 1 of issue 9)."""
    place = plain(at, source)
    common = copy(source / ".git", place.tree / "vendor/common")
    head = place.tree / "vendor/x"
    head.mkdir()
    shutil.copy(common / "HEAD", head)
    (head / "commondir").write_text("../common\n")
    return Place(head, place.tree, common)


def bare_elsewhere(at: Path, source: Path) -> Place:
    """Run in one that says that its files are where attributes are."""
    place = bare(at, source)
    git(place.folder, "config", "core.bare", "false")
    git(place.folder, "config", "core.worktree", str(place.tree))
    return place


def passed_over(at: Path, source: Path) -> Place:
    """Run below a repository in a folder whose own is broken."""
    place = plain(at, source)
    inner = place.tree / "inner"
    (inner / ".git/objects").mkdir(parents=True)
    return Place(inner, place.tree, place.folder)


def including(header: str) -> Route:
    """Have another file included."""

    def make(at: Path, source: Path) -> Place:
        place = plain(at, source)
        with (place.folder / "config").open("a") as config:
            config.write(f"{header}\n\tpath = more\n")
        return Place(place.cwd, place.tree, place.folder, "more")

    return make


def includes_twice(at: Path, source: Path) -> Place:
    """Have a file included by an included one, elsewhere."""
    place = including("[include]")(at, source)
    (place.folder / "more").write_text("[include]\n\tpath = ../elsewhere\n")
    return Place(place.cwd, place.tree, place.tree, "elsewhere")


ROUTES: dict[str, Route] = {
    "plain": plain,
    "below": below,
    "link": link("own", "gitdir: {at}/own\n"),
    "relative link": link("own", "gitdir: own"),
    "link through ..": link("own", "gitdir: ../place/./own\n"),
    "link, CRLF": link("own", "gitdir: own\r\n"),
    "link, blank behind": link("own ", "gitdir: own \n"),
    "link, blank before": link(" own", "gitdir:  own\n"),
    "link, tab": link("own\t", "gitdir: own\t\n"),
    "link, NBSP": link("own\u00a0", "gitdir: own\u00a0\n"),
    "link, em space": link("own\u2003", "gitdir: own\u2003\n"),
    "link, NUL": link("own", "gitdir: own\0else\n"),
    "link, two lines": link("own\nelse", "gitdir: own\nelse\n"),
    "link, two ends": link("own", "gitdir: own\n\n"),
    "link, BEL": link("own\a", "gitdir: own\a\n"),
    "link, BOM": link("own\ufeff", "gitdir: own\ufeff\n"),
    "symlink": symlinked,
    "work tree": linked,
    "work tree's own": linked_alone,
    "commondir, blank behind": linked_oddly("odd \n", "odd "),
    "commondir, NUL": linked_oddly("odd\0else\n", "odd"),
    "commondir, NBSP": linked_oddly("odd\u00a0", "odd\u00a0"),
    "commondir, two lines": linked_oddly("odd\nelse\n", "odd\nelse"),
    "submodule": submodule,
    "in a submodule": in_submodule,
    "around a submodule": around_absorbed,
    "submodule's submodule": deeper,
    "bare": bare,
    "below a bare one": below_bare,
    "bare, parts elsewhere": bare_apart,
    "bare, files elsewhere": bare_elsewhere,
    "passed over": passed_over,
    "include": including("[include]"),
    "includeIf gitdir": including('[includeIf "gitdir:**"]'),
    "includeIf onbranch": including('[includeIf "onbranch:**"]'),
    "include twice": includes_twice,
}
