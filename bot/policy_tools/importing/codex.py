"""Read Codex's execpolicy files (``.rules``, earlier ``.codexpolicy``) and its TOML settings.

Source: openai/codex, codex-rs/execpolicy/README.md; developers.openai.com/codex/rules.
``prefix_rule`` takes ``pattern`` (words, a list among them being alternatives), ``decision``
(allow, prompt, forbidden; allow if absent), ``justification``, ``match``, ``not_match``; the
strictest rule counts. ``host_executable(name, paths)`` limits which files a name may mean. The
files are Starlark; only calls with literal arguments, and names of literals, are taken, read as
Python's grammar reads them; nothing is executed. In requirements.toml the same rules are
``[rules] prefix_rules``; nothing else in a TOML file is a rule.
"""

import ast
import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from bot.policy_tools.importing.documents import read_toml
from bot.policy_tools.importing.scope import Origin
from bot.policy_tools.importing.statements import Place, Rule, Statement, UnreadStatement
from core.errors import BadRequest
from core.model.decision import Decision

_DECISIONS = {"allow": Decision.ALLOW, "prompt": Decision.ASK, "forbidden": Decision.DENY}
_KEYS = frozenset(("pattern", "decision", "justification", "match", "not_match"))
_MOST_ALTERNATIVES = 256

_Pattern = tuple[tuple[str, ...], ...]
_Literals = dict[str, object]
_UNREAD = object()


def read(text: str, origin: Origin) -> tuple[Statement, ...]:
    """Return what the file states about commands.

    Raises:
        BadRequest: its syntax cannot be read.
    """
    if origin.name.endswith(".toml"):
        return tuple(_of_settings(read_toml(text, origin.name), origin))
    return tuple(_File(text, origin).statements())


class _File:
    """A Starlark file, its named literals, and the files that its programs may be."""

    def __init__(self, text: str, origin: Origin) -> None:
        self._origin = origin
        self._lines = text.splitlines()
        self._names: dict[str, object] = {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._body = ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
            raise BadRequest(
                f"{origin.name} cannot be read as rules{line}: {_said(error)}. Correct it, or name "
                "a .rules file."
            ) from error
        self._paths = dict(self._host_executables())

    def statements(self) -> Iterator[Statement]:
        """Yield what each statement of the file says."""
        for statement in self._body:
            place = self._place(statement)
            match self._call(statement):
                case ("prefix_rule", found):
                    yield from _rules(place, found, self._paths, self._origin)
                case ("host_executable", _):
                    why = "programs are looked up on tools.exec.searchPath; its names are limited"
                    yield UnreadStatement(place, why)
                case ("network_rule", _):
                    yield UnreadStatement(place, "it is not about commands")
                case _ if self._assigned(statement):
                    continue
                case _:
                    why = "only calls with literal keywords are read; what it does is not known"
                    yield UnreadStatement(place, why, narrows=True)

    def _place(self, statement: ast.stmt) -> Place:
        first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
        written = " ".join(" ".join(self._lines[first:last]).split())
        return Place(self._origin.name, f"line {statement.lineno}", written[:400])

    def _assigned(self, statement: ast.stmt) -> bool:
        """Store a named literal, or skip a bare string."""
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return isinstance(statement.value.value, str)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return False
        (target,) = statement.targets
        value = self._value(statement.value)
        if not isinstance(target, ast.Name) or value is _UNREAD:
            return False
        self._names[target.id] = value
        return True

    def _call(self, statement: ast.stmt) -> tuple[str, _Literals] | None:
        """Return the name and the literal keywords of a call, ``None`` for anything else."""
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            return None
        call = statement.value
        if not isinstance(call.func, ast.Name) or call.args:
            return None
        found = {key.arg or "": self._value(key.value) for key in call.keywords}
        whole = len(found) == len(call.keywords) and "" not in found
        return (call.func.id, found) if whole and _UNREAD not in found.values() else None

    def _value(self, node: ast.expr) -> object:
        if isinstance(node, ast.Name):
            return self._names.get(node.id, _UNREAD)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return _UNREAD

    def _host_executables(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for statement in self._body:
            match self._call(statement):
                case ("host_executable", {"name": str(name), "paths": list(paths)}):
                    home = self._origin.home
                    yield (
                        name,
                        tuple(
                            f"{home}{path[1:]}" if str(path).startswith("~/") else str(path)
                            for path in paths
                        ),
                    )
                case _:
                    continue


def _said(error: BaseException) -> str:
    return str(error.msg if isinstance(error, SyntaxError) else error) or type(error).__name__


def _rules(
    place: Place, found: _Literals, paths: Mapping[str, tuple[str, ...]], origin: Origin
) -> Iterator[Statement]:
    decide = _DECISIONS.get(str(found.get("decision", "allow")))
    pattern = _pattern(found.get("pattern"))
    problem = _problem(found, decide, pattern)
    if problem is not None or decide is None:
        allows = decide is Decision.ALLOW
        yield UnreadStatement(place, problem or "", allows=allows, narrows=not allows)
        return
    reason = found.get("justification")
    for words in product(*pattern):
        yield Rule(
            place,
            decide,
            words,
            prefix=True,
            reason=reason if isinstance(reason, str) else None,
            paths=paths.get(words[0], ()),
            folder=origin.folder if decide is Decision.ALLOW else None,
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
    """Check the examples, because Codex does not load a file in which one fails."""
    for key, wanted in (("match", True), ("not_match", False)):
        examples = found.get(key, [])
        if not isinstance(examples, list):
            return f"its {key} is not a list"
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


def _of_settings(found: Mapping[str, object], origin: Origin) -> Iterator[Statement]:
    """Yield what requirements.toml says, and each key of config.toml that is not a rule."""
    for key, value in found.items():
        if key == "rules" and isinstance(value, dict):
            yield from _of_requirements(value, origin)
        else:
            why = "it is not a rule about commands; tools.exec decides about all others"
            yield UnreadStatement(Place(origin.name, key, key), why)


def _of_requirements(rules: Mapping[str, object], origin: Origin) -> Iterator[Statement]:
    for key, value in rules.items():
        if key != "prefix_rules" or not isinstance(value, list):
            where = f"rules.{key}"
            yield UnreadStatement(Place(origin.name, where, where), "it is not known", narrows=True)
            continue
        for number, rule in enumerate(value):
            place = Place(origin.name, f"rules.{key}[{number}]", str(rule)[:400])
            if not isinstance(rule, dict):
                raise BadRequest(f"{origin.name}: {place.where} must be a table.")
            tokens = rule.get("pattern")
            pattern = [_token(one) for one in tokens] if isinstance(tokens, list) else None
            yield from _rules(place, {**rule, "pattern": pattern}, {}, origin)


def _token(found: object) -> object:
    match found:
        case {"token": str(word), **rest} if not rest:
            return word
        case {"any_of": list(words), **rest} if not rest:
            return words
        case _:
            return None
