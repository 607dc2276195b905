"""Use the control page as people do: a real browser, a real gateway, keys, presses."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from core.store.people import tokens
from tests.browser.playwright_page import Opened, sign_in, tab
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import ADMIN_SCOPES, link_for


@pytest.fixture
def opened(chromium: Browser, home: ApiGateway) -> Iterator[Opened]:
    """Open a tab in which Ana is signed in; nothing may go wrong in it, nor leave this machine."""
    with tab(chromium) as made:
        sign_in(made.page, home.url, link_for(home, scopes=ADMIN_SCOPES))
        yield made
        hosts = {urlsplit(one).hostname for one in made.requests}
        assert hosts == {"127.0.0.1"}
        # A late answer is 409, which a browser's console calls an error.
        assert [one for one in made.complaints if "409 (Conflict)" not in one] == []


def _state(home: ApiGateway, asked: str) -> str:
    found = home.client("person").get(f"/v1/approvals/{asked}").json()
    return str(found["state"])


def _withdraw(home: ApiGateway, *asked: str) -> None:
    for one in asked:
        home.client("agent").delete(f"/v1/requests/{one}")


def _card(page: Page, asked: str) -> Any:
    return page.locator(f"#c-{asked}")


def test_a_card_comes_is_answered_and_goes(home: ApiGateway, opened: Opened) -> None:
    """On its own, without a reload; the press says what it did."""
    asked = home.ask("git push origin main")["id"]
    card = _card(opened.page, asked)
    expect(card).to_be_visible()
    expect(card.locator(".left")).to_contain_text(":")
    time.sleep(0.4)  # the guard after a card appeared
    card.get_by_role("button", name="Allow").first.click()

    expect(opened.page.get_by_role("status").last).to_contain_text("Allowed once")
    expect(card).to_contain_text("Allowed once by ana")
    expect(card).to_have_count(0, timeout=8000)
    assert _state(home, asked) == "allowed"


def test_what_is_decided_elsewhere_shows_within_a_second(home: ApiGateway, opened: Opened) -> None:
    """On the start page and on the page of the approval, by whom."""
    asked = home.ask("git push origin elsewhere")["id"]
    expect(_card(opened.page, asked)).to_be_visible()
    home.client("person").post(f"/v1/approvals/{asked}/resolve", json={"decision": "deny"})
    expect(_card(opened.page, asked)).to_contain_text("Denied by person", timeout=5000)

    asked = home.ask("git push origin followed")["id"]
    opened.page.goto(f"{home.url}/approve/{asked}")
    home.client("person").post(f"/v1/approvals/{asked}/resolve", json={"decision": "deny"})
    expect(opened.page.locator("[data-state=denied]")).to_be_visible()


def test_the_keyboard_is_enough(home: ApiGateway, opened: Opened) -> None:
    """j, k, o, a, A, d, ? and /; a key in a field is a letter."""
    page = opened.page
    asked = [home.ask(f"git push origin key-{n}")["id"] for n in range(3)]
    expect(_card(page, asked[2])).to_be_visible()
    time.sleep(0.4)
    page.keyboard.press("j")
    expect(_card(page, asked[0])).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(_card(page, asked[1])).to_be_focused()
    page.keyboard.press("o")
    expect(_card(page, asked[1]).locator(".all dl")).to_be_visible()
    page.keyboard.press("d")
    page.keyboard.type("not a day for it")
    page.keyboard.press("Enter")
    expect(_card(page, asked[1])).to_contain_text("Denied by ana")

    page.keyboard.press("k")
    page.keyboard.press("Shift+A")
    expect(_card(page, asked[0]).locator("select")).to_be_focused()
    expect(_card(page, asked[0]).locator(".preview")).to_contain_text("would have matched")
    expect(_card(page, asked[1])).to_have_count(0, timeout=8000)  # a press nearby does not count
    _card(page, asked[0]).focus()
    time.sleep(0.4)
    page.keyboard.press("a")
    expect(_card(page, asked[0])).to_contain_text("Allowed once by ana")
    assert [_state(home, one) for one in asked] == ["allowed", "denied", "pending"]
    noted = home.client("person").get(f"/v1/approvals/{asked[1]}").json()["note"]
    assert noted == "not a day for it"

    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_label("Command contains")).to_be_focused()
    _withdraw(home, asked[2])


def test_without_javascript_each_button_works(home: ApiGateway, chromium: Browser) -> None:
    """Read, allow, deny with a reason, stop; each answer is a page that says what is true."""
    with tab(chromium, 390, java_script_enabled=False) as made:
        page = made.page
        sign_in(page, home.url, link_for(home))
        asked = [home.ask(f"git push origin plain-{n}")["id"] for n in range(2)]
        page.goto(home.url)
        _card(page, asked[0]).get_by_role("button", name="Allow").first.click()
        expect(page.locator("[data-state=allowed]")).to_contain_text("Allowed once by ana")
        page.goto(f"{home.url}/approve/{asked[1]}")
        page.get_by_text("Deny with a reason…").click()
        page.get_by_label("Reason, for the agent to read").fill("no")
        page.get_by_role("button", name="with this reason").click()
        expect(page.locator("[data-state=denied]")).to_be_visible()
        run = home.ask("sleep 50")["id"]
        page.goto(home.url)
        page.locator(f"[data-run='{run}']").get_by_role("button").click()
        expect(page.get_by_role("heading")).to_contain_text("is being stopped")


def test_a_link_from_another_site_finds_the_session(home: ApiGateway, chromium: Browser) -> None:
    """Chat links come cross-site, where browsers at first hold back strict cookies."""
    asked = home.ask("git push origin linked")["id"]
    with tab(chromium) as made:
        sign_in(made.page, home.url, link_for(home))
        other = home.url.replace("127.0.0.1", "localhost")  # another site, as cookies see it
        made.page.goto(f"{other}/static/none")
        made.page.evaluate(f"location.assign('{home.url}/approve/{asked}')")
        expect(made.page.get_by_role("button", name="Deny").first).to_be_visible()
    _withdraw(home, asked)


def test_a_revoked_session_is_out_at_once(home: ApiGateway, chromium: Browser) -> None:
    """The open page turns into the one that says how to sign in."""
    with tab(chromium) as made:
        sign_in(made.page, home.url, link_for(home))
        expect(made.page.locator("#health")).to_be_visible()
        newest = home.do(home.gateway.store.read(tokens.listed))
        session = [one for one in newest if one.browser is not None][-1]
        home.do(home.gateway.store.write(tokens.revoke, session.id))
        expect(made.page.locator("h1")).to_contain_text("not signed in")


@pytest.mark.parametrize(
    "command",
    [
        "printf %s '<img src=x onerror=document.title=1>' | tee x",
        "printf %s '</code></pre><script>document.title=1</script>' | tee x",
        "printf %s '<svg onload=document.title=1>' | tee x",
    ],
)
def test_markup_runs_nowhere(home: ApiGateway, opened: Opened, command: str) -> None:
    """Pushed or loaded, listed or alone: it is text, and no script of it runs."""
    page = opened.page
    asked = home.ask(command)["id"]
    expect(_card(page, asked)).to_be_visible()
    for path in ("/", f"/approve/{asked}", "/history", f"/history/{asked}"):
        page.goto(home.url + path)
        assert page.locator("main img, main svg, main script").count() == 0
        assert page.title() != "1"
        assert "document.title=1" in page.locator("main").inner_text()
    _withdraw(home, asked)


def test_a_page_is_light(home: ApiGateway, opened: Opened) -> None:
    """120 kB at most with everything on it, for the first visit over a slow line."""
    asked = [home.ask(f"git push origin light-{n}")["id"] for n in range(5)]
    sizes: list[int] = []
    opened.page.on("response", lambda answer: sizes.append(_size(answer)))
    opened.page.goto(home.url)
    expect(_card(opened.page, asked[4])).to_be_visible()
    assert 10_000 < sum(sizes) < 120_000
    _withdraw(home, *asked)


def _size(answer: Any) -> int:
    return 0 if answer.url.partition("?")[0].endswith("/live") else len(answer.body())
