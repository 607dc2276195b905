"""Look at the control page where it is hard to draw: zoomed, dark, right to left, and very long."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from core.model.access import Scope
from tests.browser.playwright_page import Scheme, sign_in, tab
from tests.support.api_gateway import UNLIMITED, ApiGateway, api_gateway
from tests.support.page_browser import PERSON_SCOPES, link_for

OVERLAPS = Path(__file__).with_name("overlaps.js").read_text(encoding="utf-8")
RTL = "סוכן-פריסה"
LONG = "git commit -m " + "word-" * 3_998 + "end"
SIZES = ((390, 1.0), (1280, 1.0), (640, 2.0), (320, 2.0))
"""Widths of windows in CSS pixels, and pixels for each: the last two are 1280 and 640 at 200 %."""


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ApiGateway, tuple[str, ...]]]:
    """Run a gateway with hard things on its pages; yield their addresses."""
    with api_gateway(
        tmp_path_factory.mktemp("looks") / "home", timeout=600, limits=UNLIMITED
    ) as home:
        long = home.ask(LONG)["id"]
        mirrored = home.ask("git push origin main", session=RTL)["id"]
        burst = [home.ask(f"git push origin s-{n}", session="plan")["id"] for n in range(3)]
        yield (
            home,
            (
                *("/", f"/approve/{long}", f"/approve/{mirrored}", f"/plan/{burst[0]}", "/history"),
                *("/exec-approvals", "/exec-approvals?agent=main", f"/exec-approvals?agent={RTL}"),
                *("/sessions", "/lock-down"),
            ),
        )


def faults_of(page: Page) -> list[str]:
    """Return what is clipped, outside its box, or lies on something else."""
    page.evaluate(
        """() => {
          // Cards out of sight are not laid out; here they are all looked at.
          const cards = document.querySelectorAll(".card");
          for (const one of cards) one.style.contentVisibility = "visible";
          for (const one of document.querySelectorAll("details")) one.open = true;
        }"""
    )
    found: list[str] = page.evaluate(OVERLAPS)
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "scale"), SIZES)
def test_everything_can_be_read_and_pressed(
    paths: tuple[ApiGateway, tuple[str, ...]],
    chromium: Browser,
    width: int,
    scale: float,
    scheme: Scheme,
) -> None:
    """Nothing is clipped, lies on something else or leaves the window, on any page."""
    home, addresses = paths
    with tab(chromium, width, scheme, device_scale_factor=scale) as opened:
        sign_in(opened.page, home.url, link_for(home, scopes=PERSON_SCOPES | {Scope.ADMIN}))
        for path in addresses:
            opened.page.goto(home.url + path)
            assert faults_of(opened.page) == [], path


@pytest.mark.parametrize(
    ("style", "fault"),
    [
        (".quick { width: 6rem; overflow: hidden; white-space: nowrap; height: 1rem }", "clipped"),
        ("button.deny { margin-left: -6rem }", "lies on"),
        (".command { width: 300vw }", "wider than its window"),
        (".facts dd { position: relative; left: -40rem }", "outside its box"),
    ],
)
def test_the_checker_sees_each_kind_of_fault(
    paths: tuple[ApiGateway, tuple[str, ...]], chromium: Browser, style: str, fault: str
) -> None:
    """The control: a style that breaks the page is found."""
    home, _ = paths
    with tab(chromium, 390, bypass_csp=True) as opened:
        sign_in(opened.page, home.url, link_for(home))
        opened.page.add_style_tag(content=style)
        assert any(fault in one for one in faults_of(opened.page))


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
    """It stands in a box of its own: what follows it reads in its own order."""
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
