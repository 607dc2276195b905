"""Build the profiles of arguments from their tables."""

from core.programs.profiles.profile import Modes, Precedence, Profile
from core.programs.profiles.tables import Table, check_keys, section, words
from core.programs.profiles.value_kinds import check_kind

_UNLIMITED = 1 << 30
_LISTS = "flags values optional operand consuming needs modes sparing first"
_COUNTS = "operands operands_then least least_then"
_SWITCHES = "number single bundle ordered counts_dash apart"
_OF_OTHERS = "with accept refuse source"
"""Keys of a profile that its carrier and its examples read."""
_KEYS = frozenset(f"{_LISTS} {_COUNTS} {_SWITCHES} {_OF_OTHERS}".split())


def _options(holder: Table, key: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind in section(holder, key):
        found |= dict.fromkeys(words(section(holder, key), kind), kind)
    return found


def _integer(holder: Table, key: str, default: int) -> int:
    found = holder.get(key, default)
    if not isinstance(found, int):
        msg = f"policy data: {key} must be a number"
        raise TypeError(msg)
    return _UNLIMITED if found < 0 else found


def _modes(holder: Table, known: frozenset[str]) -> tuple[Modes, ...]:
    """Return the groups of modes; a group with an unlisted option is an error: it has no effect."""
    groups = section(holder, "modes")
    found: list[Modes] = []
    for precedence in groups:
        for group in words(groups, precedence):
            options = frozenset(group.split("|"))
            if not options <= known:
                msg = f"policy data: modes name {', '.join(sorted(options - known))}, no option"
                raise ValueError(msg)
            found.append(Modes(Precedence(precedence), options))
    return tuple(found)


def profile_of(holder: Table) -> Profile:
    """Build a profile from its table; ``operands = -1`` sets no limit.

    Raises:
        TypeError: a key has a value of another type.
        KeyError: a value kind is unknown.
        ValueError: a key means nothing, an option is listed both with and without a value, or a
            group of modes names one that is not listed.
    """
    check_keys(holder, _KEYS)
    values, optional = _options(holder, "values"), _options(holder, "optional")
    flags = frozenset(words(holder, "flags"))
    torn = values.keys() & (flags | optional.keys())
    if torn:
        msg = f"policy data: {', '.join(sorted(torn))} cannot both need a value and take none"
        raise ValueError(msg)
    kind = " ".join(words(holder, "operand")) or "any"
    first = " ".join(words(holder, "first")) or None
    for used in {kind, first or kind, *values.values(), *optional.values()}:
        check_kind(used)
    needs = words(holder, "needs")
    return Profile(
        flags=flags,
        values=values,
        optional=optional,
        operands=_integer(holder, "operands", 0),
        operand_kind=kind,
        consuming=frozenset(words(holder, "consuming")),
        operands_then=_integer(holder, "operands_then", 0),
        needs=tuple(frozenset(one.split("|")) for one in needs),
        modes=_modes(holder, flags | values.keys() | optional.keys()),
        least=_integer(holder, "least", 0),
        least_then=_integer(holder, "least_then", 0),
        sparing=frozenset(words(holder, "sparing")),
        first=first,
        number=holder.get("number") is True,
        single=holder.get("single") is True,
        bundle=holder.get("bundle") is True,
        ordered=holder.get("ordered") is True,
        counts_dash=holder.get("counts_dash") is True,
        apart=holder.get("apart") is True,
    )
