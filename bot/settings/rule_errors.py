"""Find every rule that cannot be used, whatever else is wrong: no mistake hides another.

A rule is compiled from its own section, ``tools.exec.roots`` and ``tools.exec.optionSets`` alone.
So it is checked only if nothing else is wrong in these, or in what contains them: a mistake that
follows from another one is not reported.
"""

from collections.abc import Collection, Iterator, Mapping

from pydantic import TypeAdapter, ValidationError

from bot.settings.environment import Tree
from bot.settings.origins import Origins
from bot.settings.problems import KeyPath, Problem
from core.policy.rules.compiled import rule_mistakes
from core.settings.rules import OptionSetSection, RootEntry, RuleSection

_ROOTS: KeyPath = ("tools", "exec", "roots")
_RULES: KeyPath = ("tools", "exec", "rules")
_AGENTS: KeyPath = ("agents", "list")
_OPTION_SETS: KeyPath = ("tools", "exec", "optionSets")
_SETS: TypeAdapter[Mapping[str, OptionSetSection]] = TypeAdapter(Mapping[str, OptionSetSection])
_ROOT_LIST = TypeAdapter(tuple[RootEntry, ...])


def rule_problems(
    sources: tuple[Tree, ...], known: Collection[Problem], origins: Origins, home: str
) -> list[Problem]:
    """Return one problem for each rule that is malformed or fails one of its examples.

    ``sources`` are trees without unknown keys, the strongest first; ``known`` are their problems;
    ``home`` is the folder that ``~`` means.
    """
    wrong = {problem.path for problem in known if problem.path}
    if _touched(_ROOTS, wrong) or _touched(_OPTION_SETS, wrong):
        return []
    merged: object = {}
    for tree in reversed(sources):
        merged = _merged(merged, tree)
    roots = _ROOT_LIST.validate_python(_at(merged, _ROOTS) or (), strict=False)
    sets = _SETS.validate_python(_at(merged, _OPTION_SETS) or {}, strict=False)
    sound = [
        (path, section)
        for path, value in _rules(merged)
        if not _touched(path, wrong) and (section := _section(value)) is not None
    ]
    return [
        Problem(origins.near(bad.path), bad.path, str(bad))
        for bad in rule_mistakes(sound, roots, home, sets)
    ]


def _rules(tree: object) -> Iterator[tuple[KeyPath, object]]:
    agents = _at(tree, _AGENTS)
    count = len(agents) if isinstance(agents, list) else 0
    for path in (_RULES, *((*_AGENTS, number, *_RULES) for number in range(count))):
        found = _at(tree, path)
        for number, value in enumerate(found if isinstance(found, list) else ()):
            yield (*path, number), value


def _section(value: object) -> RuleSection | None:
    try:
        return RuleSection.model_validate(value)
    except ValidationError:
        return None  # reported already, as a mistake of its shape


def _at(tree: object, path: KeyPath) -> object:
    for part in path:
        if isinstance(tree, Mapping):
            tree = tree.get(part)
        elif isinstance(tree, list) and isinstance(part, int):
            tree = tree[part]
        else:
            return None
    return tree


def _merged(below: object, above: object) -> object:
    """Merge one tree over another as pydantic-settings does: key by key, all else is replaced."""
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    both = {key: _merged(below[key], above[key]) for key in below.keys() & above.keys()}
    return {**below, **above, **both}


def _touched(path: KeyPath, wrong: Collection[KeyPath]) -> bool:
    """Return whether something is wrong at a path, in it, or with what contains it."""
    return any(all(a == b for a, b in zip(path, one, strict=False)) for one in wrong)
