"""What is read is what bash and dash run: a differential fuzz, with its negative controls."""

import os
import re
import shlex
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
import tree_sitter_bash
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tree_sitter import Language, Node, Parser

from core.model.command import Connector, Reading, Unreadable
from core.policy import second_reader, shell, syntax
from tests.faults.shell_lines import draw_line
from tests.faults.shell_runs import Disagreement, ShellRuns

Reader = Callable[[str], Reading | Unreadable]

BATCH = 100
BATCHES = 225
STRINGS = 20_000
ACCEPTED = 6_000
# The kill builtin is the one that could hurt: it needs no execve.
_HARMFUL = re.compile(r"kill|exit")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Tally:
    """What a campaign saw: distinct lines, those checked in both shells, and disagreements."""

    lines: set[str] = field(default_factory=set)
    checked: int = 0
    wrong: list[Disagreement] = field(default_factory=list)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ShellRuns:
    """Set up the shells; they start in the folder that holds something to glob."""
    prepared = ShellRuns(tmp_path)
    monkeypatch.chdir(prepared.cwd)
    return prepared


def _can_be_run(line: str) -> bool:
    """Tell whether a shell can be given the line, and would only hurt itself."""
    if "\0" in line or _LONE_SURROGATE.search(line):
        return False
    return not _HARMFUL.search(re.sub(r"['\"\\]", "", line))


def campaign(read: Reader, runs: ShellRuns, batches: int, *, same: bool = False) -> Tally:
    """Read ``batches`` times 100 drawn lines and check each accepted one in both shells.

    ``same`` draws the same lines in each session; otherwise each session sees new ones.
    """
    tally = Tally()

    def judge(line: str) -> list[Disagreement] | None:
        reading = read(line)
        if isinstance(reading, Unreadable) or not runs.runnable(reading):
            return None
        return list(runs.check(line, reading))

    with ThreadPoolExecutor(os.cpu_count()) as pool:

        @settings(
            max_examples=batches,
            database=None,
            derandomize=same,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.randoms(use_true_random=True))
        def batch(rng: Random) -> None:
            drawn = [draw_line(rng) for _ in range(BATCH)]
            fresh = [line for line in dict.fromkeys(drawn) if line not in tally.lines]
            tally.lines.update(fresh)
            for outcome in pool.map(judge, filter(_can_be_run, fresh)):
                if outcome is not None:
                    tally.checked += 1
                    tally.wrong += outcome

        batch()
    return tally


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_accepted_line_runs_otherwise_than_it_was_read(runs: ShellRuns) -> None:
    """Twenty thousand hostile lines: bash and dash run exactly what each reading holds."""
    tally = campaign(shell.read, runs, BATCHES)
    print(f"{len(tally.lines)} lines, {tally.checked} accepted and run in bash and dash")
    assert not tally.wrong, "\n".join(map(repr, tally.wrong[:10]))
    assert len(tally.lines) >= STRINGS
    assert tally.checked >= ACCEPTED


def _leaves(node: Node) -> list[Node]:
    return [leaf for child in node.children for leaf in _leaves(child)] or [node]


def tree_alone(line: str) -> Reading | Unreadable:
    """Take the words of a faultless tree as they come: no byte coverage, no charset (R3, R5)."""
    data = line.encode(errors="replace")
    root = Parser(Language(tree_sitter_bash.language())).parse(data).root_node
    if root.has_error or (">" in line and "/" in line):
        return Unreadable("R2", "a syntax error, or a file that a redirection would write")
    argvs: list[list[str]] = [[]]
    connectors = []
    for leaf in _leaves(root):
        text = data[leaf.start_byte : leaf.end_byte].decode(errors="replace")
        if text in set(Connector):
            connectors.append(Connector(text))
            argvs.append([])
        elif leaf.type in {"word", "number"}:
            argvs[-1].append(text)
        elif leaf.type in {"raw_string", "string_content"}:
            argvs[-1].append(text.strip("'"))
    if not all(argvs):
        return Unreadable("R4", "nothing to run")
    return Reading(tuple(map(tuple, argvs)), tuple(connectors))


def names_unchecked(line: str) -> Reading | Unreadable:
    """Let both readers agree, and forget that a shell has words of its own (R9)."""
    if shell._unfit(line):
        return Unreadable("R1", "unfit")
    first, second = syntax.read(line), second_reader.read(line)
    return first if first == second else Unreadable("R10", "two readers disagree")


def words_by_shlex(line: str) -> Reading | Unreadable:
    """Split one command with the standard library, which knows quotes but no expansion."""
    try:
        words = shlex.split(line)
    except ValueError:
        return Unreadable("R2", "unbalanced quotes")
    if not words or any(mark in line for mark in "<>|&;"):
        return Unreadable("R4", "more than one command")
    return Reading((tuple(words),))


def connectors_turned(line: str) -> Reading | Unreadable:
    """Read soundly, then take each ``&&`` for ``||``."""
    reading = shell.read(line)
    if isinstance(reading, Unreadable):
        return reading
    turned = [Connector.OR if c is Connector.AND else c for c in reading.connectors]
    return Reading(reading.argvs, tuple(turned))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("broken", [tree_alone, names_unchecked, words_by_shlex, connectors_turned])
def test_the_checker_catches_a_broken_reader(runs: ShellRuns, broken: Reader) -> None:
    """Negative control: each reader that lacks a rule is seen to be unsound."""
    tally = campaign(broken, runs, 15, same=True)
    print(f"{broken.__name__}: {len(tally.wrong)} disagreements on {tally.checked} lines")
    assert tally.wrong


def test_the_recorder_sees_what_a_shell_executes(runs: ShellRuns) -> None:
    """Negative control: vectors, their order and their exit status reach the checker."""
    reading = Reading((("ls", "a"), ("rg",)), (Connector.OR,))
    assert runs.runnable(reading)
    for path in ("bash", "dash"):
        ran = runs.execute([f"/bin/{path}", "-c", "ls 'a' || rg \"\""])
        assert ran == [("ls", "a"), ("rg", "")]
    assert not list(runs.check("ls a || rg", reading))
    assert list(runs.check("ls a; rg", Reading((("ls", "a"),))))
