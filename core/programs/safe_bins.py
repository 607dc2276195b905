"""Match programs that only read standard input; they need no allowlist entry (S1 "Safe bins").

A safe bin needs its positive profile in ``data/safe_bins.toml`` *and* must really be the program
of that name in a trusted directory. No profile, no safe bin.
"""

from collections.abc import Sequence
from functools import cache

from core.programs.profiles.load_profiles import profile_of
from core.programs.profiles.profile import Profile
from core.programs.profiles.tables import section, table, words


@cache
def _profiles() -> dict[str, Profile]:
    known = table("safe_bins")
    return {name: profile_of(section(known, name)) for name in known if name != "directories"}


@cache
def _trusted() -> frozenset[str]:
    return frozenset(words(section(table("safe_bins"), "directories"), "trusted"))


def profiled() -> frozenset[str]:
    """Return the names that have a profile; configuring another safe bin is an error."""
    return frozenset(_profiles())


def safe_bin_of(invoked: str, real: str) -> str | None:
    """Return the profiled name that both paths of a program, in trusted directories, give it."""
    directory, _, name = real.rpartition("/")
    if name not in _profiles() or directory not in _trusted():
        return None
    place, _, word = invoked.rpartition("/")
    return name if word == name and place in _trusted() else None


def safe_bin_problem(name: str, arguments: Sequence[str]) -> str | None:
    """Return what the profile refuses; ``None`` means that only standard input can be read.

    Raises:
        KeyError: the program has no profile; ask ``safe_bin_of`` first.
    """
    return _profiles()[name].problem(arguments)
