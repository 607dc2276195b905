"""Check every page of the app: nothing clipped, accessible, by keys, without scripts.

The pages are those of the routes, so a new one is checked or fails here.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.browser.page_walk import (
    NOT_ANSWERED_BY_A_PAGE,
    NOT_SHOWN,
    World,
    furnished,
    open_page,
    running,
)
from tests.browser.playwright_page import Scheme, sign_in, tab
from tests.support.page_browser import ADMIN_SCOPES, link_for
from tests.support.page_routes import views

OVERLAPS = Path(__file__).with_name("overlaps.js").read_text(encoding="utf-8")
SIZES = (
    (360, 1.0, "dark"),
    *(
        pytest.param(*one, marks=pytest.mark.deep)
        for one in (
            *((360, 1.0, "light"), (1280, 1.0, "dark")),
            *((390, 1.0, "light"), (390, 1.0, "dark"), (1280, 1.0, "light")),
            *((640, 2.0, "light"), (640, 2.0, "dark"), (320, 2.0, "light"), (320, 2.0, "dark")),
        )
    ),
)
"""Widths in CSS pixels, pixels for each, schemes: 640 and 320 are 1280 and 640 at 200 %."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a gateway with something on each page."""
    with running(tmp_path_factory.mktemp("walk")) as home:
        yield furnished(home)


def faults_of(page: Page) -> list[str]:
    """Return what is clipped, outside its box, touching or overlapping something else."""
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


def test_the_walk_has_every_page(world: World) -> None:
    """Each address that shows a page, and each form that is answered by one."""
    made = views(world.home)
    shown = {path for path, view in made.items() if view.get is not None} - NOT_SHOWN
    answered = {path for path, view in made.items() if view.post is not None}
    answered -= NOT_ANSWERED_BY_A_PAGE
    got = {path for path, found in world.pages.items() if any(one.fields is None for one in found)}
    sent = {
        path for path, found in world.pages.items() if any(one.fields is not None for one in found)
    }
    assert got - {""} == shown
    assert sent == answered
    assert NOT_SHOWN | NOT_ANSWERED_BY_A_PAGE <= made.keys()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scale", "scheme"), SIZES)
def test_every_page_is_whole_and_open_to_everybody(
    world: World, chromium: Browser, width: int, scale: float, scheme: Scheme
) -> None:
    """Nothing is clipped, touches, or leaves the window; axe-core finds nothing."""
    found: list[str] = []
    with (
        tab(chromium, width, scheme, device_scale_factor=scale) as ours,
        tab(chromium, width, scheme, device_scale_factor=scale) as theirs,
    ):
        sign_in(ours.page, world.home.url, link_for(world.home, scopes=ADMIN_SCOPES))
        for one in sorted(world.addresses, key=lambda one: one.once):
            page = ours.page if one.signed else theirs.page
            open_page(page, world.home, one)
            faults = faults_of(page)
            axe = Axe().run(page)
            report = axe.generate_report() if axe.violations_count else ""
            found += [f"{one}: {fault}" for fault in (*faults, report) if fault]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("style", "fault"),
    [
        (".quick { width: 6rem; overflow: hidden; white-space: nowrap; height: 1rem }", "clipped"),
        ("button.deny { margin-left: -6rem }", "lies on"),
        (".command { width: 300vw }", "wider than its window"),
        (".facts dd { position: relative; left: -40rem }", "outside its box"),
        (".top nav { flex-wrap: nowrap; overflow-x: auto }", "nobody sees that it scrolls"),
        (".waiting h1 { margin-bottom: -5rem }", "touches"),
    ],
)
def test_the_checker_sees_each_kind_of_fault(
    world: World, chromium: Browser, style: str, fault: str
) -> None:
    """The control: a style that breaks the page is found."""
    with tab(chromium, 390, bypass_csp=True) as opened:
        sign_in(opened.page, world.home.url, link_for(world.home))
        opened.page.add_style_tag(content=style)
        assert any(fault in one for one in faults_of(opened.page))


def test_the_checker_of_barriers_sees_one(world: World, chromium: Browser) -> None:
    """The control: a field without a label is found."""
    with tab(chromium) as opened:
        sign_in(opened.page, world.home.url, link_for(world.home))
        opened.page.evaluate(
            "document.querySelector('main').insertAdjacentHTML('beforeend', '<input>')"
        )
        assert Axe().run(opened.page).violations_count > 0


@pytest.mark.slow
def test_keys_alone_reach_all_that_is_pressed_on_every_page(
    world: World, chromium: Browser
) -> None:
    """Tab reaches each link, button and field, in the order of the page, with a visible mark."""
    lost: list[str] = []
    with tab(chromium, 1280) as ours, tab(chromium, 1280) as theirs:
        sign_in(ours.page, world.home.url, link_for(world.home, scopes=ADMIN_SCOPES))
        for one in sorted(world.addresses, key=lambda one: one.once):
            page = ours.page if one.signed else theirs.page
            open_page(page, world.home, one)
            lost += [f"{one}: {missed}" for missed in _missed(page)]
    assert not lost, "\n".join(lost)


def _missed(page: Page) -> list[str]:
    """Return what Tab does not reach, or reaches without a visible mark."""
    wanted = page.evaluate(
        """() => {
          const found = document.querySelectorAll("a[href], summary, button:enabled, "
            + "select:enabled, textarea:enabled, input:enabled:not([type=hidden])");
          let count = 0;
          for (const one of found) {
            if (one.checkVisibility({ visibilityProperty: true })) one.dataset.walk = count++;
          }
          return count;
        }"""
    )
    reached: set[int] = set()
    unseen: list[str] = []
    for _ in range(wanted + 60):
        page.keyboard.press("Tab")
        at = page.evaluate(
            """() => {
              const one = document.activeElement;
              const marked = getComputedStyle(one).outlineStyle !== "none";
              return [one.dataset.walk ?? "", marked, one.outerHTML.slice(0, 90)];
            }"""
        )
        if at[0] and int(at[0]) in reached and len(reached) == wanted:
            break
        if at[0]:
            reached.add(int(at[0]))
            if not at[1]:
                unseen.append(f"no outline: {at[2]}")
        if len(reached) == wanted:
            break
    missed: list[str] = page.evaluate(
        """(reached) => [...document.querySelectorAll("[data-walk]")]
             .filter((one) => !reached.includes(Number(one.dataset.walk)))
             .map((one) => one.outerHTML.slice(0, 90))""",
        sorted(reached),
    )
    return [*missed, *unseen]


@pytest.mark.slow
def test_every_page_reads_the_same_without_scripts(world: World, chromium: Browser) -> None:
    """Its heading and its buttons are there, except for those that only a script can press."""
    other: list[str] = []
    words = """() => [document.querySelector("h1").innerText,
      [...document.querySelectorAll("main button")].filter((one) => one.checkVisibility()
        && !one.closest(".scripted")).map((one) => one.ariaLabel ?? one.innerText)]"""
    with tab(chromium, 390) as ours, tab(chromium, 390, java_script_enabled=False) as plain:
        for made in (ours, plain):
            sign_in(made.page, world.home.url, link_for(world.home, scopes=ADMIN_SCOPES))
        for one in world.addresses:
            if not one.signed or one.fields is not None:
                continue
            seen = []
            for made in (ours, plain):
                open_page(made.page, world.home, one)
                seen.append(made.page.evaluate(words))
            if seen[0] != seen[1]:
                other.append(f"{one}: {seen}")
    assert not other, "\n".join(other)
