"""Write ``docs/reference/cli.md`` from the parsers themselves: no flag goes undocumented."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from bot.cli import build_parser

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"

_HEAD = """\
# Commands

Generated from the parsers by `make docs`; a test compares.

| Exit code | Means |
| --- | --- |
| 0 | done |
| 1 | Sayso failed; nothing ran |
| 2 | wrong usage or configuration |
| 3 | denied |
| 4 | still pending, or timed out |

`sayso run` passes the command's own code through when it ran. Every command finds its state through
`SAYSO_HOME` (default `~/.sayso`).
"""


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parser of every command, groups before their members."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield child
                yield from commands(child)


def page() -> str:
    """Return the text of the page."""
    return _HEAD + "".join(_section(parser) for parser in commands(build_parser()))


def _section(parser: argparse.ArgumentParser) -> str:
    rows = [
        f"| {_written(action)} | {_cell(action.help)} |\n"
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
    ]
    table = "| Argument | Meaning |\n| --- | --- |\n" + "".join(rows) + "\n" if rows else ""
    about = f"{_purpose(parser)}\n\n" if _purpose(parser) else ""
    examples = f"```\n{parser.epilog.rstrip()}\n```\n" if parser.epilog else ""
    return f"\n## `{parser.prog}`\n\n{about}{table}{examples}".rstrip() + "\n"


def _purpose(parser: argparse.ArgumentParser) -> str:
    """Return the command's description, else its line in the help of its group."""
    if parser.description:
        return _sentence(parser.description)
    *above, name = parser.prog.split()
    groups = [build_parser(), *commands(build_parser())]
    group = next(each for each in groups if each.prog == " ".join(above))
    for action in group._actions:
        if isinstance(action, argparse._SubParsersAction):
            for listed in action._choices_actions:
                if listed.dest == name and listed.help:
                    return _sentence(listed.help)
    return ""


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return f"{text[0].upper()}{text[1:].removesuffix('.')}."


def _written(action: argparse.Action) -> str:
    """Return an argument as people type it."""
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
    if not isinstance(value, str):
        value = " ".join(value)
    value = "" if action.nargs == 0 else value or action.dest.upper()
    names = ", ".join(action.option_strings)
    return f"`{' '.join(part for part in (names, value or '') if part) or action.dest}`".replace(
        "|", "\\|"
    )


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|")
