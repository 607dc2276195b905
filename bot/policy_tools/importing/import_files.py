"""Import files of another product."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from bot.policy_tools.importing import claude_code, codex, gemini, openclaw
from bot.policy_tools.importing.convert import carried
from bot.policy_tools.importing.documents import read_text
from bot.policy_tools.importing.result import Fate, Imported, ImportedRule, Outcome
from bot.policy_tools.importing.scope import Origin, origin_of
from bot.policy_tools.importing.statements import Statement
from bot.policy_tools.judge import present_settings
from core.errors import BadRequest
from core.model.command import PinnedFile
from core.model.decision import Decision
from core.planning.paths.search_path import SearchPath
from core.policy.rules.compiled import rule_mistakes
from core.settings.rules import RuleSection


class Source(StrEnum):
    """The products whose rules can be imported."""

    OPENCLAW = "openclaw"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    GEMINI = "gemini"


_READERS: Mapping[Source, Callable[[str, Origin], tuple[Statement, ...]]] = {
    Source.OPENCLAW: openclaw.read,
    Source.CLAUDE_CODE: claude_code.read,
    Source.CODEX: codex.read,
    Source.GEMINI: gemini.read,
}


def import_files(
    source: Source,
    paths: Iterable[Path],
    environ: Mapping[str, str],
    *,
    folder: str | None = None,
    trust_source: bool = False,
) -> Imported:
    """Return what files of another product translate to here; nothing is changed.

    ``folder`` is the only one in which the rules apply; without it each file's own place decides.

    Raises:
        SaysoError: a file, or the configuration in effect, cannot be used.
    """
    find = finder(present_settings(environ).tools.exec.search_path)
    home = str(Path.home())
    named = [(read_text(path), origin_of(path, home, folder)) for path in paths]
    return import_texts(source, named, find, home, trust_source=trust_source)


def import_texts(
    source: Source,
    texts: Sequence[tuple[str, Origin]],
    find: Callable[[str], PinnedFile | None],
    home: str,
    *,
    trust_source: bool = False,
) -> Imported:
    """Return what texts translate to, with each rule checked to be valid in a configuration.

    Raises:
        BadRequest: one is not a file of the product.
    """
    statements = tuple(one for text, origin in texts for one in _read(source, text, origin))
    names = [origin.name for _, origin in texts]
    found = carried(statements, names, find, home, trust_source=trust_source)
    return replace(found, outcomes=tuple(_usable(found.outcomes, home)))


def _read(source: Source, text: str, origin: Origin) -> tuple[Statement, ...]:
    try:
        return _READERS[source](text, origin)
    except RecursionError as error:
        raise BadRequest(f"{origin.name} is nested too deeply. Name the file of rules.") from error


def finder(search_path: Sequence[str]) -> Callable[[str], PinnedFile | None]:
    """Return a function that looks up a program on the search path."""
    search = SearchPath(search_path)

    @cache
    def find(word: str) -> PinnedFile | None:
        found = search.find(word, "/")
        return found if isinstance(found, PinnedFile) else None

    return find


def _usable(outcomes: Iterable[Outcome], home: str) -> Iterable[Outcome]:
    """Yield each outcome; one with a rule that is not valid in a configuration gets no rules."""
    for one in outcomes:
        why = next(filter(None, (_mistake(rule, home) for rule in one.rules)), None)
        if why is None:
            yield one
        else:
            allows = one.rules[0].decide is Decision.ALLOW
            yield Outcome(one.place, Fate.DROPPED if allows else Fate.LOST, why)


def _mistake(rule: ImportedRule, home: str) -> str | None:
    try:
        section = RuleSection.model_validate(rule.json())
    except ValidationError as error:
        return f"no rule says it: {error.errors()[0]['msg']}"
    found = rule_mistakes([((), section)], (), home)
    return str(found[0]) if found else None
