"""Make one call to the gateway for a command: print its answer, and derive the exit code."""

import json
import sys
from collections.abc import Callable, Mapping

from bot.cli.paths import socket_path
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

REFUSED = 3
RED, GREEN, YELLOW = 31, 32, 33


class Call:
    """A command that is one call: the method, its params by name, the text of its answer.

    ``params`` are the names of arguments, or a function that makes the params from all of them.
    ``rows`` is the part of the answer to show, ``done`` the key that says whether anything was
    done.
    """

    def __init__(
        self,
        method: str,
        params: "str | Callable[[argparse.Namespace], dict[str, object]]" = "",
        words: "Callable[[Any], str] | None" = None,
        *,
        rows: str = "",
        done: str = "done",
    ) -> None:
        self.method, self.params, self.words = method, params, words
        self.rows, self.done = rows, done

    def __call__(self, args: "argparse.Namespace") -> int:
        """Call, print, and return 0, or 3 if the gateway refused."""
        with Client(socket_path()) as client:
            answer = client.call(self.method, self._given(args))
        if self.rows:
            return show(args, answer[self.rows], self.words)
        return finish(args, answer, self.words, self.done)

    def _given(self, args: "argparse.Namespace") -> dict[str, object]:
        if not isinstance(self.params, str):
            return self.params(args)
        given = {name: getattr(args, name) for name in self.params.split()}
        return {name: value for name, value in given.items() if value is not None}


def show(args: "argparse.Namespace", found: "Any", words: "Callable[[Any], str] | None") -> int:  # noqa: ANN401 - JSON
    """Print what was found, as JSON or as text; return 0."""
    if args.json or words is None:
        print_json(found)
    else:
        sys.stdout.write(words(found))
    return 0


def finish(
    args: "argparse.Namespace",
    answer: "Mapping[str, Any]",
    words: "Callable[[Any], str] | None" = None,
    done: str = "done",
) -> int:
    """Print an answer; return 0, or 3 if nothing was done, which is reported on standard error."""
    well = bool(answer.get(done, True))
    if args.json:
        print_json(answer)
    elif well:
        sys.stdout.write(words(answer) if words else f"{answer['sentence']}\n")
    else:
        sys.stderr.write(f"sayso: {answer['sentence']}\n")
    return 0 if well else REFUSED


def print_json(value: object, indent: int | None = 2) -> int:
    """Print a value as indented JSON, or on one line without indent; return 0.

    Characters that are invisible, or that move visible ones, are escaped.
    """
    sys.stdout.write(visible(json.dumps(value, ensure_ascii=False, indent=indent) + "\n"))
    return 0


def visible(text: str) -> str:
    """Return a text that contains JSON with its invisible characters escaped."""
    plain = text.isascii() and "\x7f" not in text  # `dumps` escapes all other controls of ASCII
    return text if plain else "".join(map(_visible, text))


def _visible(character: str) -> str:
    return (
        character if character.isprintable() or character == "\n" else json.dumps(character)[1:-1]
    )


def paint(text: str, colour: int) -> str:
    """Return a text in an ANSI colour (ECMA-48 SGR), plain if no terminal shows it."""
    import os  # noqa: PLC0415 - only where something is painted

    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return text if plain or not sys.stdout.isatty() else f"\x1b[{colour}m{text}\x1b[0m"
