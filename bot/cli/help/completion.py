"""Find what can be typed at the cursor of a command line, from the parsers and the gateway.

The script of each shell runs ``sayso __complete WORDS`` with the words after the program's name,
the last of which is unfinished, and gets one candidate per line, with its meaning after a tab.
``:files`` and ``:folders`` leave it to the shell.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator

from bot.cli import build_parser
from bot.cli.help.topics import TOPICS
from bot.cli.parser import members
from bot.cli.paths import home, socket_path
from bot.client import Client
from core.errors import SaysoError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bot.cli.parser import Parser

Candidate = tuple[str, str]
_PATIENCE_S = 1.0
_FILES, _FOLDERS = frozenset({"F", "FILE", "CONFIG", "PATTERN"}), frozenset({"D"})
_PENDING = ("exec.approval.list", "pending", "code", "command")
_PEOPLE = ("people.list", "people", "id", "")
_FROM_GATEWAY = {
    ("approve", "id"): _PENDING,
    ("deny", "id"): _PENDING,
    ("cancel", "id"): _PENDING,
    ("show", "id"): ("history.list", "history", "code", "command"),
    ("grants", "id"): ("grants.list", "grants", "code", "agent"),
    ("people", "name"): _PEOPLE,
    ("people", "who"): _PEOPLE,
    ("token", "token"): ("token.list", "tokens", "name", "state"),
    ("events", "session"): ("sessions.list", "sessions", "session", ""),
}
"""Arguments whose values the gateway knows: method, key of its list, keys of value and meaning."""
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_@%+=.,/:-]*")
"""Words that every shell takes literally; agents choose the names of sessions."""
_DECISIONS = ("allow-once", "allow-always", "deny", "30m", "2h", "5x", "session", "task")
_EXEC_AGENT = "AGENT"


def complete(words: list[str]) -> int:
    """Print the candidates for the last word; print nothing if anything is wrong."""
    try:
        lines = [f"{word}\t{about}".rstrip("\t") for word, about in candidates(words)]
    except Exception:  # noqa: BLE001 - a completion that fails must not write into the prompt
        return 0
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def candidates(words: list[str]) -> list[Candidate]:
    """Return what can replace the last word, each with its meaning."""
    *before, current = _joined(words) or [""]
    head, _, value = current.partition("=")
    option = current.startswith("--") and "=" in current
    start = f"{head}=" if option else ""
    found = _at_cursor([*before, head] if option else before, value if option else current)
    return [
        (word if word.startswith(":") else start + word, about)
        for word, about in found
        if word.startswith((value if option else current, ":"))
    ]


def _joined(words: list[str]) -> list[str]:
    """Undo what bash does: it splits ``=`` signs off as separate words."""
    if words[-1:] == ["="]:
        return [*words[:-1], ""]
    return [word for word in words if word != "="]


def _at_cursor(before: list[str], current: str) -> Iterable[Candidate]:
    parser, taken, waiting, literal = build_parser(before[0] if before else None), 0, None, False
    for word in before:
        inner = _inner(parser)
        if waiting is not None:
            waiting = None
        elif literal or word == "--":
            literal = True
        elif word.startswith("-"):
            waiting = _valued(parser, word)
            literal = waiting is not None and waiting.nargs == argparse.REMAINDER
        elif inner is not None:
            parser, taken = inner._name_parser_map[word], 0  # noqa: SLF001 - see _inner
        else:
            taken += 1
    if literal:
        return [(":files", "")]
    if waiting is not None:
        return _values(parser, waiting)
    return _words(parser, taken, current)


def _inner(parser: "Parser") -> "argparse._SubParsersAction[Parser] | None":
    found = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))  # noqa: SLF001 - argparse offers no other way
    return next(found, None)


def _valued(parser: "Parser", word: str) -> argparse.Action | None:
    """Return the option of this name if it takes a value."""
    found = parser._option_string_actions.get(word)  # noqa: SLF001 - see _inner
    return None if found is None or found.nargs == 0 else found


def _words(parser: "Parser", taken: int, current: str) -> Iterator[Candidate]:
    """Yield commands or values of the next argument; options if it has none, or after ``-``."""
    inner = _inner(parser)
    known = [one for one in parser._actions if not one.option_strings and one is not inner]  # noqa: SLF001 - see _inner
    if inner is not None:
        listed = ((one.dest, one.help or "") for one in inner._choices_actions)  # noqa: SLF001 - see _inner
        yield from (one for one in listed if one[0] != _EXEC_AGENT)
        yield from _contacts() if parser.prog == "sayso exec" else ()
    elif taken < len(known) or (known and known[-1].nargs in {"*", "+"}):
        yield from _values(parser, known[min(taken, len(known) - 1)])
    if current.startswith("-") or (inner is None and not known):
        options = (one for one in parser._actions if one.option_strings)  # noqa: SLF001 - see _inner
        yield from ((one.option_strings[-1], one.help or "") for one in options)


def _values(parser: "Parser", argument: argparse.Action) -> Iterable[Candidate]:
    """Return the values that an argument can have, if they are known."""
    place = (parser.prog.split()[1], argument.dest)
    if argument.choices is not None:
        return [(str(one), "") for one in argument.choices]
    if argument.metavar in _FILES | _FOLDERS:
        return [(":files" if argument.metavar in _FILES else ":folders", "")]
    if place in _FROM_GATEWAY:
        return _from_gateway(*_FROM_GATEWAY[place])
    if place == ("approve", "decision"):
        return [(one, "") for one in _DECISIONS]
    if place == ("help", "topic"):
        topics = [(name, title) for name, (title, *_) in TOPICS.items()]
        return [*((name, "a command") for name in members(build_parser())), *topics]
    return []


def _from_gateway(method: str, rows: str, value: str, about: str) -> list[Candidate]:
    try:
        with Client(socket_path()) as client:
            found = client.call(method, {}, _PATIENCE_S)[rows]
    except SaysoError:
        return []
    return _plain((row[value], str(row.get(about, "")).partition("\n")[0]) for row in found)


def _plain(found: Iterable[Candidate]) -> list[Candidate]:
    """Leave out what bash would not insert as one word, or would take for one of our directives."""
    return [one for one in found if _PLAIN.fullmatch(one[0])]


def _contacts() -> list[Candidate]:
    try:
        with open(f"{home()}/exec-contacts.json", "rb") as file:  # noqa: PTH123 - see bot.cli.paths
            contacts = json.load(file)["contacts"]
        return _plain((str(one["name"]), "a contact") for one in contacts)
    except (OSError, ValueError, KeyError, TypeError):
        return []
