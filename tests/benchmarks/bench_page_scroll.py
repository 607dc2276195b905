"""Scroll 1,000 cards of the control page in a real browser, beside a page of plain paragraphs.

60 pixels a frame are 3,600 in a second: a fast finger. Frames are drawn by the processor here.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.browser.playwright_page import browser, sign_in, tab
from tests.support.api_gateway import api_gateway
from tests.support.pace import slowness, words
from tests.support.page_browser import link_for

CARDS = 1_000
GOAL_P95_MS = 20.0
_FILL = """(count) => {
  const cards = document.getElementById("cards"), [first] = cards.children;
  while (cards.children.length < count) {
    const made = first.cloneNode(true);
    made.id = `c-${cards.children.length}`;
    cards.append(made);
  }
  return cards.children.length;
}"""
_PLAIN = """(count) => {
  const made = [...Array(count)].map((_, at) => {
    const one = document.createElement("p");
    one.textContent = `paragraph ${at}`;
    one.style.height = "24rem";
    return one;
  });
  document.body.replaceChildren(...made);
}"""
_SCROLL = """(frames) => new Promise((done) => {
  const times = [];
  let last = 0;
  const step = (now) => {
    if (last) times.push(now - last);
    last = now;
    if (times.length === frames) return done(times);
    window.scrollBy(0, 60);
    requestAnimationFrame(step);
  };
  window.scrollTo(0, 0);
  requestAnimationFrame(step);
})"""


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[round(len(times) * 0.95) - 1]


@pytest.mark.benchmark
def test_a_thousand_cards_scroll_smoothly(tmp_path: Path) -> None:
    """19 of 20 frames take 20 ms at most, more only as the machine is slower."""
    with (
        api_gateway(tmp_path / "home", timeout=600) as home,
        browser() as chromium,
        tab(chromium, 390) as opened,
    ):
        home.ask("git push --force-with-lease origin main")
        sign_in(opened.page, home.url, link_for(home))
        opened.page.locator(".card").first.wait_for()
        assert opened.page.evaluate(_FILL, CARDS) == CARDS
        slow = slowness()
        cards: Any = opened.page.evaluate(_SCROLL, 300)
        opened.page.evaluate(_PLAIN, CARDS)
        plain: Any = opened.page.evaluate(_SCROLL, 300)
        slow = max(slow, slowness())
    found, floor = _p95(cards), _p95(plain)
    print(
        f"\nscrolling {CARDS} cards: p95 frame {found:.1f} ms; plain page {floor:.1f} ms {words(slow)}"
    )
    assert found <= GOAL_P95_MS * slow
