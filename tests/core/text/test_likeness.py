import pytest

from core.text.likeness import likeness
from tests.support.tables import rows


@rows(
    "twin",
    [
        *("WEB-1", "web_1", "web 1", "w\u0435b-1", "we\u044c-1", "\u051deb-1"),
        *("we\u200bb-1", "web-1\u202e", "\u2066web-1", "web\u00ad-1", "w\ufe0feb-1", "web\u0301-1"),
        *("\uff57\uff45\uff42-1", "\U0001d430\U0001d41e\U0001d41b-1", "web\u20111", "web\u22121"),
        *("web-l", "web-I", "web-|", "vveb-1", "w\u00ebb-1", "\ua4ea\ua4f0\ua4d0-1"),
        *("\u13b3\u13ac\u13f4-1", "w\u1d07\u0299-1", "we\u0180-1"),
    ],
)
def test_a_twin_has_the_same_likeness(twin: str) -> None:
    """Recognise another script, case, width, mark, dash, or invisible text as a reader takes it."""
    assert likeness(twin) == likeness("web-1")


@pytest.mark.parametrize("other", ["web-2", "wed-1", "db-1", "web", "web-11", "сервер", "b-1we"])
def test_another_name_has_another(other: str) -> None:
    """Names that look different differ."""
    assert likeness(other) != likeness("web-1")


def test_what_cannot_be_seen_is_like_nothing() -> None:
    """A name of such characters alone has no likeness."""
    assert likeness("\u200b\u202e\u3164") == ""
