"""Flip random conditions of the product and count those that its own tests do not notice.

``python -m tests.project.random_mutants --seed 7 --count 150`` draws places over the product: a
comparison, ``and``/``or``, ``not``, ``True``/``False``, a condition. Each is changed in a copy of
the project, and the tests of the module's folder run against the copy: first those named after
the module, then the folder's, or the next folder's up if it has none, then those of all modules
that a mutant may fail. Tests that fail without a mutant catch nothing: such a mutant is
``unjudged``, and counts as survived in the exit status.
"""

import argparse
import ast
import contextlib
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from core.files.removal import remove_tree
from tests.project.tracked import ROOT, files, modules

_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_NO_TESTS_RAN = 5
_MARKS = "not benchmark and not deep"
_OF_STORE = ("tests/contracts", "tests/core/store")
"""The store's tests, which are the same for both engines."""
_OF_ALL = ("tests/project/test_frozen.py", "tests/project/test_unprinted.py")
"""What applies to every module."""


class Fate(StrEnum):
    """What happened to a mutant."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed expression: where it is, what it was and what it became."""

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the tests of a folder said about a mutant; seconds."""

    mutant: Mutant
    fate: Fate
    tests: str
    seconds: float


def mutants_of(path: Path) -> list[Mutant]:
    """Return every mutant of a module."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, new in changes(ast.parse(source)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        old = source[start:end].decode()
        name = str(path.relative_to(ROOT))
        found.append(Mutant(name, node.lineno, start, end, old, f"({ast.unparse(new)})"))
    return found


def changes(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each expression that has an opposite, with the opposite."""
    left_out = set(_unnoticeable(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Constant() | ast.If() if node in left_out:
                pass
            case ast.Compare(left=left, ops=[first, *rest], comparators=values):
                opposite = _OPPOSITE[type(first)]()
                yield node, ast.Compare(left, [opposite, *rest], values)
            case ast.BoolOp(op=joined, values=values):
                other = ast.Or() if isinstance(joined, ast.And) else ast.And()
                yield node, ast.BoolOp(other, values)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield node, operand
            case ast.Constant(value=bool(value)):
                yield node, ast.Constant(not value)
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if _is_plain(test):
                yield test, ast.UnaryOp(ast.Not(), test)
            case _:
                pass


def _unnoticeable(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what no test can notice: ``slots`` saves memory, and TYPE_CHECKING is for mypy."""
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg="slots", value=value):
                yield value
            case ast.Assign(targets=[ast.Name(id="TYPE_CHECKING")], value=value):
                yield value
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield node
            case _:
                pass


def _is_plain(test: ast.expr) -> bool:
    return isinstance(test, ast.Name | ast.Attribute | ast.Call)


def draw(count: int, seed: int, only: str = "") -> list[Mutant]:
    """Return random mutants, no two of one expression; the same for the same seed."""
    chosen = [path for path in modules() if only in str(path.relative_to(ROOT))]
    everything = [mutant for path in chosen for mutant in mutants_of(path)]
    dice = random.Random(seed)
    return dice.sample(everything, min(count, len(everything)))


def tests_of(module: str) -> list[list[str]]:
    """Return the tests for a module in their order: its own, its folder's, the store's."""
    path = Path(module)
    stem = path.parent.name if path.stem == "__init__" else path.stem
    for folder in (Path("tests") / parent for parent in path.parents):
        if any((ROOT / folder).rglob("test_*.py")) and folder != Path("tests"):
            own = sorted({*(ROOT / folder).glob(f"test_{stem}.py")})
            own += sorted((ROOT / folder).glob(f"test_{stem}_*.py"))
            named = [[str(one.relative_to(ROOT)) for one in own]] if own else []
            shared = [[*_OF_STORE]] if path.is_relative_to("core/store") else []
            return [*named, [str(folder)], *shared, [*_OF_ALL]]
    return [[*_OF_ALL]]


class Copy:
    """A copy of the project that gets one mutant at a time."""

    def __init__(self, folder: Path) -> None:
        """Copy all files that belong to the repository."""
        self._folder = folder
        for path in files():
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
        (folder / ".venv").symlink_to(ROOT / ".venv")
        self._trusted: set[str] = set()
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        subprocess.run(["git", "-C", folder, "add", "--all"], check=True)

    def judge(self, mutant: Mutant, most_s: float) -> Verdict:
        """Run the tests for a mutant until one fails."""
        started = time.monotonic()
        names = ""
        for tests in tests_of(mutant.path):
            names = " ".join(tests)
            with self._put(mutant):
                caught = not self.passes(tests, most_s)
            if caught:
                fate = Fate.CAUGHT if self._is_trusted(tests, most_s) else Fate.UNJUDGED
                return Verdict(mutant, fate, names, _since(started))
        return Verdict(mutant, Fate.SURVIVED, names, _since(started))

    def _is_trusted(self, tests: Sequence[str], most_s: float) -> bool:
        """Return whether tests pass without a mutant; checked once for each while they do."""
        names = " ".join(tests)
        if names not in self._trusted and self.passes(tests, most_s):
            self._trusted.add(names)
        return names in self._trusted

    def passes(self, tests: Sequence[str], most_s: float) -> bool:
        """Return whether all of some tests pass in the time that they have.

        A mutant may leave folders that pytest cannot remove, and then fail all that comes later, so
        that each run gets its own; the name is short, because sockets are in it.
        """
        folder = tempfile.mkdtemp(prefix="m-")
        try:
            return self._passes(tests, most_s, folder)
        finally:
            remove_tree(folder)

    def _passes(self, tests: Sequence[str], most_s: float, folder: str) -> bool:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", _MARKS, *tests]
        paths = {"PYTHONPATH": str(self._folder), "PYTEST_DEBUG_TEMPROOT": folder}
        with subprocess.Popen(
            command,
            cwd=self._folder,
            env={**os.environ, **paths, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                return process.wait(most_s) in {0, _NO_TESTS_RAN}
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return False

    @contextlib.contextmanager
    def _put(self, mutant: Mutant) -> Iterator[None]:
        path = self._folder / mutant.path
        genuine = path.read_bytes()
        path.write_bytes(genuine[: mutant.start] + mutant.new.encode() + genuine[mutant.end :])
        try:
            yield
        finally:
            path.write_bytes(genuine)


def run(mutants: Sequence[Mutant], jobs: int, most_s: float) -> Iterator[Verdict]:
    """Judge mutants, several at a time, each in a copy of its own."""
    with tempfile.TemporaryDirectory(prefix="sayso-mutants-") as scratch:
        copies: queue.Queue[Copy] = queue.Queue()
        for number in range(jobs):
            copies.put(Copy(Path(scratch, str(number))))

        def judged(mutant: Mutant) -> Verdict:
            copy = copies.get()
            try:
                return copy.judge(mutant, most_s)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(jobs) as threads:
            yield from threads.map(judged, mutants)


def _since(started: float) -> float:
    return round(time.monotonic() - started, 1)


def main(words: Sequence[str] | None = None) -> int:
    """Print what happened to each mutant, and how many survived; exit with 1 above 5 percent."""
    parser = argparse.ArgumentParser(prog="python -m tests.project.random_mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--skip", type=int, default=0, help="leave out as many of those drawn")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="draw from paths that contain this text")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for a mutant's tests")
    parser.add_argument("--json", action="store_true", help="print each mutant as a line of JSON")
    given = parser.parse_args(words)
    fates: Counter[Fate] = Counter()
    mutants = draw(given.count, given.seed, given.only)[given.skip :]
    for number, verdict in enumerate(run(mutants, given.jobs, given.timeout), given.skip + 1):
        fates[verdict.fate] += 1
        _show(number, verdict, as_json=given.json)
    survived, unjudged = fates[Fate.SURVIVED], fates[Fate.UNJUDGED]
    print(f"{len(mutants)} mutants, {survived} survived, {unjudged} unjudged", file=sys.stderr)
    return int((survived + unjudged) * 20 > len(mutants))


def _show(number: int, verdict: Verdict, *, as_json: bool) -> None:
    mutant = verdict.mutant
    if as_json:
        print(json.dumps(asdict(verdict)), flush=True)
        return
    old, new = (" ".join(text.split())[:120] for text in (mutant.old, mutant.new))
    print(f"{number:4} {verdict.fate:8} {verdict.seconds:6.1f} s  {mutant.path}:{mutant.line}")
    print(f"       {old}  ->  {new}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
