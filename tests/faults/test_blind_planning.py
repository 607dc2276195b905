"""Let nothing more pass when a gateway cannot look, for lack of descriptors or by disk failure.

Each opening of a request's planning fails in turn. What was not seen must neither count as absent
nor be remembered as such: one such moment hid a link out of a repository for good.
"""

import builtins
import errno
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bot.explain.batch_entry import REQUESTER, SESSION
from core.model.command import ExecRequest, PartKind, WordPart
from core.model.decision import Decision, DenialReason
from core.planning.code.files.named import code_named, programs_named, reached_files
from core.planning.git import folder_listing
from core.planning.git.folder_listing import forget, links_away, listing_of
from core.planning.paths.globs import matches
from core.planning.paths.pins import pin_file
from core.planning.paths.search_path import SearchPath
from core.planning.planner import Refusal
from core.policy.judge.evaluate import evaluate
from core.policy.matching.allowlist import Allowlist
from tests.faults.git_oracle.oracle import Judge, judge
from tests.support.descriptors import none_left

REPOSITORY = """
git init -q . && git config user.name a && git config user.email a@b
echo one >a; git add . && git commit -qm first; echo two >a
"""
CASES = {
    "a link out": (f"{REPOSITORY} mv .git/logs out; ln -s ../out .git/logs", "git commit -am x"),
    "a command": (f"{REPOSITORY} git config diff.external /bin/evil", "git diff"),
    "a hook": (f"{REPOSITORY} cp /bin/true .git/hooks/pre-commit", "git commit -am x"),
    "a program of the work tree": ("cp /bin/true jest", "./jest"),
}
"""What a person is asked about: how the folder is made, and the line."""

_OPENINGS: tuple[tuple[Any, str], ...] = (
    *((os, name) for name in ("open", "scandir", "listdir")),
    (builtins, "open"),
)


@contextmanager
def failing(turn: int, number: int) -> Iterator[list[int]]:
    """Make the n-th opening (from 1) fail with an errno; yield how many there were."""
    openings = [0]

    def guarded(real: Callable[..., Any]) -> Callable[..., Any]:
        def opening(*words: Any, **named: Any) -> Any:
            openings[0] += 1
            if openings[0] == turn:
                raise OSError(number, os.strerror(number))
            return real(*words, **named)

        return opening

    with pytest.MonkeyPatch.context() as patch:
        for module, name in _OPENINGS:
            patch.setattr(module, name, guarded(getattr(module, name)))
        yield openings


def decided(judge: Judge, line: str, place: Path) -> Decision | DenialReason:
    """Return the decision on a line, or why there is no plan."""
    wish = ExecRequest(REQUESTER, SESSION, str(place), line=line)
    plan = judge.planner.plan(wish, judge.policy)
    if isinstance(plan, Refusal):
        return plan.reason
    allowlist = Allowlist((), str(judge.home))
    return evaluate(plan, judge.policy, allowlist, provisions=judge.provisions).decision


def made(tmp_path: Path, setup: str) -> tuple[Judge, Path]:
    """Return a judge of a home, and a folder in it that a script has filled, settled."""
    home = tmp_path / "home"
    place = home / "projects/app"
    place.mkdir(parents=True)
    environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
    subprocess.run(["sh", "-ec", setup], cwd=place, env=environ, check=True)
    time.sleep(0.15)  # until folders are so old that their listings are kept
    return judge(home), place


def after_each_failure(found: Judge, line: str, place: Path, number: int) -> Iterator[object]:
    """Yield the decision while the n-th opening failed, and then the decision afterwards."""
    for turn in count(1):
        forget()
        with failing(turn, number) as openings:
            then = decided(found, line, place)
        if openings[0] < turn:
            return
        yield then, decided(found, line, place)


REFUSED = {DenialReason.HOST_UNAVAILABLE, DenialReason.BAD_CWD}


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_seen_is_refused(name: str, number: int, tmp_path: Path) -> None:
    """No failure lets the line pass, and afterwards it needs an answer as before."""
    setup, line = CASES[name]
    found, place = made(tmp_path, setup)
    assert decided(found, line, place) is Decision.ASK

    outcomes = set(after_each_failure(found, line, place, number))

    assert outcomes <= {(then, Decision.ASK) for then in (Decision.ASK, *REFUSED)}
    assert (DenialReason.HOST_UNAVAILABLE, Decision.ASK) in outcomes


def test_without_the_look_at_errors_it_passes_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: if every failure counts as nothing, one hides the link from then on."""
    monkeypatch.setattr(folder_listing, "check_looked", lambda _error: None)
    found, place = made(tmp_path, CASES["a link out"][0])

    outcomes = set(after_each_failure(found, CASES["a link out"][1], place, errno.EMFILE))
    forget()

    assert (Decision.ALLOW, Decision.ALLOW) in outcomes


def test_without_any_descriptor_nothing_is_taken_for_absent(tmp_path: Path) -> None:
    """The kernel's own EMFILE: each check fails, and finds the same afterwards."""
    (tmp_path / "x.sh").write_text("echo\n")
    (tmp_path / "x.sh").chmod(0o755)
    (tmp_path / "sharedindex.1").touch()
    (tmp_path / "link").symlink_to("/elsewhere")
    time.sleep(0.15)
    star = [WordPart(PartKind.GLOB, "*")]
    looks: tuple[Callable[[], object], ...] = (
        lambda: code_named(f". {tmp_path}/x.sh", str(tmp_path), SearchPath()),
        lambda: reached_files((f"{tmp_path}/x.sh",), str(tmp_path)),
        lambda: programs_named(("setsid", f"{tmp_path}/x.sh"), str(tmp_path), SearchPath()),
        lambda: matches(star, str(tmp_path)),
        lambda: list(links_away(str(tmp_path))),
        lambda: listing_of(str(tmp_path)),
        lambda: pin_file(str(tmp_path / "x.sh")),
    )
    forget()
    for look in looks:
        with none_left(), pytest.raises(OSError, match="Too many open files"):
            look()
    assert all(look() for look in looks)
