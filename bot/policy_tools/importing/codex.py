"""Read Codex's execpolicy files (``.rules``, earlier ``.codexpolicy``); nothing is executed.

Source: codex-execpolicy's README (docs.rs/crate/typeduck-codex-execpolicy). ``prefix_rule`` takes
``pattern`` (words, a list among them being alternatives), ``decision`` (allow, prompt, forbidden;
allow if absent), ``justification``, ``match`` and ``not_match``; the strictest rule counts.
``host_executable(name, paths)`` limits which files a name may stand for. The files are Starlark;
only such calls with literal arguments are taken, read as Python's grammar reads them.
"""

import ast
import shlex
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from bot.policy_tools.importing.statements import Stated, Statement, Unstated, text_of
from core.errors import BadRequest
from core.model.decision import Decision

_DECISIONS = {"allow": Decision.ALLOW, "prompt": Decision.ASK, "forbidden": Decision.DENY}
_KEYS = frozenset(("pattern", "decision", "justification", "match", "not_match"))
_MOST_ALTERNATIVES = 256

_Pattern = tuple[tuple[str, ...], ...]
_Literals = dict[str, object]


def read(data: bytes, name: str) -> tuple[Statement, ...]:
    """Return what the file states about commands.

    Raises:
        BadRequest: its syntax cannot be read.
    """
    text = text_of(data, name)
    try:
        calls = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadRequest(f"{name} cannot be read as rules: {error}.") from error
    paths = dict(_host_executables(calls))
    return tuple(one for call in calls for one in _statements(call, text, paths))


def _call(statement: ast.stmt) -> tuple[str, _Literals] | None:
    """Return the name and the literal keywords of a call, ``None`` for anything else."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    if not isinstance(call.func, ast.Name) or call.args:
        return None
    try:
        found = {key.arg or "": ast.literal_eval(key.value) for key in call.keywords}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return None if len(found) != len(call.keywords) or "" in found else (call.func.id, found)


def _host_executables(calls: Sequence[ast.stmt]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for statement in calls:
        match _call(statement):
            case ("host_executable", {"name": str(name), "paths": list(paths)}):
                yield name, tuple(map(str, paths))
            case _:
                continue


def _statements(
    statement: ast.stmt, text: str, paths: dict[str, tuple[str, ...]]
) -> Iterator[Statement]:
    place = f"line {statement.lineno}"
    written = " ".join((ast.get_source_segment(text, statement) or "").split())
    match _call(statement):
        case ("prefix_rule", found):
            yield from _rules(place, written, found, paths)
        case ("host_executable", _):
            why = "programs are looked up on tools.exec.searchPath; what it limits was limited"
            yield Unstated(place, written, why)
        case ("network_rule", _):
            yield Unstated(place, written, "it is not about commands")
        case _:
            why = "only calls with literal keywords are read; whatever it does is not known"
            yield Unstated(place, written, why, narrows=True)


def _rules(
    place: str, written: str, found: _Literals, paths: dict[str, tuple[str, ...]]
) -> Iterator[Statement]:
    decide = _DECISIONS.get(str(found.get("decision", "allow")))
    pattern = _pattern(found.get("pattern"))
    problem = _problem(found, decide, pattern)
    if problem is not None or decide is None:
        yield Unstated(place, written, problem or "", narrows=decide is not Decision.ALLOW)
        return
    reason = found.get("justification")
    for words in product(*pattern):
        yield Stated(
            place,
            written,
            decide,
            words,
            prefix=True,
            reason=reason if isinstance(reason, str) else None,
            paths=paths.get(words[0], ()),
        )


def _problem(found: _Literals, decide: Decision | None, pattern: _Pattern) -> str | None:
    unknown = sorted(found.keys() - _KEYS)
    if unknown:
        return f"its key {unknown[0]!r} is unknown and may limit it"
    if decide is None:
        return "its decision is none of allow, prompt, forbidden"
    if not pattern or not all(pattern) or not all(word for part in pattern for word in part):
        return "its pattern is no list of words"
    if prod(map(len, pattern)) > _MOST_ALTERNATIVES:
        return f"it has more than {_MOST_ALTERNATIVES} alternatives"
    return _example_problem(found, pattern)


def _pattern(found: object) -> _Pattern:
    if not isinstance(found, list):
        return ()
    return tuple(
        (part,)
        if isinstance(part, str)
        else tuple(part)
        if isinstance(part, list) and all(isinstance(word, str) for word in part)
        else ()
        for part in found
    )


def _example_problem(found: _Literals, pattern: _Pattern) -> str | None:
    """Check the examples, for Codex does not load a file in which one does not behave."""
    for key, wanted in (("match", True), ("not_match", False)):
        examples = found.get(key, [])
        if not isinstance(examples, list):
            return f"its {key} is no list"
        for example in examples:
            words = _words(example)
            if words is None or _fits(pattern, words) is not wanted:
                return f"its {key} example {example!r} does not behave; Codex would not load it"
    return None


def _words(example: object) -> list[str] | None:
    if isinstance(example, list) and all(isinstance(word, str) for word in example):
        return example
    try:
        return shlex.split(example) if isinstance(example, str) else None
    except ValueError:
        return None


def _fits(pattern: _Pattern, words: Sequence[str]) -> bool:
    return len(words) >= len(pattern) and all(
        word in part for word, part in zip(words, pattern, strict=False)
    )
