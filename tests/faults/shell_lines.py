"""Make command lines that try to be read otherwise than a shell reads them."""

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random

CORPUS = Path(__file__).parents[1] / "corpus"

_NAMES = (
    "ls",
    "rg",
    "cat",
    "git",
    "jq",
    "a",
    "x",
    "./x",
    "/x/c",
    "-x",
    "1",
    "HEAD^",
    "l\\s",
    "'ls'",
    '"rg"',
)
_PLAIN = (
    *("a", "b", "x", "foo", "-n", "20", "--pre=x", "a=b", "x:y", "./x", "/x/c", "v1.2-rc.1", "+%Y"),
    *("@scope/pkg", "1,2", "-", "--", "HEAD", "-k5,5n", "0", "%1", ":", "..", "^", "^a", "a#b"),
    *(
        "HEAD~1",
        "HEAD^",
        "HEAD^^2",
        "HEAD^{tree}",
        "HEAD^{}",
        "stash@{0}",
        "@{-1}",
        "@{2.days.ago}",
    ),
    *("a~b", "a~", "a~~", "c~/x", "--x=a~1", "a:b~", "^{", "x@{a}@{b}", "@{u}~2", "a#", "a##b#"),
)
_GLOBS = (
    *(
        "*",
        "?",
        "*.py",
        "a*",
        "?b",
        "[ab]",
        "[ab]*",
        "*[ab]",
        "sub/*",
        "*/",
        "*/*.py",
        "./*",
        "../*",
    ),
    *(
        "sub/in/?",
        "-*",
        "*x",
        "**",
        "a?",
        "nul/*",
        "wide/*",
        "wide/?",
        "link/*",
        ".*",
        ".e*",
        "[_a]?*",
    ),
    *(
        '"a"*',
        "'c '*",
        "*'.py'",
        "\\a*",
        "'*'*",
        "sub//*",
        "*\\*",
        "gon*",
        "$PWD/*",
        '"$HOME"/sub/*',
    ),
    *("~/*", "~/sub/[ab]", "*/in", "*/in/", "[a-c]", "[!a]", "[^a]*", "*]", "[", "a[", "*/../a"),
)
_VALUES = (
    *(
        "~",
        "~/",
        "~/sub",
        "$HOME",
        "$PWD",
        "$HOME/sub",
        '"$HOME"',
        '"$PWD/a b"',
        "x$HOME",
        "$HOME$PWD",
    ),
    *(
        '"$HOME"x',
        "$HOMEx",
        '"$HOMEx"',
        "~u",
        "$HOME'x'",
        "a~/b",
        "--x=$PWD",
        "x=~/a",
        "${HOME}",
        "$x",
    ),
    *("'$HOME'", "\\$HOME", '"\\$HOME"', "~'/x'", '"~"', "$HOME~", "~~", "$OLDPWD", "~+", "$HOMEé"),
    *('"$HOMEé"', '"é$PWD"', "$HOME#", "~#", "a#$HOME"),
)
_ROUTES = (
    *("2>&1", ">/dev/null", "2>/dev/null", "&>/dev/null", ">/dev/null 2>&1", "</dev/null"),
    *("2>&1 >/dev/null", "2> /dev/null", "> /dev/null", "2>/dev/null </dev/null", ">/dev/null x"),
    *(">&2", "1>&2", "2>&1x", ">/dev/nullx", ">>/dev/null", "2>&-", "2>&1 2>&1", "> \\\n/dev/null"),
)
_STEPS = (
    *(
        "cd sub",
        "cd sub/in",
        "cd link",
        "cd ..",
        "cd .",
        "cd ~",
        "cd $HOME",
        'cd "$PWD/sub"',
        "cd 'nul'",
    ),
    *(
        "cd sub/../nul",
        "cd link/..",
        "cd sub//in/",
        "cd /",
        "cd",
        "cd -",
        "cd -P sub",
        "cd sub nul",
        "cd //",
    ),
    *("cd s*", "cd ''", "cd sub 2>/dev/null", "'cd' sub", "cd ~/sub", "cd ../cwd", "cd +1"),
)
# Words that are expanded when they stand alone; a blank on either side keeps them so.
_ALONE = (
    *(
        "*",
        "?",
        "*.py",
        "a*",
        "?b",
        "[ab]",
        "[ab]*",
        "sub/*",
        "*/",
        "*/*.py",
        "./*",
        "-*",
        "**",
        ".e*",
    ),
    *(
        "sub/in/?",
        "link/*",
        "~/*/*.py",
        '"$HOME"/sub/*',
        "~",
        "~/sub",
        "$PWD",
        '"$PWD/a b"',
        '"$HOME"',
    ),
)
_BREAKS = (
    "\n",
    "\n\n",
    ";\n",
    " # c\n",
    " &&\n",
    " |\n",
    " ||\n ",
    "\n# it's\n",
    " #c\\\n",
    "\n\t",
)
_ESCAPES = tuple(f"\\{chr(code)}" for code in range(0x21, 0x7F))
_SINGLE = (*'ab !$`"\\;&|<>(){}[]*?~#=^\n\t-', "$(rg x)", "日", "é", "→", "\u0301", "😀", "\u0441")
_DOUBLE = (
    *"ab ;&|<>(){}[]*?~#='^\n\t-",
    "\\$",
    '\\"',
    "\\\\",
    "\\`",
    "\\d",
    "\\'",
    "\\ ",
    "日",
    "→",
    "é",
)
_NASTY = (
    *(
        ";",
        "&&",
        "||",
        "|",
        "&",
        "|&",
        ";;",
        ";&",
        "&>",
        ">",
        "<",
        ">>",
        "2>&1",
        ">&2",
        "<>",
        "<<<",
    ),
    *("<<E\n", "<<'E'\n", "\nE\n", "\n", "\r", "\r\n", "\t", "\v", "\f", "  ", " ", "\x01", "\x7f"),
    *(
        "'",
        '"',
        "\\",
        "\\\n",
        "\\ ",
        "\\\t",
        "\\\r\n",
        "\\\\",
        "''",
        '""',
        "\\-x",
        "\\r",
        "\\é",
        "'\\''",
    ),
    *(
        "$",
        "$x",
        "${x}",
        "$(rg x)",
        "`rg x`",
        "$'a\\nb'",
        '$"x"',
        "$((1))",
        "$[1]",
        "<(rg)",
        "${x:-~}",
    ),
    *(
        "#",
        " #",
        "#c",
        "!",
        "! ",
        "!!",
        "~",
        "~/x",
        "~+",
        "=~",
        ":~",
        "=",
        "x=",
        "x=1 ",
        "1=2 ",
        "=ls",
    ),
    *(
        "*",
        "?",
        "[ab]",
        "[",
        "]",
        "{",
        "}",
        "{a,b}",
        "{1..3}",
        "{a",
        ",b}",
        "@{a,b}",
        "@{1..3}",
        "@{",
    ),
    *(
        "@{..}",
        "@{a..b}",
        "^{a,b}",
        "@(a)",
        "?(a)",
        "+(a)",
        "!(a)",
        "(",
        ")",
        "((",
        "))",
        "[[",
        "]]",
    ),
    *(
        "é",
        "日",
        "\u00a0",
        "\u0085",
        "\u200b",
        "\u3000",
        "\ufeff",
        "\u202e",
        "\u2028",
        "\u3164",
        "\ufe0f",
    ),
    *("time ", "exec ", "then ", "for ", "function ", "f() ", "export ", ". ", "exit;"),
)
_SHELL_WORDS = (
    *("time ", "coproc ", "eval ", "exec ", "command ", "builtin ", "if ", "then ", "do ", "! "),
    *("function ", "alias ls=rg\n", "let ", "export ", "cd /;", "set -e;", "trap ", ". ", "case "),
    *("noglob ", "repeat 2 ", "hash -p /x/c ls;", "source ", "x=1 ", "%1 ", "{ ", "[ ", "[[ "),
)
_OPERATORS = (";", "; ", " ; ", " && ", "&&", " || ", "||", " | ", "|", "\t|\t", " &&\t")
_BLANKS = (" ", " ", " ", "  ", "\t", " \t ")
# A shell answers these itself, so nothing could be seen at execve.
_VISIBLE = {"echo": "rg", "printf": "jq", "test": "cat", "pwd": "ls", "true": "a", "false": "b"}


@cache
def _seed_lines() -> tuple[str, ...]:
    commands = json.loads((CORPUS / "commands.json").read_text())
    readings = json.loads((CORPUS / "shell_readings.json").read_text())
    lines = [entry["command"] for entry in commands if "command" in entry]
    lines += [entry["input"] for entry in readings]
    visible = re.compile(r"\b(" + "|".join(_VISIBLE) + r")\b")
    return tuple(
        visible.sub(lambda m: _VISIBLE[m[0]], line).replace("/tmp/", "./")
        for line in lines
        if len(line) < 120
    )


def _some(rng: Random, pieces: Sequence[str], most: int) -> str:
    return "".join(rng.choices(pieces, k=rng.randint(0, most)))


def _piece(rng: Random) -> str:
    kind = rng.random()
    if kind < 0.03:
        return rng.choice(_GLOBS)
    if kind < 0.06:
        return rng.choice(_VALUES)
    if kind < 0.4:
        return rng.choice(_PLAIN)
    if kind < 0.6:
        return f"'{_some(rng, _SINGLE, 5)}'"
    if kind < 0.85:
        return f'"{_some(rng, _DOUBLE, 5)}"'
    return rng.choice(_ESCAPES)


def _built(rng: Random) -> str:
    """Draw a line that should mostly be readable."""
    line = ""
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        line += _joint(rng) if line else rng.choice(("", "", " ", "\n", "# c\n"))
        line += rng.choice(_STEPS) if rng.random() < 0.12 else _command(rng)
    return line + rng.choice(("", "", "", "", " ", ";", " ; ", "\n", " # c", "\n\n"))


def _joint(rng: Random) -> str:
    return rng.choice(_BREAKS if rng.random() < 0.2 else _OPERATORS)


def _command(rng: Random) -> str:
    """Draw a name, its words, and now and then where its streams go."""
    line = rng.choice(_NAMES)
    for _ in range(rng.randint(0, 3)):
        line += rng.choice(_BLANKS)
        if rng.random() < 0.12:
            line += rng.choice(_ALONE)
        else:
            line += "".join(_piece(rng) for _ in range(rng.choice((1, 1, 1, 2, 3))))
    if rng.random() < 0.12:
        line += rng.choice((*_BLANKS, "")) + rng.choice(_ROUTES)
    return line


def _mutated(rng: Random, line: str) -> str:
    """Put up to three hostile pieces into a line, or cut some of it out."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randint(0, len(line))
        piece = rng.choice(_NASTY) if rng.random() < 0.8 else ""
        line = line[:at] + piece + line[at + rng.choice((0, 0, 0, 1, 2)) :]
    return line


def draw_line(rng: Random) -> str:
    """Draw any line: built, mutated, taken from the corpus, or a soup of tokens."""
    kind = rng.random()
    if kind < 0.03:
        return rng.choice(_SHELL_WORDS) + _built(rng)
    if kind < 0.48:
        return _built(rng)
    if kind < 0.72:
        return _mutated(rng, _built(rng))
    if kind < 0.9:
        return _mutated(rng, rng.choice(_seed_lines()))
    return _some(rng, (*_NAMES, *_PLAIN, *_NASTY, *_BLANKS), 9)
