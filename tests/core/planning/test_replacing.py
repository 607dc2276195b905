"""Ask about a move or a copy that would replace a file, however an allow rule is written.

Before, with the example policy::

    $ echo mine >b; echo x >a; sayso run -c 'mv a b'; cat b
    x
    $ echo mine >a; echo x >b; sayso run -c 'for x in a b; do mv $x c; done'; cat c
    x
"""

import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.model.decision import Decision, Reason
from core.model.policy import Trust
from core.policy.judge.evaluate import evaluate
from core.runner.runner import Runner
from tests.faults.git_oracle.oracle import Judge, judge
from tests.support.plans import LISTED, listed
from tests.support.runs import Start, new_run, planned, request, running

REPLACING = {
    "mv a b": "b",
    "mv -v a b": "b",
    "mv a ./b": "./b",
    "mv -- a b": "b",
    "mv a c folder": "folder/a",
    "mv a folder/": "folder/a",
    "mv folder/a .": "./a",
    "mv -t folder a": "folder/a",
    "mv -tfolder c a": "folder/a",
    "mv -vtfolder a": "folder/a",
    "mv --target-directory=folder a": "folder/a",
    "mv --target-directory folder a": "folder/a",
    "mv --targ=folder a": "folder/a",
    "mv -S n a b": "b",
    "mv -Sfn a b": "b",
    "mv --suf n a b": "b",
    "mv -T folder/a b": "b",
    "mv --no-target-directory a folder": "folder",
    "mv --no-t a folder": "folder",
    "mv a leads-nowhere": "leads-nowhere",
    "mv a link": "link/a",
    "cp a b": "b",
    "cp -T a b": "b",
    "cp -r folder/a b": "b",
    "nice mv a b": "b",
    "mv --update=all a b": "b",
}
KEEPING = (
    *("mv a new", "mv a c new", "mv c folder", "mv a empty", "cp -T a new", "mv -T a new"),
    *("mv -n a b", "mv --no-clobber a b", "cp -n -T a b", "mv -vn a b", "mv -f a b"),
    *("cp --update=none a b", "mv -t empty a", "mv a", "mv", "mv -t folder", "cat a b", "ls a b"),
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with files to be moved, and some that are in their way."""
    tree = tmp_path / "home/projects/app"
    for name in ("folder", "empty"):
        (tree / name).mkdir(parents=True)
    for name in ("a", "b", "c", "folder/a"):
        (tree / name).write_text(name)
    (tree / "leads-nowhere").symlink_to("nothing")
    (tree / "link").symlink_to("folder")
    return tree


@pytest.fixture
def example(place: Path) -> Judge:
    """Return how the example policy judges."""
    return judge(place.parents[1])


def held(path: Path) -> str | None:
    """Return what a link or a file contains."""
    if path.is_symlink():
        return str(path.readlink())
    return path.read_text() if path.is_file() else None


@pytest.fixture
async def runner() -> AsyncIterator[Runner]:
    """Yield a runner."""
    async with running() as found:
        yield found


def replaces(line: str, cwd: Path) -> str:
    """Return what the only command of a line would replace, relative to its folder."""
    leaf = next(iter(planned(request(line, cwd=cwd)).commands[0].effective))
    return leaf.replaces.removeprefix(f"{cwd}/")


@pytest.mark.parametrize(("line", "found"), REPLACING.items())
def test_what_would_be_replaced_is_named(place: Path, line: str, found: str) -> None:
    """In each of the ways to say where a file goes."""
    assert replaces(line, place) == found


@pytest.mark.parametrize("line", KEEPING)
def test_what_replaces_nothing_is_not(place: Path, line: str) -> None:
    """A control; and `-n` and `-f` say which of the two is meant."""
    assert replaces(line, place) == ""


@pytest.mark.parametrize("line", [one for one in REPLACING if one.startswith(("mv -", "mv a"))])
def test_the_program_does_replace_it(place: Path, line: str) -> None:
    """A control: what is named is what the real program removes or fails on."""
    at = place / REPLACING[line]
    before = held(at)
    done = subprocess.run(line, shell=True, cwd=place, capture_output=True, check=False)  # noqa: S602 - a line of this file

    assert done.returncode != 0 or before != held(at)


@pytest.mark.parametrize("line", ["mv a b", "cp -T a b", "mv a c folder", "nice mv a b"])
def test_the_example_policy_asks(example: Judge, place: Path, line: str) -> None:
    """If nothing is in the way, it does not."""
    plan = example.judged(line, place)[0]
    found = evaluate(plan, example.policy, listed(), provisions=example.provisions)

    assert (found.decision, found.reason) == (Decision.ASK, Reason.REPLACES)
    assert REPLACING[line] in found.why
    for name in ("b", "folder/a"):
        (place / name).unlink()
    assert example.decided(line, place) is Decision.ALLOW


def test_classical_trust_does_not_ask(place: Path) -> None:
    """A user who lists mv there lets it do what it does."""
    classical = replace(LISTED, trust=Trust.CLASSICAL)
    found = evaluate(planned(request("mv a b", cwd=place)), classical, listed("/**"))

    assert found.decision is Decision.ALLOW


@pytest.mark.parametrize(
    "line", ["mv a new && mv c new", "for x in a c; do mv $x new; done", "mv a new; cp -T c new"]
)
async def test_what_the_line_itself_put_there_stays(
    example: Judge, place: Path, runner: Runner, line: str
) -> None:
    """Each command is checked again before it starts."""
    plan, decision = example.judged(line, place)
    ended = await runner.run(new_run(), plan, Start())

    assert decision is Decision.ALLOW
    assert (place / "new").read_text() == "a"
    assert (place / "c").read_text() == "c"
    assert "did not exist" in str(ended)


async def test_what_came_before_it_starts_stays(
    example: Judge, place: Path, runner: Runner
) -> None:
    """Also where the line had been judged."""
    plan, decision = example.judged("mv a new", place)
    (place / "new").write_text("somebody's")

    with pytest.raises(PlanDrift, match="did not exist when `mv` was approved"):
        await runner.run(new_run(), plan, Start())

    assert decision is Decision.ALLOW
    assert (place / "new").read_text() == "somebody's"


async def test_what_a_person_let_replace_does(example: Judge, place: Path, runner: Runner) -> None:
    """A control: an approved line replaces the file, even one that is gone by then."""
    plan, decision = example.judged("mv a b", place)
    (place / "b").unlink()
    await runner.run(new_run(), plan, Start())

    assert decision is Decision.ASK
    assert (place / "b").read_text() == "a"
