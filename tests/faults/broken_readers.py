"""Define readers and expanders that each lack one rule: the fuzz must find every one of them."""

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from glob import escape, glob

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from core.model.command import (
    Connector,
    ErrorTo,
    OpenWord,
    PartKind,
    Reading,
    Routing,
    Unreadable,
    Word,
    WordPart,
)
from core.planning.expand import ExpandedCommand, ExpandedLine, NoFolder, _Expansion, expand
from core.runner.supervisor.connectors import filled
from core.shell import posix_reader, reader, tree_reader
from core.shell.placeholders import STATUS
from core.shell.working_directory import stages_of


def _leaves(node: Node) -> list[Node]:
    return [leaf for child in node.children for leaf in _leaves(child)] or [node]


def tree_alone(line: str) -> Reading | Unreadable:
    """Take the words of a valid tree as they are: no byte coverage, no charset (R3, R5)."""
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
    """Let both readers agree, and forget that a shell has keywords of its own (R9)."""
    if reader._unfit(line):
        return Unreadable("R1", "unfit")
    first, second = tree_reader.read(line), posix_reader.read(line)
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
    reading = reader.read(line)
    if isinstance(reading, Unreadable):
        return reading
    turned = [Connector.OR if c is Connector.AND else c for c in reading.connectors]
    return replace(reading, connectors=tuple(turned))


def redirections_by_kind(line: str) -> Reading | Unreadable:
    """Read soundly, then forget that ``2>&1 >/dev/null`` is not ``>/dev/null 2>&1``."""
    reading = reader.read(line)
    if isinstance(reading, Unreadable):
        return reading
    return replace(reading, routings=tuple(map(_by_kind, reading.routings)))


def _by_kind(routing: Routing) -> Routing:
    swapped = routing.null_output and routing.error is ErrorTo.OUTPUT
    return replace(routing, error=ErrorTo.NULL) if swapped else routing


def line_breaks_as_blanks(line: str) -> Reading | Unreadable:
    """Read soundly, but take a line break for a blank."""
    return reader.read(line.replace("\n", " "))


def globs_quoted_too(line: str) -> Reading | Unreadable:
    """Read soundly, but also glob what was in quotes."""
    reading = reader.read(line)
    if isinstance(reading, Unreadable):
        return reading
    argvs = tuple((words[0], *map(_globbed, words[1:])) for words in reading.argvs)
    return replace(reading, argvs=argvs)


def statuses_as_text(line: str) -> Reading | Unreadable:
    """Read soundly, but take the last status for text."""
    reading = reader.read(line)
    if isinstance(reading, Unreadable):
        return reading
    return replace(reading, argvs=tuple(tuple(map(_as_text, words)) for words in reading.argvs))


def _as_text(word: str | OpenWord) -> str | OpenWord:
    if isinstance(word, str):
        return word
    literal = WordPart(PartKind.LITERAL, STATUS)
    return OpenWord(tuple(literal if p.kind is PartKind.STATUS else p for p in word.parts))


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
    """Expand with the standard library, told to find hidden files."""
    if not _is_one_glob(reading) or reading.routings:
        return None
    program, word = reading.argvs[0]
    assert isinstance(program, str)
    assert isinstance(word, OpenWord)
    pattern = "".join(
        part.text if part.kind is PartKind.GLOB else escape(part.text.replace("HOME", home))
        for part in word.parts
    )
    found = sorted(glob(pattern, root_dir=folder, include_hidden=True))  # noqa: PTH207 - relative
    guarded = [f"./{one}" if one.startswith("-") else one for one in found]
    return ExpandedLine((ExpandedCommand((program, *guarded), folder),), ())


def expand_without_steps(reading: Reading, folder: str, home: str) -> ExpandedLine | None:
    """Expand soundly, but start everything in the first folder."""
    line = expand(reading, folder, home)
    if not isinstance(line, ExpandedLine):
        return None
    return replace(line, commands=tuple(replace(one, folder=folder) for one in line.commands))


def expand_without_failures(reading: Reading, folder: str, home: str) -> ExpandedLine | None:
    """Expand soundly, but assume that every command succeeds."""
    line = expand(reading, folder, home)
    if not isinstance(line, ExpandedLine):
        return None
    known = (replace(c, argv=tuple(filled(c.argv, c.late, 0)), late=()) for c in line.commands)
    return replace(line, commands=tuple(known))


class _Unsettled(_Expansion):
    """Expands as if a change of folder had no status of its own."""

    def _enter(self, operand: Word, *, first: bool) -> None:
        settled = self._settled
        super()._enter(operand, first=first)
        self._settled = settled


def expand_steps_without_status(reading: Reading, folder: str, home: str) -> ExpandedLine | None:
    """Expand soundly, but take ``$?`` after ``cd`` for the status before it."""
    stages = stages_of(reading)
    if isinstance(stages, Unreadable) or not isinstance(
        expand(reading, folder, home), ExpandedLine
    ):
        return None
    return _Unsettled(reading, folder, home).line(stages)


def expand_first_turns(reading: Reading, folder: str, home: str) -> ExpandedLine | None:
    """Expand soundly, but give a loop only its first word."""
    loops = tuple(replace(loop, words=loop.words[:1]) for loop in reading.loops)
    line = expand(replace(reading, loops=loops), folder, home)
    return line if isinstance(line, ExpandedLine) else None


def braces_as_text(line: str) -> Reading | Unreadable:
    """Read soundly, but take a list in braces for text."""
    return reader.read(re.sub(r"\{[^{}'\"\s]*,[^{}'\"\s]*\}", r"'\g<0>'", line))


def expand_blanks_unsplit(reading: Reading, folder: str, home: str) -> ExpandedLine | None:
    """Expand each variable as if it were in quotes."""
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
    """Return whether a line is one plain name and one word with a glob."""
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
