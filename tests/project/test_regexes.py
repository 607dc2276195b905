"""Check that regular expressions mean the same on every Python that Sayso runs on."""

import re

from tests.project.tracked import modules

# Possessive and atomic groups give wrong matches before CPython 3.11.5 (gh-106052, gh-101955), and
# Debian 12 ships 3.11.2. A possessive single character or class is sound there, and allowed.
_UNSOUND = re.compile(r"\)[*+?]\+|\(\?>")


def test_no_group_is_possessive_or_atomic() -> None:
    """The readers of the shell rest on these matches; an older interpreter must agree."""
    found = [
        f"{path}:{number}"
        for path in modules()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if _UNSOUND.search(line) and not line.lstrip().startswith("#")
    ]

    assert [] == found


def test_the_check_sees_what_it_looks_for() -> None:
    """The negative control."""
    assert all(map(_UNSOUND.search, ("(ab)*+", "(?:a|b)++", "(a)?+", "(?>ab)")))
    assert not any(map(_UNSOUND.search, ("[ab]*+", "a++", "(ab)*", "(?:ab)")))
