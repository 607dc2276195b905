"""Remove the options of a set from a vector, wherever they are: ``<OPTS:name>``.

A word with a dash that is neither an option of the set nor a value is no operand: nothing fits.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from core.errors import ConfigError
from core.policy.matching.match_element import word_fits
from core.policy.matching.template_element import (
    Element,
    ElementKind,
    OptionSet,
    Surroundings,
    of_rule,
)
from core.programs.profiles.tables import section, table, words

_OPTION = re.compile(r"-[^-=<>\s]|-{1,2}[A-Za-z0-9][A-Za-z0-9._-]*")


def option_set(
    name: str,
    flags: Sequence[str],
    values: Mapping[str, Sequence[str]],
    *,
    clusters: bool = False,
    roots: Mapping[str, str] | None = None,
) -> OptionSet:
    """Return a set of options; each of ``values`` takes a word that fits one of its elements.

    Raises:
        ConfigError: a word is not an option, is listed twice, or an element is not a single word.
    """
    for option in (*flags, *values):
        _check(name, option, twice=option in flags and option in values, clusters=clusters)
    taken = {
        option: tuple(_value(name, option, one, roots or {}) for one in elements)
        for option, elements in values.items()
    }
    return OptionSet(name, frozenset(flags), taken, clusters)


def _check(name: str, option: str, *, twice: bool, clusters: bool) -> None:
    if _OPTION.fullmatch(option) is None:
        raise ConfigError(
            f"The option set {name!r} lists {option!r}, which is not an option. Write -x or "
            "--name; a value goes under values."
        )
    if twice:
        raise ConfigError(
            f"The option set {name!r} lists {option!r} under flags and under values. Write it once."
        )
    if clusters and len(option) > len("-x") and not option.startswith("--"):
        raise ConfigError(
            f"The option set {name!r} lists {option!r} and has clusters: a program that reads -ab "
            "as -a -b knows no such option. Leave clusters out, or the option."
        )


def _value(name: str, option: str, element: str, roots: Mapping[str, str]) -> Element:
    found = of_rule(element, roots, str, {})
    if found.spans:
        raise ConfigError(
            f"The option {option} of the set {name!r} takes one word, not {element!r}. Write a "
            "literal or an element that is one word, such as <NAME>."
        )
    return found


@cache
def shipped_sets() -> Mapping[str, OptionSet]:
    """Return the sets of ``data/option_sets.toml``."""
    known = table("option_sets")
    return {name: _shipped(name) for name in known}


def _shipped(name: str) -> OptionSet:
    holder = section(table("option_sets"), name)
    values = section(holder, "values")
    return option_set(
        name,
        words(holder, "flags"),
        {option: words(values, option) for option in values},
        clusters=holder.get("clusters") is True,
    )


def operands_of(options: OptionSet, given: Sequence[str], at: Surroundings) -> list[str] | None:
    """Return the words that are not options, ``None`` where an option is not in the set.

    ``--`` is none, so what it protects never fits.
    """
    found, left = [], list(reversed(given))
    while left:
        word = left.pop()
        if len(word) < len("-x") or word[0] != "-":
            found.append(word)
        elif not _takes(options, word, left, at):
            return None
    return found


def options_problem(options: OptionSet, given: Sequence[str]) -> str | None:
    """Return why words are not all options of a set, ``None`` if they are."""
    found = operands_of(options, given, Surroundings("/"))
    if found is None:
        return "an option is not of the set, or its value does not fit"
    return f"{found[0]!r} is not an option" if found else None


def _takes(options: OptionSet, word: str, left: list[str], at: Surroundings) -> bool:
    """Return whether a word is an option of a set; its value is taken from what is left."""
    if word in options.flags:
        return True
    if word in options.values:
        return bool(left) and _fits(options, word, left.pop(), at)
    name, equals, value = word.partition("=")
    if equals and len(name) > len("-x") and name in options.values:
        return _fits(options, name, value, at)
    return options.clusters and word[1] != "-" and _cluster(options, word, left, at)


def _cluster(options: OptionSet, word: str, left: list[str], at: Surroundings) -> bool:
    for place in range(1, len(word)):
        name = f"-{word[place]}"
        if name in options.values:
            glued = word[place + 1 :]
            if not (glued or left):
                return False
            return _fits(options, name, glued or left.pop(), at)
        if name not in options.flags:
            return False
    return True


def _fits(options: OptionSet, name: str, value: str, at: Surroundings) -> bool:
    return any(word_fits(element, value, at) for element in options.values[name])


def check_options(known: Sequence[Element]) -> None:
    """Check what is around an option set in a vector.

    Raises:
        ConfigError: another element could take its words, or an option could take one of them.
    """
    place = next((i for i, one in enumerate(known) if one.kind is ElementKind.OPTS), None)
    if place is None:
        return
    behind = known[place + 1 :]
    if any(
        one.kind in {ElementKind.OPTS, ElementKind.REST, ElementKind.REST_ANY} for one in behind
    ):
        raise ConfigError(
            "<OPTS:name> cannot precede <REST>, <REST:any> or another <OPTS:name>, which would "
            "take the same words. Write <PATH:root>… for several operands."
        )
    for one in (*known[max(0, place - 1) : place], *behind):
        text = one.text if one.kind is not ElementKind.PATH else ""
        if text.startswith("-") and text != "-":
            raise ConfigError(
                f"The option {text!r} next to <OPTS:name> could take a word of the set as its "
                "value. Put it into the set: flags, or values with what it takes."
            )
