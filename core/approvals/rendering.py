r"""Make the only text that leaves: masked, and with nothing invisible or misleading in it.

Each character that a reader could not see or would take for another is shown as ``\u{202E}``.
Our own marks cannot be forged, since text that looks like one is escaped itself: a literal
``\u{`` starts with ``\u{005C}``, a literal ``[secret:`` with ``\u{005B}``. A line feed shows as
``⏎`` before the line breaks, so that a client's soft wrap never passes for one. ``\u{0020}\u{N40}``
(with a multiplication sign for N) is forty spaces.
"""

import re
from dataclasses import dataclass
from itertools import zip_longest

from core.approvals.lookalikes import deceptive, odd, stray_mark
from core.approvals.secrets import Piece, argument_pieces, mark, pieces
from core.model.command import ExecPlan, PlannedCommand, Unreadable
from core.policy import shell
from core.policy.quoting import quote_routing
from core.policy.steps import depends_on_surroundings

LINE_MARK = "\u23ce"
_TIMES = "\u00d7"
CONTINUATION = "   ┆ "
"""What starts each further line of one numbered command; frames are escaped in commands."""

_SPECIAL = re.compile(
    r"[\x00-\x1f\x7f]"
    r"|\\(?=u\{)"
    r"|\[(?=secret:)"
    r"|(?P<blanks> {17,})"
    r"|(?P<word>(?<![A-Za-z0-9])[A-Za-z0-9]*+[^\x00-\x7f](?:[A-Za-z0-9]|[^\x00-\x7f])*)"
)
_OUTSIDE_ASCII = re.compile(r"[^\x00-\x7f]")
_REPEATED = re.compile(rf"((?:\\u\{{[0-9A-F]+\}}|{LINE_MARK}\n))\1{{4,}}")
_BARE_ARGUMENT = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_BARE_PROGRAM = re.compile(r"[A-Za-z0-9_@%+:,./-]+")
_RESERVED = frozenset(
    ("case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if")
) | {"in", "select", "then", "time", "until", "while"}


@dataclass(frozen=True, slots=True)
class Redacted:
    """The only text that a channel accepts; made by the functions of this module alone."""

    text: str

    def __str__(self) -> str:
        return self.text


def redact(text: str, *, multiline: bool = False, strict: bool = False) -> Redacted:
    r"""Mask secrets and escape what cannot be read for certain.

    ``multiline`` breaks the line after the mark of a line feed; otherwise a line feed is
    ``\u{000A}``. ``strict`` is for names: everything outside ASCII is escaped.
    """
    shown = "".join(_shown(piece, strict=strict) for piece in pieces(text))
    if text and not text.strip(" "):
        shown = "\\u{0020}" * len(text)
    return Redacted(_counted(_broken(shown) if multiline else shown))


def printed(text: str, most: int = 3_000) -> Redacted:
    """Return the end of what a program printed: masked as a whole, then cut to ``most`` characters.

    Line feeds break the line without a mark: output is read, not approved.
    """
    shown = redact(text.rstrip("\n"), multiline=True).text.replace(f"{LINE_MARK}\n", "\n")
    return Redacted(shown if len(shown) <= most else f"…{shown[-most:]}")


def join(separator: str, parts: tuple[Redacted, ...]) -> Redacted:
    """Join texts that are safe with a separator of our own."""
    return Redacted(separator.join(part.text for part in parts))


def phrase(words: str, *values: Redacted) -> Redacted:
    """Put safe values into the ``{}`` of words of our own."""
    return Redacted(words.format(*(value.text for value in values)))


def show_argv(argv: tuple[str, ...]) -> Redacted:
    """Quote a vector as a shell would read it back, bounds of each element visible."""
    befores = ("", *argv)
    words = (
        _quoted(argument, before, program=position == 0)
        for position, (argument, before) in enumerate(zip(argv, befores, strict=False))
    )
    return Redacted(_counted(_broken(" ".join(words))))


def command_text(plan: ExecPlan) -> Redacted:
    """Return what runs: quoted vectors, numbered where several; or the exact text for a shell.

    Where the planner expanded something, the text as it was asked stands below.
    """
    if plan.unreadable is not None:
        return redact(plan.text, multiline=True)
    shown = tuple(_placed(command) for command in plan.commands)
    asked = _asked(plan)
    if len(shown) == 1 and not asked:
        return shown[0]
    pairs = zip_longest(shown, ("", *plan.connectors), fillvalue="")
    lines = [
        _numbered(number, str(connector), str(argv))
        for number, (argv, connector) in enumerate(pairs, 1)
    ]
    return Redacted("\n".join([*lines, *asked]))


def show_command(plan: ExecPlan) -> Redacted:
    """Return ``command_text``, with the statement that a shell will run it where one will."""
    statement = shell_statement(plan)
    text = command_text(plan)
    return Redacted(f"{text}\n\n{statement}") if statement.text else text


def shell_statement(plan: ExecPlan) -> Redacted:
    """Say that a shell runs the text and why it could not be read; empty where no shell runs."""
    if plan.unreadable is None:
        return Redacted("")
    words = "A shell will run this text as it stands; Sayso could not read it for certain ({}: {})."
    return phrase(words, redact(plan.unreadable.rule), redact(plan.unreadable.detail))


def _asked(plan: ExecPlan) -> tuple[str, ...]:
    """Return the text that was asked, where the vectors say more or other than it does."""
    reading = shell.read(plan.text)
    if isinstance(reading, Unreadable) or not depends_on_surroundings(reading):
        return ()
    text = redact(plan.text, multiline=True).text
    return (f"asked as: {text}".replace("\n", f"\n{CONTINUATION}"),)


def _placed(command: PlannedCommand) -> Redacted:
    """Show a vector, its redirections, and its folder where ``cd`` led it to another.

    An argument that looks like either stands in quotes.
    """
    shown = join("", (show_argv(command.argv), Redacted(quote_routing(command.routing))))
    if command.cwd is None:
        return shown
    return phrase("{}   (in {})", shown, show_argv((command.cwd.path,)))


def _numbered(number: int, connector: str, argv: str) -> str:
    head = f"{number}. {connector} " if connector else f"{number}. "
    return head + argv.replace("\n", f"\n{CONTINUATION}")


def _quoted(argument: str, before: str, *, program: bool) -> str:
    parts = argument_pieces(argument, before)
    bare = _BARE_PROGRAM if program else _BARE_ARGUMENT
    if bare.fullmatch(argument) and not (program and argument in _RESERVED):
        return "".join(_shown(part) for part in parts)
    # Quotes are doubled before escaping, so that an escape never stands inside the quoting.
    safe = (Piece(part.text.replace("'", "'\\''"), part.kind) for part in parts)
    return "'" + "".join(_shown(part, strict=program) for part in safe) + "'"


def _shown(piece: Piece, *, strict: bool = False) -> str:
    if piece.kind:
        return mark(piece.kind)
    return _SPECIAL.sub(_escape_all if strict else _escape, piece.text)


def _escape(match: re.Match[str]) -> str:
    if match["word"]:
        return _word(match["word"])
    if match["blanks"]:
        return f"\\u{{0020}}\\u{{{_TIMES}{len(match['blanks'])}}}"
    return _code(match[0])


def _escape_all(match: re.Match[str]) -> str:
    if match["word"]:
        return _OUTSIDE_ASCII.sub(lambda found: _code(found[0]), match["word"])
    return _escape(match)


def _word(word: str) -> str:
    suspicious = deceptive(word)
    shown: list[str] = []
    for character in word:
        if character.isascii():
            shown.append(character)
        elif suspicious or odd(character) or stray_mark(character, "".join(shown[-3:])):
            shown.append(_code(character))
        else:
            shown.append(character)
    return "".join(shown)


def _code(character: str) -> str:
    return f"\\u{{{ord(character):04X}}}"


def _broken(shown: str) -> str:
    return shown.replace("\\u{000A}", f"{LINE_MARK}\n")


def _counted(shown: str) -> str:
    return _REPEATED.sub(_count, shown)


def _count(match: re.Match[str]) -> str:
    unit = match[1]
    times = f"\\u{{{_TIMES}{len(match[0]) // len(unit)}}}"
    return f"{LINE_MARK}{times}\n" if unit.endswith("\n") else f"{unit}{times}"
