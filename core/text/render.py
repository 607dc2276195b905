"""Make the only text that leaves: commands, output and words, each as ``escapes`` shows it."""

import re
from itertools import islice, zip_longest

from core.model.command import ExecPlan, PlannedCommand, Reading, Unreadable
from core.shell import reader
from core.shell.quoting import quote_routing
from core.shell.working_directory import depends_on_surroundings
from core.text.escape import LINE_MARK, Redacted, broken, counted, redact, shown
from core.text.listed_keys import listed_pieces
from core.text.printed_values import opened
from core.text.secrets import Piece, mark, vector_pieces
from core.text.stdin_preview import input_text

__all__ = [
    "CONTINUATION",
    "LINE_MARK",
    "Redacted",
    "command_text",
    "join",
    "own_lines",
    "phrase",
    "printed",
    "redact",
    "shell_statement",
    "show_argument",
    "show_argv",
    "show_command",
]

CONTINUATION = "   ┆ "
"""What starts each further line of one numbered command; frames are escaped in commands."""

_BARE_ARGUMENT = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_BARE_PROGRAM = re.compile(r"[A-Za-z0-9_@%+:,./-]+")
_RESERVED = frozenset(
    ("case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if")
) | {"in", "select", "then", "time", "until", "while"}


def printed(text: str, most: int = 3_000) -> Redacted:
    """Return the end of what a program printed: masked as a whole, then cut to ``most`` characters.

    Line feeds break the line without a mark: output is read, not approved.
    """
    parts = opened(listed_pieces(text.rstrip("\n")))
    found = "".join(mark(one.kind) if one.kind else own_lines(one.text).text for one in parts)
    return Redacted(found if len(found) <= most else f"…{found[-most:]}")


def own_lines(text: str) -> Redacted:
    """Mask a text whose line feeds are ours, or nobody's to be deceived by: they have no mark."""
    return Redacted(redact(text, multiline=True).text.replace(f"{LINE_MARK}\n", "\n"))


def join(separator: str, parts: tuple[Redacted, ...]) -> Redacted:
    """Join texts that are safe with a separator of our own."""
    return Redacted(separator.join(part.text for part in parts))


def phrase(words: str, *values: Redacted) -> Redacted:
    """Put safe values into the ``{}`` of words of our own."""
    return Redacted(words.format(*(value.text for value in values)))


def show_argv(argv: tuple[str, ...]) -> Redacted:
    """Quote a vector as a shell would read it back, bounds of each element visible."""
    words = (
        _quoted(argument, parts, program=position == 0)
        for position, (argument, parts) in enumerate(zip(argv, vector_pieces(argv), strict=True))
    )
    return Redacted(counted(broken(" ".join(words))))


def show_argument(argv: tuple[str, ...], place: int) -> Redacted:
    """Quote one element of a vector as ``show_argv`` does, in one line."""
    parts = next(islice(vector_pieces(argv), place, None))
    return Redacted(counted(_quoted(argv[place], parts, program=place == 0)))


def command_text(plan: ExecPlan) -> Redacted:
    """Return what runs: quoted vectors, numbered where several; or the exact text for a shell.

    Where the planner expanded something or left a comment out, the text as requested is shown
    below; all that the request puts on standard input comes last.
    """
    read = input_text(plan)
    return join("\n", (_command(plan), read)) if read.text else _command(plan)


def _command(plan: ExecPlan) -> Redacted:
    if plan.unreadable is not None:
        return redact(plan.text, multiline=True, code=True)
    if plan.part is not None and plan.part.opens_terminal:
        return redact(plan.text, strict=True)  # a sentence of ours; the folder in it is quoted
    placed = tuple(_placed(command) for command in plan.commands)
    asked = _asked(plan)
    if len(placed) == 1 and not asked:
        return placed[0]
    pairs = zip_longest(placed, ("", *plan.connectors), fillvalue="")
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
    """Return that a shell runs the text and why it could not be read; empty where no shell runs."""
    if plan.unreadable is None:
        return Redacted("")
    words = "A shell will run this text as is; Sayso could not parse it unambiguously ({})."
    return phrase(words, redact(plan.unreadable.detail))


def _asked(plan: ExecPlan) -> tuple[str, ...]:
    """Return the requested text where the vectors say more, less or something else."""
    reading = reader.read(plan.text)
    if isinstance(reading, Unreadable):
        return ()
    if not depends_on_surroundings(reading) and not _comments(plan.text, reading):
        return ()
    text = redact(plan.text, multiline=True, code=True).text
    return (f"asked as: {text}".replace("\n", f"\n{CONTINUATION}"),)


def _comments(text: str, reading: Reading) -> bool:
    """Return whether a comment was left out: a mark of one is in the text and in no word."""
    in_words = sum(word.count("#") for argv in reading.argvs for word in argv if type(word) is str)
    return text.count("#") > in_words


def _placed(command: PlannedCommand) -> Redacted:
    """Show a vector, its redirections, and its folder where ``cd`` led it to another.

    An argument that resembles either is quoted.
    """
    vector = join("", (show_argv(command.argv), Redacted(quote_routing(command.routing))))
    if command.cwd is None:
        return vector
    return phrase("{}   (in {})", vector, show_argv((command.cwd.path,)))


def _numbered(number: int, connector: str, argv: str) -> str:
    head = f"{number}. {connector} " if connector else f"{number}. "
    return head + argv.replace("\n", f"\n{CONTINUATION}")


def _quoted(argument: str, parts: tuple[Piece, ...], *, program: bool) -> str:
    bare = _BARE_PROGRAM if program else _BARE_ARGUMENT
    if bare.fullmatch(argument) and not (program and argument in _RESERVED):
        return "".join(shown(part) for part in parts)
    # Quotes are doubled before escaping, so that an escape is never inside the quoting.
    safe = (Piece(part.text.replace("'", "'\\''"), part.kind) for part in parts)
    return "'" + "".join(shown(part, strict=program) for part in safe) + "'"
