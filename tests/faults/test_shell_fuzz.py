"""What is read is what bash and dash run: a differential fuzz, with its negative controls."""

import os
import re
import shlex
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from glob import escape, glob
from pathlib import Path
from random import Random

import pytest
import tree_sitter_bash
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tree_sitter import Language, Node, Parser

from core.model.command import (
    Connector,
    ErrorTo,
    OpenWord,
    PartKind,
    Reading,
    Routing,
    Unreadable,
    WordPart,
)
from core.policy import second_reader, shell, syntax
from core.runner.expand import ExpandedCommand, ExpandedLine, NoFolder, expand
from tests.faults.shell_lines import draw_line
from tests.faults.shell_runs import Disagreement, Ran, ShellRuns

Reader = Callable[[str], Reading | Unreadable]
Expander = Callable[[Reading, str, str], ExpandedLine | Unreadable | NoFolder]

BATCH = 100
BATCHES = 300
STRINGS = 20_000
ACCEPTED = 6_000
EACH_FORM = 100
FORMS = {"cd", "redirection", "line break", "comment"} | {
    kind.value for kind in PartKind if kind is not PartKind.LITERAL
}
# The kill builtin is the one that could hurt: it needs no execve.
_HARMFUL = re.compile(r"kill|exit")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Tally:
    """What a campaign saw: distinct lines, those checked in both shells, and disagreements."""

    lines: set[str] = field(default_factory=set)
    checked: int = 0
    wrong: list[Disagreement] = field(default_factory=list)
    forms: Counter[str] = field(default_factory=Counter)


def forms_of(line: str, reading: Reading) -> list[str]:
    """Name what a reading holds beyond plain words and connectors."""
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
        "comment": " #" in line and not any("#" in str(words) for words in reading.argvs),
    }
    return [*set(kinds), *(name for name, is_there in found.items() if is_there)]


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


def campaign(
    read: Reader,
    runs: ShellRuns,
    batches: int,
    *,
    same: bool = False,
    expander: Expander = expand,
) -> Tally:
    """Read ``batches`` times 100 drawn lines and check each accepted one in both shells.

    ``same`` draws the same lines in each session; otherwise each session sees new ones.
    """
    tally = Tally()

    def judge(line: str) -> list[Disagreement] | None:
        reading = read(line)
        if isinstance(reading, Unreadable):
            return None
        expanded = expander(reading, str(runs.cwd), runs.home_for(line))
        if not isinstance(expanded, ExpandedLine) or not runs.runnable(expanded):
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


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_accepted_line_runs_otherwise_than_it_was_read(runs: ShellRuns) -> None:
    """Twenty thousand hostile lines: bash and dash run exactly what each reading holds."""
    tally = campaign(shell.read, runs, BATCHES)
    print(f"{len(tally.lines)} lines, {tally.checked} accepted and run in bash and dash")
    print(", ".join(f"{form}: {count}" for form, count in sorted(tally.forms.items())))
    assert not tally.wrong, "\n".join(map(repr, tally.wrong[:10]))
    assert len(tally.lines) >= STRINGS
    assert tally.checked >= ACCEPTED
    assert {form for form, count in tally.forms.items() if count >= EACH_FORM} == FORMS


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
    return replace(reading, connectors=tuple(turned))


def redirections_by_kind(line: str) -> Reading | Unreadable:
    """Read soundly, then forget that ``2>&1 >/dev/null`` is not ``>/dev/null 2>&1``."""
    reading = shell.read(line)
    if isinstance(reading, Unreadable):
        return reading
    return replace(reading, routings=tuple(map(_by_kind, reading.routings)))


def _by_kind(routing: Routing) -> Routing:
    swapped = routing.null_output and routing.error is ErrorTo.OUTPUT
    return replace(routing, error=ErrorTo.NULL) if swapped else routing


def line_breaks_as_blanks(line: str) -> Reading | Unreadable:
    """Read soundly, but take a line break for a blank."""
    return shell.read(line.replace("\n", " "))


def globs_quoted_too(line: str) -> Reading | Unreadable:
    """Read soundly, but glob what was in quotes as well."""
    reading = shell.read(line)
    if isinstance(reading, Unreadable):
        return reading
    argvs = tuple((words[0], *map(_globbed, words[1:])) for words in reading.argvs)
    return replace(reading, argvs=argvs)


def _globbed(word: str | OpenWord) -> str | OpenWord:
    if isinstance(word, OpenWord) or "*" not in word:
        return word
    before, _, after = word.partition("*")
    parts = (
        WordPart(PartKind.LITERAL, before),
        WordPart(PartKind.GLOB, "*"),
        WordPart(PartKind.LITERAL, after),
    )
    return OpenWord(tuple(part for part in parts if part.text))


def expand_forgetting_the_dash(reading: Reading, folder: str, home: str) -> ExpandedLine | None:
    """Expand soundly, but leave matches that begin with a dash as they are."""
    return _changed(expand(reading, folder, home), lambda word: word.removeprefix("./"))


def expand_in_reverse(reading: Reading, folder: str, home: str) -> ExpandedLine | None:
    """Expand soundly, but hand over the words of a glob in no particular order."""
    line = expand(reading, folder, home)
    if not isinstance(line, ExpandedLine) or not _is_one_glob(reading):
        return None
    (command,) = line.commands
    argv = (command.argv[0], *reversed(command.argv[1:]))
    return replace(line, commands=(replace(command, argv=argv),))


def expand_with_dotfiles(reading: Reading, folder: str, home: str) -> ExpandedLine | None:
    """Expand by the standard library, told to find hidden files."""
    if not _is_one_glob(reading) or reading.routings:
        return None
    word = reading.argvs[0][1]
    pattern = "".join(
        part.text if part.kind is PartKind.GLOB else escape(part.text.replace("HOME", home))
        for part in word.parts
    )
    found = sorted(glob(pattern, root_dir=folder, include_hidden=True))  # noqa: PTH207 - relative
    guarded = [f"./{one}" if one.startswith("-") else one for one in found]
    return ExpandedLine((ExpandedCommand((reading.argvs[0][0], *guarded), folder),), ())


def expand_without_steps(reading: Reading, folder: str, home: str) -> ExpandedLine | None:
    """Expand soundly, but start everything in the first folder."""
    line = expand(reading, folder, home)
    if not isinstance(line, ExpandedLine):
        return None
    return replace(line, commands=tuple(replace(one, folder=folder) for one in line.commands))


def expand_blanks_unsplit(reading: Reading, folder: str, home: str) -> ExpandedLine | None:
    """Expand each variable as if it stood in quotes."""
    quoted = tuple(tuple(map(_in_quotes, words)) for words in reading.argvs)
    line = expand(replace(reading, argvs=quoted), folder, home)
    return line if isinstance(line, ExpandedLine) else None


def _in_quotes(word: str | OpenWord) -> str | OpenWord:
    if isinstance(word, str):
        return word
    values = (PartKind.VALUE, PartKind.QUOTED_VALUE)
    return OpenWord(
        tuple(replace(p, kind=values[1]) if p.kind is values[0] else p for p in word.parts)
    )


def _is_one_glob(reading: Reading) -> bool:
    """Tell whether a line is one plain name and one word with a glob."""
    words = reading.argvs[0]
    return (
        len(reading.argvs) == 1
        and len(words) == 2
        and isinstance(words[0], str)
        and isinstance(words[1], OpenWord)
        and {part.kind for part in words[1].parts} <= {PartKind.GLOB, PartKind.LITERAL}
    )


def _changed(
    line: ExpandedLine | Unreadable | NoFolder, change: Callable[[str], str]
) -> ExpandedLine | None:
    if not isinstance(line, ExpandedLine):
        return None
    commands = (replace(one, argv=tuple(map(change, one.argv))) for one in line.commands)
    return replace(line, commands=tuple(commands))


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "broken",
    [
        *(tree_alone, names_unchecked, words_by_shlex, connectors_turned),
        *(redirections_by_kind, line_breaks_as_blanks, globs_quoted_too),
    ],
)
def test_the_checker_catches_a_broken_reader(runs: ShellRuns, broken: Reader) -> None:
    """Negative control: each reader that lacks a rule is seen to be unsound."""
    tally = campaign(broken, runs, 15, same=True)
    print(f"{broken.__name__}: {len(tally.wrong)} disagreements on {tally.checked} lines")
    assert tally.wrong


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "broken",
    [
        *(expand_forgetting_the_dash, expand_in_reverse, expand_with_dotfiles),
        *(expand_without_steps, expand_blanks_unsplit),
    ],
)
def test_the_checker_catches_a_broken_expansion(runs: ShellRuns, broken: Expander) -> None:
    """Negative control: each expander that lacks a rule is seen to be unsound."""
    tally = campaign(shell.read, runs, 30, same=True, expander=broken)
    print(f"{broken.__name__}: {len(tally.wrong)} disagreements on {tally.checked} lines")
    assert tally.wrong


def test_the_recorder_sees_what_a_shell_executes(runs: ShellRuns) -> None:
    """Negative control: vectors, order, exit status, folder and streams reach the checker."""
    reading = Reading((("ls", "a"), ("rg",)), (Connector.OR,))
    expanded = expand(reading, str(runs.cwd), "/")
    assert isinstance(expanded, ExpandedLine)
    assert runs.runnable(expanded)
    for path in ("bash", "dash"):
        line = "ls 'a' || cd sub && rg \"\" 2>&1 </dev/null | ls x"
        ran = sorted(runs.execute([f"/bin/{path}", "-c", line]))
        inside = str(runs.cwd / "sub")
        assert ran == [
            Ran(("ls", "a"), str(runs.cwd), ("input", "output", "error")),
            Ran(("ls", "x"), inside, ("pipe", "output", "error")),
            Ran(("rg", ""), inside, ("null", "pipe", "pipe")),
        ]
    assert not list(runs.check("ls a || rg", reading, expanded))
    assert list(runs.check("ls a; rg", reading, replace(expanded, connectors=(Connector.AND,))))
