import pytest

from core.programs.profiles.value_kinds import path_like


@pytest.mark.parametrize("word", ["/etc", "./x", "../x", "~/x", "..", "~", "a/../b", "a/.."])
def test_what_resembles_a_path_is_seen(word: str) -> None:
    """At its beginning, inside, at its end, or as a whole."""
    assert path_like(word)


@pytest.mark.parametrize("word", ["", "/", "a", "a/b", "..a", "a..", "a~", "~a", "1..2", "a/..b"])
def test_other_words_resemble_none(word: str) -> None:
    """A lone slash, a name below another, and dots or a tilde within a word."""
    assert not path_like(word)
