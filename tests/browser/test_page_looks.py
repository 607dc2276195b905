"""Render the control page where it is hard to draw: zoomed, dark, right to left, very long."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.playwright_page import Scheme, sign_in, tab
from tests.support.api_gateway import UNLIMITED, ApiGateway, api_gateway
from tests.support.page_browser import link_for

RTL = "סוכן-פריסה"
LONG = "git commit -m " + "word-" * 3_998 + "end"


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ApiGateway, tuple[str, ...]]]:
    """Run a gateway with hard things on its pages; yield their addresses."""
    with api_gateway(
        tmp_path_factory.mktemp("looks") / "home", timeout=600, limits=UNLIMITED
    ) as home:
        long = home.ask(LONG)["id"]
        home.ask("git push origin main", session=RTL)
        yield home, ("/", f"/approve/{long}")


def test_the_scheme_of_the_device_is_taken(
    paths: tuple[ApiGateway, tuple[str, ...]], chromium: Browser
) -> None:
    """Light ink on dark, and dark ink on light; forms and bars of the browser follow."""
    seen: dict[Scheme, Any] = {}
    schemes: tuple[Scheme, ...] = ("light", "dark")
    for scheme in schemes:
        with tab(chromium, scheme=scheme) as opened:
            sign_in(opened.page, paths[0].url, link_for(paths[0]))
            seen[scheme] = opened.page.evaluate(
                "[getComputedStyle(document.body).backgroundColor,"
                " getComputedStyle(document.body).color].map((one) => Number(one.match(/\\d+/)[0]))"
            )
    paper, ink = seen["light"]
    dark_paper, dark_ink = seen["dark"]
    assert min(paper, dark_ink) > 200
    assert max(ink, dark_paper) < 100


def test_a_name_from_right_to_left_moves_nothing_else(
    paths: tuple[ApiGateway, tuple[str, ...]], chromium: Browser
) -> None:
    """It is in its own box: what follows it reads in its own order."""
    home, _ = paths
    with tab(chromium) as opened:
        sign_in(opened.page, home.url, link_for(home))
        opened.page.goto(f"{home.url}/exec-approvals?agent={RTL}")
        name = opened.page.locator("legend bdi")
        expect(name).to_have_text(RTL)
        assert name.evaluate("(one) => getComputedStyle(one).unicodeBidi") == "isolate"
        boxes = opened.page.locator("legend").evaluate(
            """(one) => {
              const words = document.createRange();
              words.selectNodeContents(one.firstChild);
              const name = one.querySelector("bdi").getBoundingClientRect();
              return [words.getBoundingClientRect().right, name.left];
            }"""
        )
        assert boxes[0] <= boxes[1] + 1


def test_a_command_of_20000_characters_is_shown_whole_on_its_page(
    paths: tuple[ApiGateway, tuple[str, ...]], chromium: Browser
) -> None:
    """To its last word, and allowed there; in the list only its beginning."""
    home, addresses = paths
    with tab(chromium, 390) as opened:
        sign_in(opened.page, home.url, link_for(home))
        card = opened.page.locator(".card", has_text="Only the beginning is shown here")
        expect(card.get_by_role("button", name="Allow")).to_have_count(0)
        opened.page.goto(home.url + addresses[1])
        words = opened.page.locator(".command").inner_text()
        assert len(words) >= 20_000
        assert words.endswith("end")
        expect(opened.page.get_by_role("button", name="Allow").first).to_be_visible()
