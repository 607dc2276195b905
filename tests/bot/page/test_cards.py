"""Show each spoofing prompt of the corpus as text on its card, whole, without secrets."""

import json
import re
from datetime import UTC
from pathlib import Path

import pytest

from bot.page.assets import Assets
from bot.page.cards import Cards, is_long
from bot.page.render import Renderer
from channels.cards.build import build_prompt
from channels.cards.lines import details, front
from core.text.render import command_text
from tests.bot.page.markup import Markup
from tests.channels.prompt_checks import Entry, asked
from tests.contracts.channel_examples import approval, plan
from tests.support.hidden_characters import hidden

ENTRIES: list[Entry] = json.loads(
    (Path(__file__).parents[2] / "corpus" / "prompts.json").read_text()
)
CSRF = "c5" * 32
_OURS = {"article", "div", "h2", "a", "bdi", "span", "p", "i", "pre", "code", "dl", "dt", "dd"} | {
    *("form", "input", "button", "details", "summary", "ul", "li", "label", "select", "option"),
}


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    """Return what renders the templates."""
    return Renderer(Assets.load(), UTC)


@pytest.fixture
def cards(renderer: Renderer) -> Cards:
    """Return a maker of cards that has made none: plans of examples have no digest."""
    return Cards(renderer)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda one: one["id"])
def test_nothing_of_a_prompt_is_markup_or_hidden(entry: Entry, cards: Cards) -> None:
    """The command is one text as the chats show it; elements and attributes are ours alone."""
    question = asked(entry)
    page = Markup.of(cards.whole(question, CSRF).html)

    assert page.first("pre", class_="command").text == command_text(question.plan).text
    assert {one.tag for one in page.elements} <= _OURS
    assert not [name for one in page.elements for name in one.attributes if name.startswith("on")]
    for one in page.elements:
        assert one.attributes.get("href", "/approve/").startswith("/approve/")
        assert not [letter for letter in one.text if hidden(letter)], one
        for value in one.attributes.values():
            assert not [letter for letter in value if hidden(letter)], one


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda one: one["id"])
def test_the_card_has_every_line_of_the_chats(entry: Entry, cards: Cards) -> None:
    """Each fact of the first screen and of the details, under its label."""
    question = asked(entry)
    page = Markup.of(cards.whole(question, CSRF).html)
    card = build_prompt(question, UTC)
    shown = [one.text for one in page.elements if one.tag in {"dt", "dd"}]
    pairs = list(zip(shown[::2], shown[1::2], strict=True))

    for fact in (*front(card), *details(card)):
        if fact.label != "Answer by":
            assert (fact.label, fact.value.text) in pairs


def test_markup_in_a_command_would_be_seen_by_these_tests(cards: Cards) -> None:
    """The control: without the escape the shape of the page is different."""
    question = approval(plan(("echo", "<img src=x onerror=alert(1)>")))
    html = cards.whole(question, CSRF).html
    raw = html.replace("&lt;img src=x onerror=alert(1)&gt;", "<img src=x onerror=alert(1)>")

    assert raw != html
    assert Markup.of(raw).shape != Markup.of(html).shape
    assert any("onerror" in one.attributes for one in Markup.of(raw).elements)


def test_each_session_has_its_own_token_in_the_same_card(cards: Cards) -> None:
    """And a command cannot name the place where it goes."""
    question = approval(plan(("echo", "@rev@", "csrf")))
    first, second = cards.listed(question, CSRF), cards.listed(question, "d6" * 32)

    assert first.rev == second.rev
    assert re.findall(r'name="csrf" value="([^"]*)"', first.html) == [CSRF] * 3
    assert CSRF not in second.html
    assert first.html.replace(CSRF, "d6" * 32) == second.html
    assert "@rev@" in Markup.of(first.html).first("pre").text


def test_a_long_command_is_cut_in_a_list_and_cannot_be_allowed_there(cards: Cards) -> None:
    """Its own page has all of it and the buttons; the list has a link there, and Deny."""
    question = approval(plan(("echo", *(f"word-{n}" for n in range(600)))))
    assert is_long(build_prompt(question))
    listed = Markup.of(cards.listed(question, CSRF).html)
    whole = Markup.of(cards.whole(question, CSRF).html)

    assert "allow-once" not in cards.listed(question, CSRF).html
    assert "allow-always" not in cards.listed(question, CSRF).html
    assert 'value="deny"' in cards.listed(question, CSRF).html
    assert "word-599" not in listed.first("pre").text
    assert "word-599" in whole.first("pre").text
    assert "allow-once" in cards.whole(question, CSRF).html


def test_what_is_kept_as_shown_is_what_was_shown(cards: Cards, renderer: Renderer) -> None:
    """In a list only the beginning of a long command, on its own page all of it."""
    question = approval(plan(("echo", *(f"word-{n}" for n in range(600)))))
    listed, whole = cards.listed(question, CSRF), cards.whole(question, CSRF)
    short = Cards(renderer).listed(approval(plan(("echo", "word-599"))), CSRF)

    assert ("word-0" in listed.text, "word-599" in listed.text) == (True, False)
    assert listed.text == Markup.of(listed.html).first("pre").text
    assert "word-599" in whole.text
    assert "word-599" in short.text
