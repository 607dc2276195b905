"""Recognise interpreters by name, and define how each takes code from its words or its input."""

# ruff: noqa: PTH119
# pathlib is ten times slower here.

import re
from dataclasses import dataclass
from functools import lru_cache
from os.path import basename
from typing import Final

from core.programs.inline_code import is_starter
from core.programs.wrappers import names_of, wrapper_kind

_NEVER: Final = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Interpreters with one style of options.

    ``alone`` matches options that take no word after them, ``inline`` options whose next word is
    the code itself. An option that neither matches may or may not take the next word. ``verbs`` are
    plain words before the script. ``fed`` matches options that make it read code from its input,
    whatever else it reads. ``modules``: its ``-m`` imports from the working folder. ``listed``: a
    word `@x` means the words in the file `x`. ``library``: the language whose options load modules.
    """

    alone: re.Pattern[str]
    inline: re.Pattern[str]
    verbs: frozenset[str] = frozenset()
    fed: re.Pattern[str] = _NEVER
    modules: bool = False
    listed: bool = False
    library: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """Programs whose plain operands are data; options ``letter`` and ``names`` take files of code.

    A ``fed`` program reads code from its input, unless an ``inline`` option says what to do or it
    has as many operands as ``operands``; ``alone`` matches options that take no word. With one of
    the options ``asks`` it always does. ``program``: without ``-f``, its first operand is code.
    ``speaks``: texts in its words may name files of code. ``letter`` may be a class of letters, and
    a long option may be abbreviated, or spelled with ``prefix``. ``setting`` matches a whole word;
    its group names a file; not after a first word of ``compiles``, a subcommand that runs none of
    them. ``enters``: before it reads the files that its words name, it may change to a folder that
    they name.
    """

    letter: str
    names: frozenset[str]
    fed: bool = False
    inline: re.Pattern[str] = _NEVER
    operands: int = 0
    alone: re.Pattern[str] = _NEVER
    asks: re.Pattern[str] = _NEVER
    program: bool = False
    speaks: bool = False
    prefix: str = "--"
    setting: re.Pattern[str] = _NEVER
    compiles: frozenset[str] = frozenset()
    enters: bool = False


_VERBS: Final = frozenset(("run", "test", "watch", "serve", "bench"))
SHELL: Final = Interpreter(_NEVER, _NEVER)
"""Its words are read by ``core.planning.code.shell_words``."""

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
_ALONE_IN_PERL: Final = re.compile(r"-[acnpwlWtTX]+")
_CODE_OF_PERL: Final = re.compile(r"-[aclnpwWtTX]*[eE]")

_KNOWN: Final[tuple[tuple[re.Pattern[str], Interpreter | Reader], ...]] = (
    (
        re.compile(r"(?:python|pypy)[0-9.]*[a-z]?"),
        Interpreter(
            re.compile(r"-[BbdEiIOPqsSuvx]+"),
            re.compile(r"-[BbdEiIOPqsSuvx]*[cm]"),
            fed=re.compile(r"-[BbdEIOPqsSuvx]*i[BbdEiIOPqsSuvx]*[cm]?"),
            modules=True,
        ),
    ),
    (re.compile(r"(?:pdb|pydoc)[0-9.]*"), Interpreter(_NEVER, _NEVER)),
    (re.compile(r"(?:ba|da|a|k|mk|z|c|tc|fi|r|ya)?sh"), SHELL),
    *(
        (re.compile(rf"{name}[0-9.]*"), Interpreter(_ALONE_IN_PERL, _CODE_OF_PERL, library=name))
        for name in ("perl", "ruby")
    ),
    (
        re.compile(
            r"node|nodejs|bun|deno|tsx|ts-node|nodemon|node-dev|ts-node-dev|tsnd|vite-node|esno|jiti"
            r"|zx|babel-node|swc-node|sucrase-node"
        ),
        Interpreter(
            re.compile(
                r"--[a-z-]+=.*|--(?:inspect|inspect-brk|no-[a-z-]+|(?:cpu-|heap-)?prof|trace-gc|abort-on-uncaught-exception"
                r"|trace-(?:warnings|deprecation|uncaught|opt|deopt|exit|sync-io|tls)|enable-source-maps|expose-gc|watch|harmony"
                r"|preserve-symlinks|experimental-strip-types|experimental-vm-modules)"
            ),
            re.compile(r"-p?e|-p|--eval|--print"),
            _VERBS,
            re.compile(r"-i|--interactive|repl"),
        ),
    ),
    (
        re.compile(
            r"(?:php|luajit|lua|tclsh|wish|expect|Rscript|julia|scala|guile|racket|pwsh)[0-9.]*"
        ),
        Interpreter(
            re.compile(r"--[a-z-]+=.*"),
            re.compile(r"-[rev]"),
            fed=re.compile(r"-[ia]|--interactive"),
        ),
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
        re.compile(r"groovy|elixir|escript|m4|jshell|octave(?:-cli)?|gnuplot|erb|ansible-playbook"),
        Interpreter(re.compile(r"--[a-z-]+=.*|-[DIU].+"), re.compile(r"-e")),
    ),
    (re.compile(r"cmake3?"), CMAKE),
    (re.compile(r"ctest3?"), CTEST),
    (re.compile(r"cpack3?"), Reader("(?!)", frozenset(("config",)), enters=True)),
    (
        re.compile(r"ninja(?:-build)?|just|rake|scons"),
        Reader("f", frozenset(("file", "justfile", "rakefile", "sconstruct")), enters=True),
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
    (re.compile(r"g?make"), MAKE),
    (re.compile(r"json_pp"), Reader("(?!)", frozenset(), asks=re.compile(r"(?:--?f=)?\s*eval"))),
    (re.compile(r"gdb"), GDB),
    (
        re.compile(r"(?:g?vim(?:\.\w+)?|n?vi|nvim|view|[gr]?vimdiff)"),
        Reader(
            "[Sus]", frozenset(("cmd",)), asks=re.compile(r"-[A-Za-z]*[eE][A-Za-z]*"), speaks=True
        ),
    ),
)


@lru_cache(maxsize=1024)
def interpreter_of(path: str) -> Interpreter | Reader | None:
    """Return how a program of this name takes its code, if it takes any."""
    name = basename(path)
    return next((reader for names, reader in _KNOWN if names.fullmatch(name)), None)


_INCLUDES_IN_GIT: Final = re.compile(
    r"(?:-[A-Za-z0-9]*c|--c[a-z]*=)?(?is:include(?:if\..*)?\.path=(.+))"
)
_FILES_OF_ANSIBLE: Final = frozenset(
    (
        "inventory",
        "inventory-file",
        "vault-id",
        "vault-password-file",
        "become-password-file",
        "connection-password-file",
    )
)
_OPERAND: Final = re.compile(r"([^-].*)", re.DOTALL)
_PATH: Final = re.compile(r"([^-].*/.*|/.*)", re.DOTALL)
_PLAN_OF_TERRAFORM: Final = re.compile(r"(?:--?var-file=)?([^-].*)", re.DOTALL)
_SOURCE: Final = re.compile(
    r"(?:--?[a-z-]+=)?([^-].*\.(?:go|mod|json|swift|cr|nim|zig|kts?|dart|ml|hs|exs?|cljs?|lisp|raku"
    r"|bats|lua|[cm]?[jt]s|csx?|fsx|dll|exe|java|d|py|sh|rb))",
    re.DOTALL,
)
"""A file of source code, or of what was compiled from it."""
_SCRIPT_OF_KOTLIN: Final = re.compile(r"([^-].*\.kts)", re.DOTALL)
_COMPILES: Final = frozenset(("build", "vet", "fmt", "format", "analyze", "doc", "list"))
"""A file may change between two of them: agents edit what they compile.

Only of compilers that run nothing of a program: Zig's build files, Crystal's and Nim's macros and
what formats Elixir do.
"""

_NAMED_FILE: Final = frozenset(("file",))
_OPTION_FILES: Final = frozenset(
    (
        *("append-config", "argumentfile", "autoload-file", "bazelrc", "bootstrap", "buildfile"),
        *("config", "config-file", "configFile", "configuration", "env-file", "environment"),
        *("file", "gruntfile", "gulpfile", "import", "knexfile", "listener", "log-config"),
        *("noxfile", "options", "plugin", "rcfile", "reporter", "require", "scripts", "settings"),
        *("setup", "snakefile", "variablefile", "globalSetup", "setupFiles"),
    )
)
_BY_NAME: Final = Reader("(?!)", _OPTION_FILES)
_BY_C: Final = Reader("c", _OPTION_FILES)
# Left out: programs that go on in the background (pm2, bazel), as nobody answers what they open
# after the run, and those with set-user-ID helpers (podman), which gain no rights with bound files.
_CONFIGURED: Final = (
    (re.compile(r"sftp"), Reader("[Fb]", frozenset())),
    (re.compile(r"ssh|slogin|autossh|scp|sshfs"), Reader("F", frozenset())),
    (re.compile(r"tmux|nginx|R"), Reader("[fc]", frozenset(("file",)))),
    (re.compile(r"latexmk"), Reader("r", frozenset())),
    (re.compile(r"gradlew?"), Reader("[Ibc]", frozenset(("init-script", "build-file")))),
    (re.compile(r"meson"), Reader("(?!)", frozenset(("native-file", "cross-file")))),
    (re.compile(r"openssl"), Reader("config=?", frozenset(("config",)))),
    (re.compile(r"wget2?|cargo"), Reader("(?!)", frozenset(("config",)))),
    (re.compile(r"curl"), Reader("K", frozenset(("config",)))),
    (re.compile(r"man|apropos|whatis|manpath|mandb"), Reader("C", frozenset(("config-file",)))),
    (re.compile(r"kubectl|oc|helm"), Reader("[fk]", frozenset(("kubeconfig", "filename")))),
    (re.compile(r"docker(?:-compose)?"), Reader("f", _NAMED_FILE)),
    (re.compile(r"terraform|tofu"), Reader("(?!)", frozenset(), setting=_PLAN_OF_TERRAFORM)),
    (re.compile(r"prove"), Reader("(?!)", frozenset(("rc",)), setting=_OPERAND)),
    (re.compile(r"pytest|py\.test|tox|hypercorn|alembic|pre-commit"), _BY_C),
    (re.compile(r"gunicorn"), _BY_C),
    (re.compile(r"mypy|pylint|flake8|coverage|uvicorn|jupyter(?:-[a-z]+)?"), _BY_NAME),
    (re.compile(r"ipython3?|prettier"), _BY_NAME),
    (re.compile(r"nox|invoke|inv|fab|doit|locust|mkdocs|ant|mvnw?"), Reader("f", _OPTION_FILES)),
    (re.compile(r"snakemake|kernprof|mitm(?:dump|proxy|web)"), Reader("s", _OPTION_FILES)),
    (re.compile(r"robot|pabot"), Reader("[APV]", _OPTION_FILES)),
    (
        re.compile(
            r"jest|vitest|vite|webpack|rollup|rspack|tsup|eslint|stylelint|mocha|nyc|c8|ava|karma"
            r"|playwright|cypress|babel|postcss|tailwindcss|gulp|grunt|knex|graphql-codegen|cdk"
            r"|lint-staged|commitlint|semantic-release|serverless|wdio|hardhat|jasmine"
            r"|rubocop|puma|unicorn|sidekiq|phpunit|phpstan|psalm|rector|php-cs-fixer|pest"
        ),
        Reader("[crC]", _OPTION_FILES),
    ),
    (re.compile(r"rspec|tap"), Reader("r", _OPTION_FILES)),  # `-c` is colour
    (re.compile(r"kotlinc"), Reader("(?!)", frozenset(), setting=_SCRIPT_OF_KOTLIN)),
    (
        re.compile(r"go|dart"),
        Reader("(?!)", frozenset(), setting=_SOURCE, compiles=_COMPILES),
    ),
    (
        re.compile(
            r"kotlin|ocaml|run(?:ghc|haskell)|iex|bb|nbb|sbcl|raku|bats|busted|k6|jbang|rdmd|mono"
            r"|swift|crystal|nim|zig|mix|dotnet|stack|cabal"
        ),
        Reader("(?!)", frozenset(), setting=_SOURCE),
    ),
    (re.compile(r"pgbench"), Reader("f", frozenset(("file",)))),
    (re.compile(r"ansible(?:-[a-z]+)?"), Reader("i", _FILES_OF_ANSIBLE)),
    (re.compile(r"ifup|ifdown"), Reader("i", frozenset(("interfaces",)))),
    (re.compile(r"logrotate|openvpn"), Reader("(?!)", frozenset(), setting=_OPERAND)),
    (re.compile(r"wg-quick|systemctl"), Reader("(?!)", frozenset(), setting=_PATH)),
    (re.compile(r"screen"), Reader("c", frozenset())),
    (
        re.compile(r"git"),
        Reader("(?!)", frozenset(), setting=_INCLUDES_IN_GIT),
    ),
    (
        re.compile(
            r"(?:.*-)?(?:gcc|g\+\+|cc|c\+\+|cpp|clang|clang\+\+|ld|ar|rustc|javac)(?:-[0-9.]+)?"
        ),
        Reader("(?!)", frozenset(("specs",)), setting=re.compile(r"(?:@|-specs=)(.+)", re.DOTALL)),
    ),
)
"""Programs that start others if a file of options, which their words name, says so."""


@lru_cache(maxsize=1024)
def configured_by(path: str) -> Reader | None:
    """Return how the words of a program name a file of options, ``None`` if they name none."""
    name = basename(path)
    return next((reader for names, reader in _CONFIGURED if names.fullmatch(name)), None)


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
