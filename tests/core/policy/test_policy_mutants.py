"""Catch each deliberate weakening of the policy code by the test named for it."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from tests.core.policy.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[3]
SERVER = Path(__file__).with_name("mutant_server.py")
CAUGHT = ("AssertionError", "Failed")
"""What a failing test raises; anything else would be a mutant that does not even run."""
_LEFT_OUT = shutil.ignore_patterns("__pycache__", Path(__file__).name, "conftest.py")
"""No named test uses a fixture of ours, and the runner's would be loaded with each mutant."""
_NO_TRACES = shutil.ignore_patterns("log.txt", ".hypothesis")


class Workshop:
    """Copies of the project, and a process that runs tests against them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started = time.monotonic()
        self._rows: list[str] = []
        self.genuine = folder / "genuine"
        _copy_project(self.genuine)
        self._server = subprocess.Popen(
            [sys.executable, str(SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            text=True,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )

    def run(self, copy: Path, tests: Sequence[str]) -> dict[str, Any]:
        """Run tests of a copy and return the exit code and what they raised."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        nodes = [f"tests/core/{test}" for test in tests]
        print(
            json.dumps({"folder": str(copy), "tests": nodes}), file=self._server.stdin, flush=True
        )
        answer = self._server.stdout.readline().strip()
        assert answer, f"the run broke down:\n{log(copy)}"
        found: dict[str, Any] = json.loads(answer)
        assert found["core"] == str(copy / "core" / "__init__.py")
        return found

    def mutated(self, mutant: Mutant) -> Path:
        """Return a copy with one weakening; all other files are those of the genuine copy."""
        copy = self._folder / "mutant"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.genuine, copy, copy_function=os.link, ignore=_NO_TRACES)
        path = copy / "core" / mutant.file
        text = path.read_text(encoding="utf-8")
        assert text.count(mutant.old) == 1, f"{mutant.name}: not one place to mutate"
        path.unlink()
        path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()
        return copy

    def note(self, mutant: Mutant, seconds: float) -> None:
        """Keep a line for the table."""
        self._rows.append(f"{seconds:5.2f} s  {mutant.name:<58} {mutant.caught_by}")

    def __enter__(self) -> Self:
        """Return the workshop, whose process is running."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, which reads until its requests end."""
        self._server.communicate(timeout=10)

    def table(self) -> None:
        """Print which test caught what."""
        spent = time.monotonic() - self._started
        print("", *self._rows, f"{len(self._rows)} mutants caught in {spent:.0f} s", sep="\n")


def _copy_project(folder: Path) -> None:
    """Copy what the named tests need: the core, its tests, their support, the corpus."""
    for name in ("core", "tests/core", "tests/support", "tests/corpus"):
        shutil.copytree(ROOT / name, folder / name, ignore=_LEFT_OUT)
    (folder / "tests" / "__init__.py").touch()


def log(copy: Path) -> str:
    """Return the end of what a run printed."""
    return (copy / "log.txt").read_text(encoding="utf-8", errors="replace")[-3000:]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """Yield the copies; the genuine one passes every named test, or no failure proves anything."""
    with Workshop(tmp_path_factory.mktemp("mutants")) as made:
        tests = sorted({mutant.caught_by for mutant in MUTANTS})
        found = made.run(made.genuine, tests)
        assert found["exit"] == pytest.ExitCode.OK, log(made.genuine)
        yield made
        made.table()


@pytest.mark.deep
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_weakening_is_caught(mutant: Mutant, workshop: Workshop) -> None:
    """The named test fails against the copy with a failed check and not a crash."""
    started = time.monotonic()
    copy = workshop.mutated(mutant)
    found = workshop.run(copy, [mutant.caught_by])
    assert found["exit"] == pytest.ExitCode.TESTS_FAILED, log(copy)
    assert found["raised"][-1] in CAUGHT, log(copy)
    workshop.note(mutant, time.monotonic() - started)


@pytest.mark.deep
def test_a_change_that_weakens_nothing_is_not_caught(workshop: Workshop) -> None:
    """Negative control: it is the weakening that makes a test fail, not the copy."""
    first = MUTANTS[0]
    copy = workshop.mutated(replace(first, new=f"{first.old}  # the same"))
    assert workshop.run(copy, [first.caught_by])["exit"] == pytest.ExitCode.OK, log(copy)


def test_each_weakening_can_be_made() -> None:
    """Its place exists once, or the weakening would be none."""
    core, places = ROOT / "core", {mutant.file for mutant in MUTANTS}
    texts = {file: (core / file).read_text(encoding="utf-8") for file in places}
    assert [one.name for one in MUTANTS if texts[one.file].count(one.old) != 1] == []


def test_no_weakening_stands_twice() -> None:
    """Names and replacements differ, so the number of mutants is a number of weakenings."""
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 30
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)
