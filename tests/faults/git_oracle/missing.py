"""Make repositories that lack objects and name a remote that should have them (partial clones).

git fetches what is missing on its own, in any subcommand that needs it (gitformat-promisor,
git(1)).
"""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.faults.git_oracle.oracle import LINES, Oracle, Trap
from tests.faults.git_oracle.plants import plant
from tests.faults.git_oracle.routes import ROUTES, Place, copy, git

WAYS = ("promisor, ext", "promisor, ssh", "promisor, uploadpack", "promisor, http")
"""What is planted: how a missing object is asked for."""

QUICK = WAYS[-1]
"""The one at which git gives up at once, for lines that must spring."""

PLACES = ("plain", "below", "work tree", "submodule", "in a submodule", "around a submodule")

MORE_LINES = (
    *("git rm k", "git rm --cached k", "git mv k moved", "git reset", "git reset HEAD a"),
    *("git restore a", "git stash push -u", "git stash apply", "git add d", "git add -u"),
    *("git commit -a -m 'a change'", "git commit -q -m 'a change'", "git branch --merged"),
    *("git branch --contains HEAD", "git tag --contains HEAD", "git rev-parse HEAD:a HEAD~1"),
    *("git merge-base main other", "git name-rev HEAD", "git show-ref -d", "git ls-tree -r HEAD"),
    *("git notes list", "git check-attr -a d/f", "git check-ignore d/x.o", "git diff-index HEAD"),
    *("git diff-files", "git rev-list HEAD", "git tag -n", "git stash list", "git diff --cached"),
    *("git status -s", "git reflog", "git ls-files -o", "git count-objects", "git describe --all"),
    *("sh -c 'touch k; git status'", "sh -c 'touch k; git rev-parse HEAD:a'"),
    *("sh -c 'mkdir n; git branch -v'", "touch k && git status -v"),
)
LACKING = (*LINES, *MORE_LINES)
"""The lines of the other oracle, and those that need an object in a way of their own."""


@dataclass(frozen=True, slots=True)
class State:
    """Revisions of objects that are deleted, with the files of these names in the work tree.

    ``every``: all objects of a kind, or all existing ones.
    """

    revisions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    every: str = ""


STATES = {
    "blob": State(("HEAD:a", "HEAD~1:a")),
    "blob of the tip": State(("HEAD:a",)),
    "blob of the parent": State(("HEAD~1:a",)),
    "blob of a branch": State(("other:a",)),
    "blob in a folder": State(("HEAD:d/f",)),
    "blob of the index": State((":new",)),
    "attributes": State(
        ("HEAD:.gitattributes", "HEAD:d/.gitattributes"), (".gitattributes", "d/.gitattributes")
    ),
    "ignored": State(("HEAD:.gitignore", "HEAD:d/.gitignore"), (".gitignore", "d/.gitignore")),
    "mailmap": State(("HEAD:.mailmap",), (".mailmap",)),
    "tree": State(("HEAD^{tree}",)),
    "tree of a folder": State(("HEAD:d",)),
    "tree of the parent": State(("HEAD~1^{tree}",)),
    "tree of a branch": State(("other^{tree}",)),
    "commit": State(("HEAD",)),
    "commit of the parent": State(("HEAD~1",)),
    "commit of a branch": State(("other",)),
    "tag": State(("v1",)),
    "note": State(("refs/notes/commits",)),
    "stash": State(("stash@{0}",)),
    "tree of the stash": State(("stash@{0}^{tree}", "stash@{0}:a2")),
    "all blobs": State(every="blob"),
    "all trees": State(every="tree"),
    "everything": State(every="any"),
}


def whole(source: Path, at: Path) -> Path:
    """Make the repository that places copy: the other oracle's, each object in its own file."""
    copy(source, at)
    (at / "d").mkdir()
    for name in ("k", "d/f", "d/.gitattributes", ".gitignore", "d/.gitignore", ".mailmap"):
        (at / name).write_text("f -text\n" if name.endswith("butes") else f"{name}.o\n")
    (at / "a").write_text("three\n")
    git(at, "add", ".")
    git(at, "commit", "-qm", "fourth")
    git(at, "notes", "add", "-m", "a note")
    (at / "new").write_text("staged\n")
    git(at, "add", "new")
    (at / "a").write_text("four\n")
    _unpack(at / ".git/objects")
    return at


def _unpack(objects: Path) -> None:
    """Turn packs into files of one object each."""
    packs = objects / "pack"
    kept = packs.rename(objects / "away")
    packs.mkdir()
    for pack in kept.glob("*.pack"):
        with pack.open("rb") as stream:
            words = ["git", "-C", str(objects.parent), "unpack-objects", "-q"]
            subprocess.run(words, stdin=stream, check=True)
    shutil.rmtree(kept)


def _names(tree: Path, state: State) -> Iterator[str]:
    words = ["git", "-C", str(tree)]
    for revision in state.revisions:
        yield subprocess.check_output([*words, "rev-parse", revision], text=True).strip()
    every = [*words, "cat-file", "--batch-check", "--batch-all-objects"]
    for line in subprocess.check_output(every, text=True).splitlines() if state.every else ():
        name, kind, _ = line.split()
        if state.every in {"any", kind}:
            yield name


def lacking(oracle: Oracle, number: int, route: str, state: State, way: str, trap: Trap) -> Place:
    """Make a place that lacks objects; ``way`` is ``None`` if no remote is to have them."""
    at = oracle.home / "projects" / str(number)
    at.mkdir(parents=True)
    place = ROUTES[route](at, oracle.source)
    top = place.tree / ".git"
    objects = (place.folder if top.is_file() else top) / "objects"
    for name in list(_names(place.tree, state)):
        (objects / name[:2] / name[2:]).unlink(missing_ok=True)
    for file in state.files:
        (place.tree / file).unlink(missing_ok=True)
    if way:
        plant(way, place, at, trap.canary, trap.port)
    return place


def by_itself(line: str, place: Place, found: Trap) -> bool:
    """Run a line in a shell; return whether that springs the canary."""
    words = ["timeout", "20", "sh", "-c", line]
    subprocess.run(words, cwd=place.cwd, stdin=-3, stdout=-3, stderr=-3, check=False)
    return found.sprung()
