"""Count the attacks on the page: at least 60 attempts of five classes, and none succeeds.

``pytest -s tests/bot/page/test_page_attacks.py`` prints how many there are of each class.
"""

import json
from collections import Counter
from datetime import UTC
from pathlib import Path

import pytest

from bot.page.assets import Assets
from bot.page.cards import Cards
from bot.page.render import Renderer
from tests.bot.page.attacks import Kind, Scene, attempts, controls
from tests.bot.page.markup import Markup
from tests.channels.prompt_checks import Entry, asked
from tests.support.api_gateway import ApiGateway
from tests.support.hidden_characters import hidden
from tests.support.page_browser import PageBrowser

LEAST = 60
PROMPTS: list[Entry] = json.loads(
    (Path(__file__).parents[2] / "corpus" / "prompts.json").read_text()
)


@pytest.mark.slow
def test_no_attempt_of_any_class_succeeds(home: ApiGateway, ana: PageBrowser) -> None:
    """Each is judged by its result; the next test shows that the judges see a success."""
    scene, made = Scene(home, ana), Counter[Kind]()
    succeeded: list[str] = []
    for one in attempts(home):
        made[one.kind] += 1
        if one.succeeds(scene):
            succeeded.append(f"{one.kind}: {one.name}")
    for kind, number in made.items():
        print(f"{kind:28} {number:4} attempts")
    print(f"{'all':28} {made.total():4} attempts, {len(succeeded)} succeeded")
    assert not succeeded, "\n".join(succeeded)
    assert set(made) == set(Kind)
    assert made.total() >= LEAST


@pytest.mark.parametrize("control", tuple(controls()), ids=lambda one: one.name)
def test_a_success_of_each_class_would_be_seen(
    home: ApiGateway, ana: PageBrowser, control: object
) -> None:
    """The control: what is meant to work, and what is not escaped, is judged a success."""
    assert control.succeeds(Scene(home, ana))  # type: ignore[attr-defined]


def test_no_spoofing_prompt_is_raw_on_the_page() -> None:
    """The whole corpus, on a card's own page and in the list: no invisible character."""
    cards = Cards(Renderer(Assets.load(), UTC))
    raw: list[str] = []
    for entry in PROMPTS:
        question = asked(entry)
        for made in (cards.whole(question, "c5" * 32), cards.listed(question, "c5" * 32)):
            texts = [one.text for one in Markup.of(made.html).elements]
            if any(hidden(letter) for text in texts for letter in text):
                raw.append(entry["id"])
    print(f"{len(PROMPTS)} spoofing prompts, {len(raw)} raw")
    assert (len(PROMPTS), raw) == (79, [])
