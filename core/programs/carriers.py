"""Decide whether a listed program may be trusted with these arguments, and what they can do.

A *carrier* can run other programs, write files or reach the network through its arguments. Under
strict trust a carrier passes only if its profile in ``data/carriers/`` knows every argument
to be harmless; under classical trust its path is enough, unless the
arguments carry code.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from core.programs.profiles.carrier_profile import (
    CarrierProfile,
    Effect,
    carrier_profile_of,
    effects_of,
)
from core.programs.profiles.tables import FOLDER, section, table, words
from core.programs.wrappers import names_of

SYSTEM_DIRECTORIES = ("/bin/", "/sbin/", "/usr/", "/lib/", "/lib64/", "/snap/", "/nix/store/")
_HEADING = re.compile(r"^\[([\w+-]+)\]$", re.MULTILINE)


@cache
def _home_of() -> dict[str, str]:
    """Return the family file of each profiled program, from its headings; parsed later."""
    families = sorted((FOLDER / "carriers").glob("*.toml"))
    return {
        name: file.stem for file in families for name in _HEADING.findall(file.read_text("utf-8"))
    }


@cache
def _aliases() -> dict[str, str]:
    known = section(table("carriers"), "aliases")
    return {alias: name for name in known for alias in words(known, name)}


def profiled() -> dict[str, str]:
    """Return the names of the programs that have a profile, with the family of each."""
    return dict(_home_of())


@cache
def carrier_profile(name: str) -> CarrierProfile:
    """Return the profile of a program in ``profiled()``; its family is read now.

    Raises:
        KeyError: the program has no profile.
    """
    return carrier_profile_of(name, section(table(f"carriers/{_home_of()[name]}"), name))


def _profiled_name(name: str) -> str | None:
    known = _aliases().get(name, name)
    return known if known in _home_of() else None


@cache
def _plain() -> frozenset[str]:
    return frozenset(words(table("carriers"), "plain"))


@cache
def _effects() -> dict[str, frozenset[Effect]]:
    known, more = section(table("carriers"), "effects"), section(table("carriers"), "unprofiled")
    found = {name: effects_of((effect,)) for effect in more for name in words(more, effect)}
    return found | {name: effects_of(words(known, name)) for name in known}


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
    """Name the argument that carries code or a program to run; it prompts under either trust."""
    for name, option in options:
        found = next((word for word in arguments if carries(option, word)), None)
        if found is not None:
            return f"{name} takes code or a program from its argument {found!r}"
    return None


_RESPONSE_FILE = "@"
"""The beginning of a word that names a file with more words, where it is listed as an option."""


def carries(option: str, word: str) -> bool:
    """Return whether a word may contain an option: abbreviated, clustered, with a glued value.

    One letter is enough where no other option begins with it (`wc --f=LIST`).
    """
    if option == _RESPONSE_FILE:
        return word.startswith(option)
    if option.startswith("--"):
        head = word.partition("=")[0]
        return len(head) > len("--") and head.startswith("--") and option.startswith(head)
    if len(option) == len("-x") and option.startswith("-"):
        return word[:1] == "-" and word[:2] != "--" and option[1] in word
    return word == option or word.startswith(f"{option}=")


def carrier_problem(path: str, arguments: Sequence[str]) -> str | None:
    """Return why strict trust does not let a program pass, given one of its paths.

    ``None`` means that the program only reads and prints, or that its profile knows the arguments.
    """
    return _problem(path, tuple(arguments))


@lru_cache(maxsize=4096)  # agents repeat themselves
def _problem(path: str, arguments: tuple[str, ...]) -> str | None:
    name, profile = _known(path)
    if name is None:
        return None
    if profile is None:
        return f"{name} can do more than read ({', '.join(sorted(_effects()[name]))})"
    problem = profile.problem(arguments)
    return None if problem is None else f"{name}: {problem}"


def harmless(paths: Sequence[str], arguments: tuple[str, ...]) -> bool:
    """Return whether a program is known, under each of its paths, to only read and print here.

    Unlike ``carrier_problem``, it is false for a program that is in no table.
    """
    return all(_is_harmless(path, arguments) for path in dict.fromkeys(paths))


def _is_harmless(path: str, arguments: tuple[str, ...]) -> bool:
    if is_plain(path):
        return True
    profile = _known(path)[1]
    return profile is not None and profile.problem(arguments) is None


def profile_for(path: str) -> CarrierProfile | None:
    """Return the profile by which a program at a path is judged, ``None`` if it has none."""
    return _known(path)[1]


def is_judged(path: str) -> bool:
    """Return whether the tables list any arguments with which the program is harmless."""
    profile = _known(path)[1]
    passes = profile is not None and (profile.exact or profile.options or profile.commands)
    return is_plain(path) or bool(passes)


def is_carrier(path: str) -> bool:
    """Return whether a path alone says too little about what the program there will do."""
    return _known(path)[0] is not None


def effects(argv: Sequence[str]) -> frozenset[Effect] | None:
    """Return what a command can do, ``None`` if that is not known.

    That is everything only if it is ``bounded``. ``runs`` means whatever another program may do.
    Wrappers are not unwrapped.
    """
    if is_plain(argv[0]):
        return frozenset((Effect.READS,))
    name, profile = _known(argv[0])
    if profile is not None:
        return profile.effects(argv[1:])
    return None if name is None else _effects()[name]


def worst_effects(path: str) -> frozenset[Effect]:
    """Return all that a program can do with any arguments; nothing for one that is in no table."""
    if is_plain(path):
        return frozenset((Effect.READS,))
    name, profile = _known(path)
    if profile is not None:
        return profile.can | profile.reading
    return frozenset() if name is None else _effects()[name]


def bounded(argv: Sequence[str]) -> bool:
    """Return whether a command can do nothing beyond its known ``effects``."""
    profile = _known(argv[0])[1]
    return profile is None or profile.bounds(argv[1:])


@lru_cache(maxsize=16_384)
def _known(path: str) -> tuple[str | None, CarrierProfile | None]:
    """Return the name under which the tables list a program as a carrier, and its profile.

    Its own name comes before a peeled one. A relative (``kubectl-foo``, ``git-upload-pack``) is
    a carrier, too, but does not share the profile, because it is another program.
    """
    if is_plain(path):
        return None, None
    name = path.rpartition("/")[2].lower()
    for one in (name, *sorted(names_of(path) - {name})):
        known = _profiled_name(one)
        if known is not None:
            return one, carrier_profile(known)
        if one in _effects():
            return one, None
    return next((one for one in sorted(_family(name)) if one in _effects()), None), None


def _family(name: str) -> frozenset[str]:
    head = name.partition("-")[0]
    return names_of(head) & _families() if head != name else frozenset()


def is_plain(path: str) -> bool:
    """Return whether the program at this path only reads and prints, whatever its arguments."""
    return path.rpartition("/")[2].lower() in _plain()


@lru_cache(maxsize=16_384)
def is_known(path: str) -> bool:
    """Return whether the tables say anything about the program at this path."""
    return not names_of(path).isdisjoint(_tabled())


@cache
def _tabled() -> frozenset[str]:
    return frozenset((*_plain(), *_effects(), *_home_of(), *_aliases()))


@cache
def _installed() -> tuple[str, ...]:
    return tuple(f"/{one}/" for one in words(table("carriers"), "installed"))


def in_installed_directory(path: str) -> bool:
    """Return whether a path is where package managers keep the programs that they install."""
    return any(one in path for one in _installed())


def in_system_directory(path: str) -> bool:
    """Return whether a path is where the operating system keeps its programs."""
    return path.startswith(SYSTEM_DIRECTORIES) and not path.startswith("/usr/local/")
