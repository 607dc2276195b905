"""Find the payload of ``sh -c``: the one text that a shell is given to run, and nothing else.

Shells do not follow getopt: the payload is the first word that is not an option, not the word after
``c``. Login, interactive and input-reading shells, start-up files and positional parameters are
not in the grammar, so they prompt (CVE-2026-32052, CVE-2026-41392, CVE-2026-53806, CVE-2026-53855).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from core.programs.profiles.tables import Table, section, table, words
from core.programs.wrapper_grammar import Opaque


@dataclass(frozen=True, slots=True)
class ShellGrammar:
    """The options of one shell: flags, options that take a name, and those names."""

    flags: re.Pattern[str]
    setting: re.Pattern[str]
    names: frozenset[str]
    needs: str


@cache
def shell_grammars() -> Mapping[str, ShellGrammar]:
    """Return the grammars of the shells whose payload is read, by their real name."""
    known = section(table("wrappers"), "shell")
    return {name: _shell_grammar(section(known, name)) for name in known}


def _shell_grammar(holder: Table) -> ShellGrammar:
    letters = "".join(words(holder, "letters"))
    return ShellGrammar(
        flags=re.compile(rf"-[{letters}]*c?[{letters}]*"),
        setting=re.compile(rf"-[{letters}]*o"),
        names=frozenset(words(holder, "set")),
        needs="".join(words(holder, "needs")),
    )


def find_payload(grammar: ShellGrammar, argv: Sequence[str]) -> int | Opaque:
    """Return the index of the payload, which is the last word of ``argv``."""
    letters = ""
    at = 1
    while at < len(argv) and argv[at][:1] in ("-", "+"):
        word = argv[at]
        at += 1
        if word == "--":
            break
        if grammar.setting.fullmatch(word) and at < len(argv) and argv[at] in grammar.names:
            at += 1
        elif len(word) == 1 or not grammar.flags.fullmatch(word):
            return Opaque(f"the option {word!r} is unknown here, or its value is")
        letters += word
    missing = next((letter for letter in f"c{grammar.needs}" if letter not in letters), None)
    if missing is not None:
        return Opaque(f"it was not given -{missing}")
    if at != len(argv) - 1:
        return Opaque("exactly one text must follow -c")
    return at
