"""Check the examples in the shipped profiles, for ``sayso policy test``."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from core.policy.matching.option_sets import options_problem, shipped_sets
from core.programs.carriers import carrier_profile, profiled
from core.programs.profiles.load_profiles import profile_of
from core.programs.profiles.tables import Table, section, table, words
from core.programs.safe_bins import profiled as safe_bins

_Judge = Callable[[Sequence[str]], str | None]


def broken_examples() -> tuple[str, ...]:
    """Return one line for each shipped example that does not hold, none if all do.

    A profile must name its source and hold examples; one without harmless arguments may accept
    none. Reads every family of ``data/carriers/``.
    """
    return (*_carriers(), *_safe_bins(), *_option_sets())


def examples(holder: Table, key: str) -> tuple[tuple[str, ...], ...]:
    """Return the argument lists under a key; a string means its blank-separated words.

    Raises:
        TypeError: the key holds something else.
    """
    found = holder.get(key, [])
    if not isinstance(found, list):
        msg = f"policy data: {key} must be a list"
        raise TypeError(msg)
    return tuple(words({"example": one}, "example") for one in found)


def _carriers() -> Iterator[str]:
    for name, family in profiled().items():
        holder = section(table(f"carriers/{family}"), name)
        profile = carrier_profile(name)
        label = f"data/carriers/{family}.toml: {name}"
        if not holder.get("source"):
            yield f"{label}: no source"
        passes = bool(profile.exact or profile.options or profile.commands)
        yield from _judged(label, holder, profile.problem, passes=passes)


def _safe_bins() -> Iterator[str]:
    for name in sorted(safe_bins()):
        holder = section(table("safe_bins"), name)
        label = f"data/safe_bins.toml: {name}"
        yield from _judged(label, holder, profile_of(holder).problem, passes=True)


def _option_sets() -> Iterator[str]:
    for name, options in sorted(shipped_sets().items()):
        holder = section(table("option_sets"), name)
        label = f"data/option_sets.toml: {name}"
        if not holder.get("source"):
            yield f"{label}: no source"
        yield from _judged(label, holder, partial(options_problem, options), passes=True)


def _judged(label: str, holder: Table, judge: _Judge, *, passes: bool) -> Iterator[str]:
    accepted, refused = examples(holder, "accept"), examples(holder, "refuse")
    if (passes and not accepted) or not refused:
        yield f"{label}: no examples"
    for arguments in accepted:
        problem = judge(arguments)
        if problem is not None:
            yield f"{label}: {list(arguments)} should be harmless: {problem}"
    for arguments in refused:
        if judge(arguments) is None:
            yield f"{label}: {list(arguments)} should be refused"
