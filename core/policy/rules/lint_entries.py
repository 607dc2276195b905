"""Find allowlist entries that can never let anything run, though their words say that they do."""

from collections.abc import Sequence

from core.policy.matching.path_patterns import is_glob
from core.programs.carriers import is_carrier
from core.programs.inline_code import inline_of
from core.programs.unwrap import is_multiplexer
from core.programs.wrappers import names_of, wrapper_kind


def never_counts(pattern: str, argv: Sequence[str] | None) -> str | None:
    """Return why an entry or an allowing rule of these words never counts, ``None`` if it may.

    Such a program hides what really runs, so that is judged instead, whatever is listed. A pattern
    counts as soon as the name in it has a wildcard.
    """
    name = pattern.rpartition("/")[2]
    if is_glob(name) or (argv is None and is_multiplexer(name)):
        return None
    names = names_of(name)
    kind = wrapper_kind(names, len(argv or ()))
    if kind is not None:
        return f"{kind}, so what it runs is judged instead; list those programs"
    inline = inline_of(names) if argv else None
    code = None if inline is None or not argv else inline.problem(argv)
    return None if code is None else f"{code}, so a person is asked each time"


def counts_in_part(pattern: str, argv: Sequence[str] | None) -> str | None:
    """Return what an entry for a carrier's path leaves to people, ``None`` if nothing."""
    name = pattern.rpartition("/")[2]
    if argv is not None or is_glob(name) or not is_carrier(pattern):
        return None
    return (
        f"{name} can do more than read, so under strict trust a person is still asked about "
        "arguments that are not known to be harmless; --argv lists exact ones"
    )
