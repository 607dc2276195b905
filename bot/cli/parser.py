"""Build the parsers: commands as rows of a table, help as it was written, mistakes with a hint."""

import argparse
import os
import sys

from bot.cli import fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, NoReturn

    Commands = argparse._SubParsersAction["Parser"]  # noqa: SLF001 - argparse offers no public name
    Argument = tuple[tuple[str, ...], dict[str, Any]]
    Run = Callable[[argparse.Namespace], int]

_PLAIN_WIDTH = 80
_MARGIN = 2
_REQUIRED = "the following arguments are required"
"""How argparse's message about missing arguments begins."""
_MOST_LISTED = 12
"""Commands that fit into one line of an error."""
_SYNONYMS = {
    "allow": "approve",
    "ask": "run",
    "kill": "cancel",
    "page": "login",
    "ps": "status",
    "reject": "deny",
    "setup": "init",
    "start": "serve",
    "up": "serve",
    "list": "pending",
    "ls": "pending",
    "log": "history",
    "logs": "history",
    "version": "--version",
}
"""What other programs call those of our commands that are spelt differently."""


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Keep the line breaks of examples.

    The width is given here because argparse would import ``shutil`` for it, with every parser that
    it creates: 4 ms of each `sayso run`.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - _MARGIN)


class Parser(argparse.ArgumentParser):
    """A parser that suggests what was probably meant, and reports mistakes in JSON if asked to.

    ``hint`` is added to the message about unknown words. ``under`` is the heading in the help.
    """

    hint = ""
    under = ""

    def __init__(self, **options: "Any") -> None:  # noqa: ANN401 - argparse's own
        super().__init__(**{"formatter_class": Formatter, "allow_abbrev": False, **options})

    def arrange(self, commands: "Commands", headings: "Sequence[str]") -> None:
        """Sort the commands by heading and name, for the help and for every iteration."""
        listed = commands._choices_actions  # noqa: SLF001 - argparse offers no other way
        listed.sort(key=lambda one: (headings.index(commands.choices[one.dest].under), one.dest))
        lines, above = [], ""
        for one in listed:
            parser = commands.choices[one.dest] = commands.choices.pop(one.dest)
            lines += [f"\n{parser.under}:"] if parser.under != above else []
            lines.append(f"  {one.dest:<12} {one.help}")
            above = parser.under
        commands.help = argparse.SUPPRESS
        self.description = f"{(self.description or '').rstrip()}\n" + "\n".join(lines)

    def error(self, message: str) -> "NoReturn":
        """Report a mistake and exit with code 2."""
        if message.startswith(_REQUIRED):
            message = f"{message}; see `{self.prog} --help`"
        raise SystemExit(fail(message, f"{self.prog}: error", usage=self.format_usage()))

    def _print_message(self, message: str, file: "Any" = None) -> None:  # noqa: ANN401 - argparse's own
        """Print the help; argparse itself ignores that it cannot be written."""
        (file or sys.stderr).write(message)

    def unknown(self, words: "Iterable[str]") -> "NoReturn":
        """Report words that this command does not take, and what was probably meant."""
        known = [name for action in self._actions for name in action.option_strings]
        hints = " ".join(f"{word}{meant(word.partition('=')[0], known)}" for word in words)
        self.error(f"unrecognized arguments: {hints}{'' if hints.endswith('?') else self.hint}")

    def _check_value(self, action: argparse.Action, value: "Any") -> None:  # noqa: ANN401 - argparse's own
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:  # noqa: SLF001
            inner = _SYNONYMS.get(value) if "serve" in action.choices else None
            inner = inner or _below(action, value)
            hint = f"; did you mean {inner!r}?" if inner else meant(value, action.choices)
            hint = hint or f"; {self._choices(action)}{_outside(value)}"
            raise argparse.ArgumentError(None, f"unknown command {value!r}{hint}")
        super()._check_value(action, value)

    def _choices(self, commands: "Commands") -> str:
        if len(commands.choices) > _MOST_LISTED:
            return f"see `{self.prog} --help`"
        return f"choose from {', '.join(commands.choices)}"


def _below(commands: "Commands", word: str) -> str:
    """Return the words that lead to a subcommand with this name, empty if there is none."""
    for name, parser in commands.choices.items():
        for one in parser._actions:  # noqa: SLF001 - argparse offers no other way
            if isinstance(one, argparse._SubParsersAction):  # noqa: SLF001 - the same
                rest = word if word in [*one.choices] else _below(one, word)
                if rest:
                    return f"{name} {rest}"
    return ""


def _outside(word: str) -> str:
    """Return the question whether a command outside every group was meant, empty for none."""
    from bot.cli import build_parser  # noqa: PLC0415 - for mistakes only; it imports all commands

    known = members(build_parser())
    return f", or did you mean `sayso {word}`?" if word in known else ""


def meant(word: str, known: "Iterable[str]") -> str:
    """Return a question that suggests the most similar known word; empty if none is close."""
    from difflib import get_close_matches  # noqa: PLC0415 - for mistakes only

    # Without their dashes, which all options have and which make any two of them alike.
    bare = {name.lstrip("-"): name for name in known}
    found = get_close_matches(word.lstrip("-"), bare, n=1)
    return f"; did you mean {bare[found[0]]!r}?" if found else ""


def arg(*names: str, **options: "Any") -> "Argument":  # noqa: ANN401 - argparse's own
    """Return one argument of a command, as ``add_argument`` takes it."""
    return names, options


JSON = arg("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
"""Left out of the namespace if not given: ``build_parser`` has the default for all."""


def command(
    commands: "Commands",
    name: str,
    purpose: str,
    examples: str,
    run: "Run",
    *arguments: "Argument",
    json: str = "print JSON",
) -> Parser:
    """Add one command and return its parser; each line of ``examples`` is one example.

    ``json`` is the help of its option ``--json``; empty if it defines its own.
    """
    parser = commands.add_parser(
        name, help=purpose, description=_sentence(purpose), epilog=_epilog(examples)
    )
    for names, options in (*arguments, *((JSON[0], {**JSON[1], "help": json}) for _ in json[:1])):
        parser.add_argument(*names, **options)
    parser.set_defaults(run=run, parser=parser)
    return parser


def group(
    commands: "Commands",
    name: str,
    purpose: str,
    examples: str = "",
    *,
    bare: "Run | None" = None,
    **options: "Any",  # noqa: ANN401 - argparse's own
) -> "Commands":
    """Add a command that has subcommands; alone it does ``bare``, or lists them."""
    parser = commands.add_parser(
        name, help=purpose, description=_sentence(purpose), epilog=_epilog(examples)
    )
    parser.set_defaults(run=bare or incomplete, parser=parser)
    if bare is not None:
        parser.add_argument(*JSON[0], **JSON[1])
    made: Commands = parser.add_subparsers(
        **{"dest": "action", "required": False, "metavar": "ACTION", **options}
    )
    return made


def under(commands: "Commands", heading: str) -> None:
    """Put the commands that have no heading in the help yet under this one."""
    for parser in commands.choices.values():
        parser.under = parser.under or heading


def incomplete(args: argparse.Namespace) -> int:
    """Print that a subcommand is missing, and what to choose from; return 2.

    It uses standard error and 2, unlike `sayso` alone: `sayso lockdown && …` must not look locked.
    """
    parser: argparse.ArgumentParser = args.parser
    words = f"no subcommand given; choose from {', '.join(members(parser))}"
    return fail(words, parser.prog, usage=f"{parser.format_help()}\n")


def members(parser: argparse.ArgumentParser) -> list[str]:
    """Return the names of a command's subcommands, in the order of its help."""
    (inner,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))  # noqa: SLF001 - argparse offers no other way
    return [one.dest for one in inner._choices_actions]  # noqa: SLF001 - the same


def _sentence(purpose: str) -> str:
    return f"{purpose[0].upper()}{purpose[1:]}."


def _epilog(examples: str) -> str | None:
    lines = examples.strip("\n").splitlines()
    if not lines:
        return None
    head = "example" if len(lines) == 1 else "examples"
    return "\n".join((f"{head}:", *(f"  {line}" for line in lines)))


def columns() -> int:
    """Return the terminal's width as ``shutil.get_terminal_size`` does."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size().columns or _PLAIN_WIDTH
    except OSError:
        return _PLAIN_WIDTH
