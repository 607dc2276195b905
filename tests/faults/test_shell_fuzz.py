"""Check that bash, dash and zsh run what is read: a differential fuzz with negative controls."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.model.command import (
    Connector,
    OpenWord,
    PartKind,
    Reading,
    Unreadable,
)
from core.planning.expand import ExpandedLine, NoFolder, expand
from core.shell import reader
from tests.faults import shell_runs
from tests.faults.broken_readers import (
    braces_as_text,
    connectors_turned,
    expand_blanks_unsplit,
    expand_first_turns,
    expand_forgetting_the_dash,
    expand_in_reverse,
    expand_steps_without_status,
    expand_with_dotfiles,
    expand_without_failures,
    expand_without_steps,
    globs_quoted_too,
    line_breaks_as_blanks,
    names_unchecked,
    redirections_by_kind,
    statuses_as_text,
    tree_alone,
    words_by_shlex,
)
from tests.faults.shell_expected import Ran
from tests.faults.shell_lines import draw_line
from tests.faults.shell_runs import SHELLS, Disagreement, ShellRuns, has_braces

Reader = Callable[[str], Reading | Unreadable]
Expander = Callable[[Reading, str, str], ExpandedLine | Unreadable | NoFolder]

BATCH = 100
ACCEPTED = int(os.environ.get("SAYSO_FUZZ_LINES", "6000"))
"""Lines that must be accepted and run in the shells; `make fuzz` asks for 200,000."""
SAMPLE = 600
"""The number in `make test`."""
PATIENCE_S = max(ACCEPTED // 20, 300)
EACH_FORM = 60
"""At least one in this many accepted lines is of each form."""
FORMS = {
    "cd",
    "redirection",
    "line break",
    "comment",
    "braces",
    "joined lines",
    "cd last",
    "loop",
} | {kind.value for kind in PartKind if kind is not PartKind.LITERAL}
# The kill builtin is the one that could do harm: it needs no execve.
_HARMFUL = re.compile(r"kill|exit")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Tally:
    """What a campaign saw: distinct lines, those checked in the shells, and disagreements."""

    lines: set[str] = field(default_factory=set)
    checked: int = 0
    wrong: list[Disagreement] = field(default_factory=list)
    forms: Counter[str] = field(default_factory=Counter)


def forms_of(line: str, reading: Reading) -> list[str]:
    """Name what a reading contains beyond plain words and connectors."""
    kinds = [
        part.kind.value
        for words in reading.argvs
        for word in words
        if isinstance(word, OpenWord)
        for part in word.parts
        if part.kind is not PartKind.LITERAL
    ]
    found = {
        "cd": any(words[0] == "cd" for words in reading.argvs),
        "redirection": bool(reading.routings),
        "line break": "\n" in re.sub(r"'[^']*'|\"[^\"]*\"", "", line),
        "braces": has_braces(line) and "{" not in str(reading.argvs),
        "loop": bool(reading.loops),
        "joined lines": "\\\n" in line,
        "cd last": reading.argvs[-1][0] == "cd",
        "comment": " #" in line and not any("#" in str(words) for words in reading.argvs),
    }
    return [*set(kinds), *(name for name, is_there in found.items() if is_there)]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ShellRuns]:
    """Set up the shells; they start in the folder that has something to glob."""
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    monkeypatch.chdir(cwd)
    prepared = ShellRuns(tmp_path)
    yield prepared
    prepared.close()


def _can_be_run(line: str) -> bool:
    """Return whether a shell can be given the line and would only harm itself."""
    if "\0" in line or _LONE_SURROGATE.search(line):
        return False
    return not _HARMFUL.search(re.sub(r"['\"\\]", "", line))


def campaign(
    read: Reader,
    runs: ShellRuns,
    batches: int,
    *,
    same: bool = False,
    expander: Expander = expand,
) -> Tally:
    """Read ``batches`` times 100 drawn lines and check each accepted one in the shells.

    ``same`` draws the same lines in each session; otherwise each session sees new ones.
    """
    tally = Tally()

    def judge(line: str) -> list[Disagreement] | None:
        reading = read(line)
        if isinstance(reading, Unreadable):
            return None
        expanded = expander(reading, str(runs.cwd), runs.home_for(line))
        if not isinstance(expanded, ExpandedLine) or not runs.runnable(reading, expanded):
            return None
        tally.forms.update(forms_of(line, reading))
        return list(runs.check(line, reading, expanded))

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


def batches_for(accepted: int) -> int:
    """Return how many batches contain this many accepted lines.

    About a sixth are accepted; the more are drawn, the more of them were drawn before.
    """
    return accepted // (14 if accepted < 50_000 else 11)


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize(
    "accepted", [SAMPLE, pytest.param(ACCEPTED, marks=(pytest.mark.deep, pytest.mark.slow))]
)
def test_no_accepted_line_runs_otherwise_than_it_was_read(runs: ShellRuns, accepted: int) -> None:
    """Hostile lines, three times as many: the shells run exactly what each reading contains."""
    tally = campaign(reader.read, runs, batches_for(accepted))
    print(f"{len(tally.lines)} lines, {tally.checked} accepted and run in the shells")
    print(", ".join(f"{form}: {count}" for form, count in sorted(tally.forms.items())))
    assert not tally.wrong, "\n".join(map(repr, tally.wrong[:10]))
    assert len(tally.lines) >= accepted * 3
    assert tally.checked >= accepted
    least = accepted // EACH_FORM
    assert {form for form, count in tally.forms.items() if count >= least} == FORMS


ZSH_COVERS = {
    "x **/*.py": False,
    "x sub/**/": False,
    "x ** y": True,
    "x # it's\nx/c a 2>&1 2>&1": False,
    "x # it's\nx/c a 2>&1": True,
    "x 'it # s' 2>&1 2>&1": False,
}


def test_zsh_is_left_out_where_it_differs(runs: ShellRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    """And only there: run there all the same, it runs something else."""
    said: dict[str, bool] = {}
    seen: dict[str, set[str]] = {}
    for line in ZSH_COVERS:
        reading = reader.read(line)
        assert isinstance(reading, Reading)
        expanded = expand(reading, str(runs.cwd), runs.home_for(line))
        assert isinstance(expanded, ExpandedLine)
        assert runs.runnable(reading, expanded)
        said[line] = shell_runs.zsh_covers(line, reading, expanded)
        with monkeypatch.context() as patched:
            patched.setattr(shell_runs, "zsh_covers", lambda *_: True)
            seen[line] = {one.shell for one in runs.check(line, reading, expanded)}

    assert said == ZSH_COVERS
    assert seen == {line: set() if same else {"zsh"} for line, same in ZSH_COVERS.items()}


@pytest.mark.deep
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "broken",
    [
        *(tree_alone, names_unchecked, words_by_shlex, connectors_turned),
        *(redirections_by_kind, line_breaks_as_blanks, globs_quoted_too, braces_as_text),
        statuses_as_text,
    ],
)
def test_the_checker_catches_a_broken_reader(runs: ShellRuns, broken: Reader) -> None:
    """Negative control: each reader that lacks a rule is found to be unsound."""
    tally = campaign(broken, runs, 15, same=True)
    print(f"{broken.__name__}: {len(tally.wrong)} disagreements on {tally.checked} lines")
    assert tally.wrong


@pytest.mark.deep
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "broken",
    [
        *(expand_forgetting_the_dash, expand_in_reverse, expand_with_dotfiles),
        *(expand_without_steps, expand_blanks_unsplit, expand_first_turns),
        *(expand_without_failures, expand_steps_without_status),
    ],
)
def test_the_checker_catches_a_broken_expansion(runs: ShellRuns, broken: Expander) -> None:
    """Negative control: each expander that lacks a rule is found to be unsound."""
    tally = campaign(reader.read, runs, 30, same=True, expander=broken)
    print(f"{broken.__name__}: {len(tally.wrong)} disagreements on {tally.checked} lines")
    assert tally.wrong


def test_the_recorder_sees_what_a_shell_executes(runs: ShellRuns) -> None:
    """Negative control: vectors, order, exit status, folder and streams reach the checker."""
    reading = Reading((("ls", "a"), ("rg",)), (Connector.OR,))
    expanded = expand(reading, str(runs.cwd), "/")
    assert isinstance(expanded, ExpandedLine)
    assert runs.runnable(reading, expanded)
    for shell_name, _ in SHELLS:
        line = "ls 'a' || cd sub && rg \"\" 2>&1 </dev/null | ls x"
        ran = sorted(runs.execute(shell_name, line))
        inside = str(runs.cwd / "sub")
        assert ran == [
            Ran(("ls", "a"), str(runs.cwd), ("input", "output", "error")),
            Ran(("ls", "x"), inside, ("pipe", "output", "error")),
            Ran(("rg", ""), inside, ("null", "pipe", "pipe")),
        ]
    assert not list(runs.check("ls a || rg", reading, expanded))
    assert list(runs.check("ls a; rg", reading, replace(expanded, connectors=(Connector.AND,))))
