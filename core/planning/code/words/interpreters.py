"""Recognise interpreters by name, and define how each takes code from its words or its input."""

# ruff: noqa: PTH119
# pathlib is ten times slower here.

import re
from dataclasses import dataclass
from functools import lru_cache
from os.path import basename
from typing import Final

from core.planning.code.words.option_files import Reader
from core.programs.inline_code import is_starter
from core.programs.wrappers import names_of, wrapper_kind

_NEVER: Final = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Interpreters with one style of options.

    ``alone`` matches options that take no word after them, ``inline`` options whose next word is
    the code itself, and ``takes`` options that do take one. An option that none of them matches may
    or may not take the next word. ``verbs`` are plain words before the script. ``fed`` matches
    options that make it read code from its input, whatever else it reads. ``modules``: its ``-m``
    imports from the working folder; ``within`` is what Python would get before its words.
    ``listed``: a word `@x` means the words in the file `x`.
    With ``checks`` as its first word, it checks a script and runs nothing of it.
    ``library``: the language whose options load modules. ``goes_on``: a script may follow the code.
    """

    alone: re.Pattern[str]
    inline: re.Pattern[str]
    verbs: frozenset[str] = frozenset()
    fed: re.Pattern[str] = _NEVER
    modules: bool = False
    within: tuple[str, ...] = ()
    listed: bool = False
    library: str = ""
    goes_on: bool = False
    takes: re.Pattern[str] = _NEVER
    checks: re.Pattern[str] = _NEVER


_VERBS: Final = frozenset(("run", "test", "watch", "serve", "bench", "inspect"))
SHELL: Final = Interpreter(_NEVER, _NEVER)
"""Its words are read by ``core.planning.code.words.shell_words``."""

SED: Final = Reader("f", frozenset(("file",)), program=True)
MAKE: Final = Reader("f", frozenset(("file", "makefile")), speaks=True)
AWK: Final = Reader("[fEi]", frozenset(("file", "exec", "include")), program=True, prefix="-W")
CMAKE: Final = Reader("[PC]", frozenset(("toolchain",)), speaks=True, enters=True)
CTEST: Final = Reader("SP?", frozenset(("script", "script-new-process")), speaks=True, enters=True)
GDB: Final = Reader(
    "(?:x|com[a-z]*|(?:early-)?init-c[a-z]*)=?",
    frozenset(("command", "init-command")),
    fed=True,
    speaks=True,
)
_ALONE_IN_NODE: Final = (
    r"--[a-z-]+=.*|--(?:inspect|inspect-brk|no-[a-z-]+|(?:cpu-|heap-)?prof|trace-gc|abort-on-uncaught-exception"
    r"|trace-(?:warnings|deprecation|uncaught|opt|deopt|exit|sync-io|tls)|enable-source-maps|expose-gc|harmony"
    r"|preserve-symlinks|experimental-strip-types|experimental-vm-modules)"
)
_CODE_OF_NODE: Final = re.compile(r"-p?e|-p|--eval|--print")
_TALKS_IN_NODE: Final = re.compile(r"-i|--interactive|repl")
_TALKS: Final = re.compile(r"-[ia]|--interactive")
_TALKS_IN_VIM: Final = re.compile(r"-[A-Za-z]*[eE][A-Za-z]*")
_ALONE_IN_PERL: Final = re.compile(r"-[acnpwlWtTXsSuUf0-9]+")
_CODE_OF: Final = {
    "perl": re.compile(r"-[aclnpwWtTXsSuUf0-9]*[eE]"),
    "ruby": re.compile(r"-[aclnpwWsSU0-9]*e"),
}

_KNOWN: Final[tuple[tuple[re.Pattern[str], Interpreter | Reader], ...]] = (
    (
        re.compile(r"(?:python|pypy)[0-9.]*[a-z]?"),
        Interpreter(
            re.compile(r"-[BbdEiIOPqsSuvx]+"),
            re.compile(r"-[BbdEiIOPqsSuvx]*[cm]"),
            fed=re.compile(r"-[BbdEIOPqsSuvx]*i[BbdEiIOPqsSuvx]*[cm]?"),
            modules=True,
            takes=re.compile(r"-[BbdEIiOPqsSuvx]*[WX]"),
        ),
    ),
    (re.compile(r"pdb[0-9.]*"), Interpreter(_NEVER, _NEVER)),
    (
        re.compile(r"pydoc[0-9.]*"),
        Interpreter(_NEVER, _NEVER, modules=True, within=("-m", "pydoc")),
    ),
    (re.compile(r"(?:ba|da|a|k|mk|z|c|tc|fi|r|ya)?sh"), SHELL),
    *(
        (re.compile(rf"{name}[0-9.]*"), Interpreter(_ALONE_IN_PERL, code, library=name))
        for name, code in _CODE_OF.items()
    ),
    (
        re.compile(r"nodemon"),  # its `-e` names suffixes of files
        Interpreter(re.compile(_ALONE_IN_NODE), _NEVER, _VERBS, _TALKS_IN_NODE),
    ),
    (
        re.compile(r"node-dev|ts-node-dev|tsnd"),  # their `--watch` names what is watched
        Interpreter(re.compile(_ALONE_IN_NODE), _CODE_OF_NODE, _VERBS, _TALKS_IN_NODE),
    ),
    (
        re.compile(r"node|nodejs"),
        Interpreter(
            re.compile(rf"{_ALONE_IN_NODE}|--watch|-c|--check"),
            _CODE_OF_NODE,
            _VERBS,
            _TALKS_IN_NODE,
            checks=re.compile(r"-c|--check"),
        ),
    ),
    (
        re.compile(
            r"bun|deno|tsx|ts-node(?:-[a-z]+)*|ts-script|vite-node|esno|jiti|zx|babel-node"
            r"|swc-node|sucrase-node|tsimp"
        ),
        Interpreter(
            re.compile(rf"{_ALONE_IN_NODE}|--watch"), _CODE_OF_NODE, _VERBS, _TALKS_IN_NODE
        ),
    ),
    (
        re.compile(r"php[0-9.]*"),
        Interpreter(
            re.compile(r"--[a-z-]+=.*|-[elnqs]+"),
            re.compile(r"-[BERr]"),
            fed=_TALKS,
            checks=re.compile(r"-l|--syntax-check"),
        ),
    ),
    (
        re.compile(r"lua(?:jit)?[0-9.]*"),
        Interpreter(re.compile(r"-[vEiW]+"), re.compile(r"-e"), fed=_TALKS, goes_on=True),
    ),
    (
        re.compile(r"expect[0-9.]*"),
        Interpreter(re.compile(r"-[dniNv]+"), re.compile(r"-c"), fed=_TALKS, goes_on=True),
    ),
    (
        re.compile(r"guile[0-9.]*"),  # its `-e` names a function of the script
        Interpreter(re.compile(r"--[a-z-]+=.*|-ds"), re.compile(r"-c"), fed=_TALKS),
    ),
    (
        re.compile(r"(?:tclsh|wish|Rscript|julia|scala|pwsh)[0-9.]*"),
        Interpreter(re.compile(r"--[a-z-]+=.*"), re.compile(r"-[reE]"), fed=_TALKS),
    ),
    (
        re.compile(r"java"),  # `-cp FOLDER NAME` is not followed, because NAME is not a file
        Interpreter(
            re.compile(
                r"-(?:jar|server|client|X.*|D.*|d?s?a|e?s?a|ea:.*|da:.*|verbose.*|showversion)"
                r"|--[a-z-]+=.*|--(?:dry-run|enable-preview|show-version)"
            ),
            _NEVER,
            listed=True,
        ),
    ),
    (
        re.compile(
            r"groovy|racket|elixir|escript|m4|jshell|octave(?:-cli)?|gnuplot|erb|ansible-playbook"
        ),
        Interpreter(re.compile(r"--[a-z-]+=.*|-[DIU].+"), re.compile(r"-e")),
    ),
    (re.compile(r"cmake3?"), CMAKE),
    (re.compile(r"ctest3?"), CTEST),
    (re.compile(r"cpack3?"), Reader("(?!)", frozenset(("config",)), enters=True)),
    (
        re.compile(r"ninja(?:-build)?|samu|just|rake|scons"),
        Reader(
            "f", frozenset(("file", "justfile", "rakefile", "sconstruct", "makefile")), enters=True
        ),
    ),
    (re.compile(r"g?sed"), SED),
    (re.compile(r"[gmn]?awk|original-awk"), AWK),
    (
        re.compile(r"psql"),
        Reader(
            "f",
            frozenset(("file",)),
            fed=True,
            inline=re.compile(r"-[a-zA-Z]*[cfl].*|--(?:command|file|list).*"),
            speaks=True,
        ),
    ),
    (
        re.compile(r"sqlite3?|litecli"),
        Reader(
            "init",
            frozenset(("init",)),
            fed=True,
            operands=2,
            alone=re.compile(
                r"--?(?:append|ascii|bail|batch|box|column|csv|deserialize|echo|header|noheader"
                r"|html|json|line|list|markdown|quote|readonly|safe|stats|table|tabs)"
            ),
            asks=re.compile(r"--?interactive"),
            speaks=True,
        ),
    ),
    (
        re.compile(r"mysql|mariadb"),
        Reader(
            "(?!)",
            frozenset(("defaults-file", "defaults-extra-file")),
            fed=True,
            inline=re.compile(r"-[a-zA-Z]*e.*|--(?:execute|help|version).*"),
            speaks=True,
        ),
    ),
    (re.compile(r"lldb"), Reader("[sSK]", frozenset(("source", "source-before-file")), fed=True)),
    (re.compile(r"[bg]?make"), MAKE),
    (re.compile(r"json_pp"), Reader("(?!)", frozenset(), asks=re.compile(r"(?:--?f=)?\s*eval"))),
    (re.compile(r"gdb"), GDB),
    (re.compile(r"r?ex"), Reader("[Sus]", frozenset(("cmd",)), fed=True, speaks=True)),
    *(
        (
            re.compile(names),
            Reader(letter, frozenset(("cmd",)), asks=_TALKS_IN_VIM, speaks=True),
        )
        for names, letter in (
            (r"g?vim(?:\.\w+)?|n?vi|view|[gr]?vimdiff", "[Sus]"),
            (r"nvim", "[Susl]"),
        )
    ),
)


@lru_cache(maxsize=1024)
def interpreter_of(path: str) -> Interpreter | Reader | None:
    """Return how a program of this name takes its code, if it takes any."""
    name = basename(path)
    return next((reader for names, reader in _KNOWN if names.fullmatch(name)), None)


def readers_of(*paths: str) -> tuple[Interpreter | Reader, ...]:
    """Return how a program takes its code, by each of its names: a link `make` may be a shell."""
    return tuple(dict.fromkeys(filter(None, map(interpreter_of, paths))))


_FIND: Final = re.compile(r"g?find")
"""It starts the first program named after it, as the wrappers of the policy do."""


def is_find(path: str) -> bool:
    """Return whether a program is `find`."""
    return _FIND.fullmatch(basename(path)) is not None


@lru_cache(maxsize=1024)
def is_wrapper(path: str) -> bool:
    """Return whether a program starts another that is named after it."""
    name = basename(path)
    return is_find(name) or wrapper_kind(names_of(name), 1) is not None


def starts_others(*paths: str) -> bool:
    """Return whether a program may start another: a wrapper, or one like `uv run` and `npx`."""
    return any(is_wrapper(one) or is_starter(one) for one in paths)
