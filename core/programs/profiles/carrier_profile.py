"""Judge arguments by one carrier's profile: the harmless ones, and the effects of the others.

A profile is in ``data/carriers/FAMILY.toml``; docs/reference/policy.md says what its keys mean.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.programs.profiles.load_profiles import profile_of
from core.programs.profiles.profile import Profile
from core.programs.profiles.tables import Table, check_keys, section, words


class Effect(StrEnum):
    """What a program can do: ``runs`` others, which may do anything; the rest it does itself."""

    READS = "reads"
    WRITES = "writes"
    NETWORK = "network"
    RUNS = "runs"


def effects_of(listed: Sequence[str]) -> frozenset[Effect]:
    """Return the effects that words name.

    Raises:
        ValueError: a word names no effect.
    """
    return frozenset(map(Effect, listed))


@dataclass(frozen=True, slots=True)
class CarrierProfile:
    """The profile of one program. ``exact`` are whole argument lists that are harmless.

    ``options`` are those before the subcommand, or of the whole program if it has no
    ``commands``; ``reading`` is what harmless invocations do, ``can`` what others may do;
    ``acts`` names the effects of subcommands; ``inherit`` allows ``options`` after them, too.
    """

    name: str
    exact: frozenset[tuple[str, ...]]
    options: Profile | None
    commands: Mapping[str, Profile]
    reading: frozenset[Effect]
    can: frozenset[Effect]
    acts: Mapping[str, frozenset[Effect]]
    inherit: bool

    def problem(self, arguments: Sequence[str]) -> str | None:
        """Return what is not known to be harmless, ``None`` if all of it is."""
        if self.exact and tuple(arguments) in self.exact:
            return None
        if self.commands:
            return self._by_command(arguments)
        if self.options is None:
            return f"can do more than read ({', '.join(sorted(self.can))})"
        return self.options.problem(arguments)

    def effects(self, arguments: Sequence[str]) -> frozenset[Effect] | None:
        """Return what these arguments can do, ``None`` if that is not known."""
        if self.problem(arguments) is None:
            return self.reading
        if not self.acts:
            return self.can
        count, problem = self._leading(arguments)
        spelled = _spellings(arguments[count:])
        return None if problem else next((self.acts[s] for s in spelled if s in self.acts), None)

    def bounds(self, arguments: Sequence[str]) -> bool:
        """Return whether ``effects`` are all that these arguments can do.

        ``acts`` are about the subcommand, and an option that no profile lists may add to it
        (`git ls-remote --upload-pack=x`, `kubectl get --kubeconfig=x`, `systemctl enable --now`).
        """
        if not self.acts or self.problem(arguments) is None:
            return True
        count, problem = self._leading(arguments)
        known = self.options if self.inherit and self.options is not None else _OPTIONLESS
        return problem is None and known.strange_option(arguments[count:]) is None

    def _leading(self, arguments: Sequence[str]) -> tuple[int, str | None]:
        if self.options is None or not arguments or arguments[0][:1] != "-":
            return 0, None
        return self.options.leading(arguments)

    def _by_command(self, arguments: Sequence[str]) -> str | None:
        count, problem = self._leading(arguments)
        if problem:
            return problem
        rest = arguments[count:]
        for spelled in _spellings(rest):
            profile = self.commands.get(spelled)
            if profile is not None:
                after = rest[spelled.count(" ") + 1 :]
                found = profile.problem((*arguments[:count], *after) if self.inherit else after)
                return f"{spelled}: {found}" if found else None
        return f"the subcommand {''.join(rest[:1])!r} is not known to be harmless"


_SHAPE = ("exact", "options", "commands", "groups", "inherit")
_EFFECTS = ("reading", "can", "acts")
_OF_OTHERS = ("accept", "refuse", "source")
_KEYS = frozenset((*_SHAPE, *_EFFECTS, *_OF_OTHERS))
_OPTIONLESS = Profile(frozenset(), {}, {}, 0, "any")


def _spellings(rest: Sequence[str]) -> tuple[str, ...]:
    """Return possible subcommand names, the longest first; a word with a blank names none."""
    if not rest or " " in rest[0]:
        return ()
    alone = (rest[0],)
    return alone if len(rest) == 1 or " " in rest[1] else (f"{rest[0]} {rest[1]}", *alone)


def carrier_profile_of(name: str, holder: Table) -> CarrierProfile:
    """Build one program's profile from its table.

    Raises:
        TypeError: a key has a value of another type.
        KeyError: a kind or a group of options is unknown.
        ValueError: a key means nothing, or a word names no effect.
    """
    check_keys(holder, _KEYS)
    shared = section(holder, "groups")
    groups = {key: profile_of(section(shared, key)) for key in shared}
    options = _with_groups(section(holder, "options"), groups) if "options" in holder else None
    known = section(holder, "commands")
    inherit = holder.get("inherit") is True
    commands: dict[str, Profile] = {}
    for spelled in known:
        profile = _with_groups(section(known, spelled), groups)
        built = profile.joined(options) if inherit and options else profile
        commands |= dict.fromkeys(spelled.split("|"), built)
    return CarrierProfile(
        name=name,
        exact=frozenset(tuple(one.split()) for one in words(holder, "exact")),
        options=options,
        commands=commands,
        reading=effects_of(words(holder, "reading") or ("reads",)),
        can=effects_of(words(holder, "can")),
        acts=_acts(section(holder, "acts")),
        inherit=inherit,
    )


def _with_groups(holder: Table, groups: Mapping[str, Profile]) -> Profile:
    profile = profile_of(holder)
    for group in words(holder, "with"):
        profile = profile.joined(groups[group])
    return profile


def _acts(holder: Table) -> dict[str, frozenset[Effect]]:
    found: dict[str, frozenset[Effect]] = {}
    for effect in holder:
        for spelled in words(holder, effect):
            # TOML words contain no blank: `pr.merge` means the subcommand `pr merge`.
            key = spelled.replace(".", " ")
            found[key] = found.get(key, frozenset()) | effects_of((effect,))
    return found
