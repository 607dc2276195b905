"""Find the commands that may read a file that nobody may read without a question.

Too many rather than too few: every word is cut into whatever may name a path, as it is written and
where it leads, and what goes through a folder above such a file may read it as well.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from posixpath import join

from core.model.decision import Decision
from core.policy.matching.path_arguments import normal, pieces, starts, without_addresses
from core.policy.matching.path_patterns import fold, segment_fits, segments_fit
from core.policy.matching.template_element import Surroundings
from core.programs.implicit_reads import Contents, contents_of, reads_elsewhere

_MOST_NAMED = 4096
"""Most paths that the words of one command are cut into; more ask."""
_LONGEST_WORD = 16_384
_MAGIC_LINK = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?(?:cwd|root|fd|map_files)(?:/|\Z)")
"""These lead to any folder; the planner follows no link of /proc."""

_Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadsMatch:
    """Any command that may read a file; ``patterns`` are its absolute path and real path.

    ``*`` and ``?`` stay inside one segment, ``**`` spans any number. What is below counts as
    well. ``home`` is what a program may take ``~`` for.
    """

    patterns: tuple[str, ...]
    home: str

    def decide(
        self, argv: tuple[str, ...], paths: tuple[str, ...], at: Surroundings, decision: Decision
    ) -> Decision | None:
        """Return what follows for a program with these paths, ``None`` if it reads no such file.

        What may be read by going through a folder, or is not certain, is asked about at least.
        Without ``paths`` only the words count: what a wrapper runs is judged on its own.
        """
        named = _named(argv, at.cwd, frozenset(at.real.items()), self.home)
        if named is None:
            return Decision.ASK
        if any(_covers(self.patterns, path) for path in named):
            return decision
        if not paths:
            return None
        path, realpath = paths
        if reads_elsewhere(argv, path, realpath):
            return Decision.ASK
        contents = contents_of(argv, path, realpath)
        if contents in {Contents.NONE, Contents.FILES}:
            return None
        folders = named if contents is Contents.FOLDERS else (at.cwd, *named)
        above = any(_may_hold(self.patterns, path) for path in folders)
        return Decision.ASK if above else None


@lru_cache(maxsize=4096)
def _named(
    argv: tuple[str, ...], cwd: str, real: frozenset[tuple[str, str]], home: str
) -> frozenset[str] | None:
    """Return every absolute path that a command may name, ``None`` where that is unknown."""
    leads, found = dict(real), set[str]()
    if "" in leads.values() or any(len(word) > _LONGEST_WORD for word in argv):
        return None
    found.update(leads.values())
    for part in _parts(argv[1:]):
        joined = join(cwd, _at_home(part, home))
        path = normal(joined)
        found.update((path, leads.get(joined, path)))
        if _unclear(part, path) or len(found) > _MOST_NAMED:
            return None
    return frozenset(found)


def _parts(words: tuple[str, ...]) -> Iterator[str]:
    for word in dict.fromkeys(words):
        plain = without_addresses(word)
        yield plain
        yield from (plain[start:] for start in sorted(starts(plain)))
        yield from pieces(word)


def _at_home(part: str, home: str) -> str:
    """Return a path as a program that expands ``~`` itself reads it."""
    return f"{home}{part[1:]}" if part == "~" or part.startswith("~/") else part


def _unclear(part: str, path: str) -> bool:
    """Return whether a path may lead anywhere: another user's home, or a link in /proc."""
    return (part[:1] == "~" and part[1:2].isalpha()) or _MAGIC_LINK.match(path) is not None


@lru_cache(maxsize=65_536)
def _covers(patterns: tuple[str, ...], path: str) -> bool:
    """Return whether a path is one of the files, or below it."""
    parts = _split(path)
    return any(segments_fit((*_split(one), "**"), parts) for one in patterns)


@lru_cache(maxsize=16_384)
def _may_hold(patterns: tuple[str, ...], path: str) -> bool:
    """Return whether one of the files may be below a folder."""
    parts = _split(path)
    return any(_leads_on(_split(one), parts) for one in patterns)


def _leads_on(pattern: _Parts, parts: _Parts) -> bool:
    """Return whether the beginning of a pattern covers a folder; ``**`` may end anywhere."""
    places = _closed({0}, pattern)
    for part in parts:
        stay = {at for at in places if at < len(pattern) and pattern[at] == "**"}
        step = {
            at + 1 for at in places - stay if at < len(pattern) and segment_fits(pattern[at], part)
        }
        places = _closed(stay | step, pattern)
    return bool(places)


def _closed(places: set[int], pattern: _Parts) -> set[int]:
    """Return places in a pattern with those after each ``**``, which may be empty."""
    found = set(places)
    for at in range(len(pattern)):
        if at in found and pattern[at] == "**":
            found.add(at + 1)
    return found


def _split(path: str) -> _Parts:
    return tuple(part for part in fold(path).split("/") if part)
