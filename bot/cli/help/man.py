"""Generate the man page, sayso(1), from the parsers themselves; builds call it too."""

import argparse
import re
from collections.abc import Iterator, Mapping

from bot.cli import build_parser
from bot.cli.help.topics import ENVIRONMENT, EXIT_CODES, FILES, JSON


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parser of every command, groups before their members."""
    for action in parser._actions:  # noqa: SLF001 - argparse offers no other way
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - the same
            for child in action.choices.values():
                yield child
                yield from commands(child)


def arguments(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Yield each argument as people type it, with what it means; ``--help`` is left out."""
    for action in parser._actions:  # noqa: SLF001 - argparse offers no other way
        if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction):  # noqa: SLF001 - the same
            yield _written(action), action.help or ""


def _written(action: argparse.Action) -> str:
    value = action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper()
    value = "" if action.nargs == 0 else value if isinstance(value, str) else " ".join(value)
    return " ".join(filter(None, (", ".join(action.option_strings), value)))


def page(version: str) -> str:
    """Return the page in the man macros (man(7)), which `man -l` shows."""
    parser = build_parser()
    return "\n".join(
        (
            f'.TH SAYSO 1 "" "sayso {version}" "Sayso"',
            ".SH NAME",
            _text("sayso - your agents run commands on your say-so"),
            ".SH SYNOPSIS",
            ".B sayso\n.I COMMAND\n.RI [ ARGUMENTS ]",
            ".SH COMMANDS",
            *(line for one in commands(parser) for line in _command(one)),
            ".SH OUTPUT FOR PROGRAMS",
            _text(JSON),
            ".SH EXIT STATUS",
            *_rows(EXIT_CODES),
            ".PP",
            _text("sayso run passes on the code of the command that ran."),
            ".SH ENVIRONMENT",
            *_rows(ENVIRONMENT),
            ".SH FILES",
            *_rows({f"$SAYSO_HOME/{name}": meaning for name, meaning in FILES.items()}),
            "",
        )
    )


def _command(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f".SS {_text(parser.prog)}"
    yield _text(parser.description or "")
    yield from _rows(dict(arguments(parser)))
    if parser.epilog:
        yield ".PP\n.EX"
        yield from map(_text, parser.epilog.splitlines())
        yield ".EE"


def _rows(rows: Mapping[str, str]) -> Iterator[str]:
    for name, meaning in rows.items():
        yield f".TP\n.B {_text(name)}\n{_text(meaning)}"


def _text(words: str) -> str:
    r"""Escape a text for roff: no line of it is a request, and ``-`` stays ASCII (groff(7))."""
    escaped = words.rstrip("\n").replace("\\", r"\e").replace("-", r"\-")
    escaped = re.sub(r"[^\x00-\x7f]", lambda one: f"\\[u{ord(one[0]):04X}]", escaped)
    return re.sub(r"^(?=[.'])", r"\\&", escaped, flags=re.MULTILINE)
