"""Say whether a listed program may be trusted with these arguments.

A *carrier* can run other programs, write files or reach the network through its arguments. Under
strict trust a carrier passes only where its profile in ``data/carriers.toml`` knows every argument
to be harmless (bypasses.md invariant 10); under classical trust its path is enough, unless the
arguments carry code. Full profiles of the carriers that agents use most belong in the same file.
"""

from collections.abc import Sequence
from functools import cache, lru_cache

from core.policy.profiles import Profile, profile_of
from core.policy.tables import section, table, words
from core.policy.wrappers import names_of

SYSTEM_DIRECTORIES = ("/bin/", "/sbin/", "/usr/", "/lib/", "/lib64/", "/snap/", "/nix/store/")


@cache
def _profiles() -> dict[str, Profile]:
    known = section(table("carriers"), "profile")
    return {name: profile_of(section(known, name)) for name in known}


@cache
def _plain() -> frozenset[str]:
    return frozenset(words(table("carriers"), "plain"))


@cache
def _alone() -> dict[str, frozenset[str]]:
    known = section(table("carriers"), "alone")
    return {name: frozenset(words(known, name)) for name in known}


@cache
def _effects() -> dict[str, str]:
    known = section(table("carriers"), "effects")
    return {name: ", ".join(words(known, name)) for name in known}


@cache
def _families() -> frozenset[str]:
    return frozenset(words(table("carriers"), "families"))


@cache
def _inline() -> dict[str, tuple[str, ...]]:
    known = section(table("carriers"), "inline")
    return {name: words(known, name) for name in known}


def inline_options(names: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Return the options, with the program's name, that carry code or name a program to run."""
    known = _inline()
    return tuple((name, option) for name in sorted(names) for option in known.get(name, ()))


def inline_code(options: Sequence[tuple[str, str]], arguments: Sequence[str]) -> str | None:
    """Name the argument that carries code or a program to run; asked about under either trust."""
    for name, option in options:
        found = next((word for word in arguments if _carries(option, word)), None)
        if found is not None:
            return f"{name} takes code or a program from its argument {found!r}"
    return None


def _carries(option: str, word: str) -> bool:
    if option.startswith("--"):
        head = word.partition("=")[0]
        return len(head) > len("--x") and head.startswith("--") and option.startswith(head)
    if len(option) == len("-x") and option.startswith("-"):
        return word[:1] == "-" and word[:2] != "--" and option[1] in word
    return word == option or word.startswith(f"{option}=")


def carrier_problem(path: str, arguments: Sequence[str]) -> str | None:
    """Say why strict trust does not let a program pass, for one of its paths.

    ``None`` means that the program only reads and prints, or that its profile knows the arguments.
    """
    name = _table_name(path)
    return None if name is None else _judge(name, arguments)


@lru_cache(maxsize=16_384)
def _table_name(path: str) -> str | None:
    """Return the name under which the tables warn of a program, its own before a peeled one."""
    if is_plain(path):
        return None
    name = path.rpartition("/")[2].lower()
    others = (names_of(path) | _family(name)) - {name}
    warned = (one for one in (name, *sorted(others)) if one in _effects() or one in _profiles())
    return next(warned, None)


def _family(name: str) -> frozenset[str]:
    head = name.partition("-")[0]
    return names_of(head) & _families() if head != name else frozenset()


def _judge(name: str, arguments: Sequence[str]) -> str | None:
    if len(arguments) <= 1 and "".join(arguments) in _alone().get(name, ()):
        return None
    profile = _profiles().get(name)
    if profile is None:
        return f"{name} can do more than read ({_effects()[name]})"
    problem = profile.problem(arguments)
    return None if problem is None else f"{name}: {problem}"


def is_plain(path: str) -> bool:
    """Tell whether the program at this path only reads and prints, whatever its arguments."""
    return path.rpartition("/")[2].lower() in _plain()


def is_known(path: str) -> bool:
    """Tell whether the tables say anything about the program at this path."""
    names = names_of(path)
    return any(names & known for known in (_plain(), _profiles().keys(), _effects().keys()))


def in_system_directory(path: str) -> bool:
    """Tell whether a path lies where the operating system keeps its programs."""
    return path.startswith(SYSTEM_DIRECTORIES) and not path.startswith("/usr/local/")
