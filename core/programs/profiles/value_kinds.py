"""Define the kinds of values that profiles know, and match words against them.

A kind is a pattern that the whole word must fit, or a reader of a small language (sed, awk).
"""

import re
from collections.abc import Callable
from typing import Final

from core.programs.profiles.awk_script import awk_problem
from core.programs.profiles.script_effects import awk_may_run, sed_may_run
from core.programs.profiles.sed_script import sed_problem

_COLUMN: Final = (
    r"[+-]?(?:%cpu|%mem|args|bsdstart|bsdtime|cgroup|class|cls|cmd|comm|command|cp|cputime|cputimes"
    r"|etime|etimes|euid|euser|fname|gid|group|label|lstart|lwp|maj_flt|min_flt|ni|nice|nlwp|numa|pcpu|pgid"
    r"|pgrp|pid|pmem|ppid|pri|psr|pss|rss|rssize|rtprio|ruid|ruser|s|sess|sid|size|start|start_time|stat"
    r"|state|stime|sz|thcount|tid|time|times|tname|tpgid|tt|tty|ucmd|ucomm|uid|uname|unit|user|vsize|vsz"
    r"|wchan)(?::[0-9]{1,4})?(?:=[A-Za-z0-9_ ]{0,40})?"
)

_PATTERNS: Final = {
    "count": re.compile(r"[+-]?[0-9]{1,18}(?:[kKMGTPEZY]i?B?|b|kB)?"),
    "integer": re.compile(r"[0-9]{1,18}"),
    "char": re.compile(r"[^\0]|\\[0tn]", re.ASCII),
    "keys": re.compile(r"[0-9]+(?:\.[0-9]+)?[bdfgiMhnRrV]*(?:,[0-9]+(?:\.[0-9]+)?[bdfgiMhnRrV]*)?"),
    "ranges": re.compile(r"[0-9,-]{1,200}"),
    "size": re.compile(r"[0-9]{1,18}[bkKMGTP%]?"),
    "word": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}"),
    "words": re.compile(r"[A-Za-z0-9_.,=][A-Za-z0-9_.,=-]{0,199}"),
    "format": re.compile(r"\+[^\0]*", re.DOTALL),
    "dash": re.compile(r"-"),
    # awk -v NAME=VALUE, and its input: gawk opens /inet/… as a connection.
    "assignment": re.compile(r"[A-Za-z][A-Za-z0-9_]*=[^\0]*", re.DOTALL),
    "input": re.compile(r"(?!/inet)[^\0]*", re.DOTALL),
    "pair": re.compile(r"[^\0]*", re.DOTALL),  # jq --arg NAME VALUE: two words, both data
    "any": re.compile(r"[^\0]*", re.DOTALL),
    # git config: sections.keys only, because git 2.46 obeys the bare words `edit`, `set`, `unset`.
    "key": re.compile(r"[A-Za-z][A-Za-z0-9-]*\.[^\0]+"),
    # git config -f: files of the repository itself.
    "gitfile": re.compile(r"\.gitmodules|(?:\./)?\.git/(?:(?!\.{1,2}/)[A-Za-z0-9._-]+/)*config"),
    # git log --format: %G… and %(signature) run gpg.program.
    "pretty": re.compile(r"(?:(?!%[-+ ]?G|signature)[^\0])*", re.DOTALL),
    # A branch, a number or a name: no colon, so no address of another host.
    "ref": re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,200}"),
    "name": re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:-]{0,200}"),
    # gh -R OWNER/NAME: a third part would be another host.
    "repo": re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+"),
    # gh api: a path of the REST interface that is read with GET; no host, no way up.
    "endpoint": re.compile(
        r"/?(?:rate_limit|(?:repos|orgs|users|search)"
        r"(?:/(?!\.{1,2}(?:[/?]|\Z))[A-Za-z0-9._{}:-]{1,200})+)(?:\?[A-Za-z0-9._~+=&,:%/@-]{0,500})?"
    ),
    # kubectl: kinds and names of resources, never secrets, never an address or a file.
    "resource": re.compile(r"(?![A-Za-z0-9._/,-]*(?i:secret))[a-z0-9][A-Za-z0-9._/,-]{0,200}"),
    # kubectl -o: printers that read no template file.
    "printer": re.compile(r"json|yaml|wide|name|(?:jsonpath|custom-columns|go-template)=[^\0]*"),
    # tar -f: HOST:FILE starts a remote shell.
    "local": re.compile(r"[^\0:-][^\0:]*"),
    # find: no argument of an action; also the words that group an expression.
    "start": re.compile(r"[^\0-][^\0]*|"),
    # ip … show FILTER: names and addresses, never the words of another action.
    "address": re.compile(
        r"(?!(?:set|add|del|delete|change|replace|flush|save|restore|exec)$)[a-z0-9][a-z0-9.:/_-]*"
    ),
    # ss: states, ports and addresses in digits; a name would be looked up.
    "socket": re.compile(
        r"[=()!<>]+|state|exclude|and|or|not|dport|sport|dst|src|eq|neq|gt|lt|(?:time|close|fin)-wait(?:-[12])?|last-ack|syn-(?:sent|recv)"
        r"|established|listening|connected|synchronized|bucket|big|closed|all"
        r"|[0-9.:/\[\]]+",
    ),
    # lsof -i: protocols and ports; a host would be looked up.
    "internet": re.compile(r"(?![-:]*$)[46]?(?:TCP|UDP|tcp|udp)?(?::[0-9,-]+)?"),
    "state": re.compile(r"(?:TCP|UDP|tcp|udp):[A-Za-z_0-9,^]{1,100}"),
    "identifiers": re.compile(r"[A-Za-z0-9_.,^][A-Za-z0-9_.,^-]{0,199}"),
    # lsof: files, ports and +D; never an address with a host, which would be looked up, nor +m.
    "opened": re.compile(r"(?![-+])[^\0@]+|\+[dDL][0-9]*"),
    # ps: BSD words without `e`, process ids, and the columns after `o`.
    "processes": re.compile(
        rf"[AacfghjlLnrSTuvwxXZ]{{1,12}}[ok]?|[0-9]+(?:,[0-9]+)*|{_COLUMN}(?:,{_COLUMN})+"
    ),
    "columns": re.compile(rf"{_COLUMN}(?:,{_COLUMN})*"),
    "digits": re.compile(r"[0-9]+(?:,[0-9]+)*"),
    # ps -u: a word that is not a user is read as BSD words, of which `e` is one.
    "user": re.compile(r"[0-9]+|[a-df-zA-DF-Z_][a-df-zA-DF-Z0-9_-]*"),
    # awk -W: what prints something about awk, after which nothing runs.
    "about": re.compile(r"version|help|usage"),
    # find: a signed number with a unit, or permission bits.
    "find": re.compile(r"[-+/]?(?:[0-9]{1,18}[A-Za-z]?|[0-7augorwxst=,+-]{1,40})"),
}
# `.env` is a field of the input; `..env` and `1.env` are not.
_JQ_WORDS = re.compile(
    r"(?<!\A\.)(?<![^.0-9]\.)\b(?:env|ENV|input_filename|include|import|modulemeta|get_search_list|__prog_args)\b"
)


def path_like(word: str) -> bool:
    """Return whether a word resembles a path (S1: safe bins reject path-like tokens)."""
    if len(word) > 1 and word.startswith(("/", "./", "../", "~/")):
        return True
    return word in {"..", "~"} or "/../" in word or word.endswith("/..")


def _text(word: str) -> bool:
    # "${" has no meaning without a shell; it is still refused, as in the reference product.
    return not path_like(word) and "${" not in word and "\0" not in word


def _filter(word: str) -> bool:
    return _text(word) and not _JQ_WORDS.search(word)


def _query(word: str) -> bool:
    # gh gives its filter one document, so a filter that reads more is not for gh.
    return _filter(word) and not re.search(r"\binputs?\b", word)


_READERS: Final[dict[str, Callable[[str], bool]]] = {
    "text": _text,
    "filter": _filter,
    "awk": lambda word: awk_problem(word) is None,
    "query": _query,
    "sed": lambda word: sed_problem(word) is None,
    "awkcode": lambda word: not awk_may_run(word),
    "sedcode": lambda word: not sed_may_run(word),
}


def check_kind(kind: str) -> None:
    """Check that a kind exists.

    Raises:
        KeyError: no such kind; a typo must stop the load, not the first command that uses it.
    """
    if kind not in _READERS:
        _PATTERNS[kind]


def fits(kind: str, word: str) -> bool:
    """Return whether a word is of a kind."""
    reader = _READERS.get(kind)
    return reader(word) if reader else _PATTERNS[kind].fullmatch(word) is not None
