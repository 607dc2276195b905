"""Count and cut text as Telegram counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegram.constants import MessageEntityType

from channels.telegram.render.layout import Layout
from channels.utf16 import chunks, cut, tail, units
from core.text.render import redact
from tests.channels.rendered import covered
from tests.emulators.telegram_rules import utf16

_TEXT = st.text(max_size=60).map(lambda text: redact(text, multiline=True).text)


@given(_TEXT)
def test_units_are_utf16(text: str) -> None:
    """Characters beyond U+FFFF count twice."""
    assert units(text) == utf16(text)


@given(_TEXT, st.integers(min_value=14, max_value=80))
def test_chunks_lose_nothing_and_fit(text: str, limit: int) -> None:
    """Joined again they are the text; none is too long, none is empty."""
    parts = list(chunks(text, limit))

    assert "".join(parts) == text
    assert all(0 < utf16(part) <= limit for part in parts)


@given(_TEXT, st.integers(min_value=14, max_value=80))
def test_no_cut_is_inside_an_escape(text: str, limit: int) -> None:
    """An escape is never torn into something that reads differently."""
    head, rest = cut(text, limit)

    opened = head.rfind("\\u{")
    assert not rest or opened < 0 or "}" in head[opened:]


@given(_TEXT, st.integers(min_value=14, max_value=80))
def test_a_tail_is_the_end_and_fits(text: str, limit: int) -> None:
    """The end of the text, at most that long."""
    end = tail(text, limit)

    assert text.endswith(end)
    assert utf16(end) <= limit


def test_a_tail_never_begins_inside_an_escape() -> None:
    """A torn escape at the front is left out."""
    assert tail("aaaa\\u{202E}bbb", 7) == "bbb"
    assert tail("aaaa\\u{202E}bbb", 11) == "\\u{202E}bbb"


@given(st.lists(st.tuples(st.sampled_from(["plain", "bold", "value", "block"]), _TEXT)))
def test_entities_cover_what_they_were_given(parts: list[tuple[str, str]]) -> None:
    """Offsets are right after any mix of characters."""
    layout = Layout()
    for how, text in parts:
        getattr(layout, how)(text)

    styled = [text for how, text in parts if how != "plain" and text]
    assert [covered(layout.text, entity) for entity in layout.entities] == styled


@pytest.mark.parametrize(
    ("text", "kind"),
    [("a b", MessageEntityType.CODE), ("a\nb", MessageEntityType.PRE)],
)
def test_a_value_of_several_lines_is_a_block(text: str, kind: MessageEntityType) -> None:
    """Clients copy what is inline with one touch; they show lines only in a block."""
    assert [one.type for one in Layout().value(text).entities] == [kind]
    assert [one.type for one in Layout().block(text).entities] == [MessageEntityType.PRE]
