"""Write ``docs/reference/cli.md`` from the parsers themselves: no flag goes undocumented."""

import argparse
from pathlib import Path

from bot.cli import build_parser
from bot.cli.help.man import arguments, commands
from bot.cli.help.topics import EXIT_CODES, JSON

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"

_HEAD = """\
# Commands

Generated from the parsers by `make docs`; a test compares. `sayso help --man | man -l -` shows the
same as a man page; `sayso completion SHELL` prints a completion script for bash, zsh or fish.

| Exit code | Means |
| --- | --- |
"""
_BELOW = """
`sayso run` passes the command's own code through when it ran. Every command finds its state through
`SAYSO_HOME` (default `~/.sayso`).

Results are on standard output, errors and refusals on standard error.

"""


def page() -> str:
    """Return the text of the page."""
    codes = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES.items())
    return f"{_HEAD}{codes}{_BELOW}{JSON}" + "".join(map(_section, commands(build_parser())))


def _section(parser: argparse.ArgumentParser) -> str:
    rows = [f"| `{_cell(name)}` | {_cell(text)} |\n" for name, text in arguments(parser)]
    table = "| Argument | Meaning |\n| --- | --- |\n" + "".join(rows) + "\n" if rows else ""
    examples = f"```\n{parser.epilog.rstrip()}\n```\n" if parser.epilog else ""
    about = f"{parser.description}\n\n"
    return f"\n## `{parser.prog}`\n\n{about}{table}{examples}".rstrip() + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
