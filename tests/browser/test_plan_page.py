"""Answer a burst on one card, as people do: with a mouse, with keys alone, and without scripts."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.browser.playwright_page import sign_in, tab
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import link_for


def _burst(home: ApiGateway, name: str) -> list[str]:
    lines = (f"git push origin {name}-{number}" for number in range(4))
    return [home.ask(line, session=name)["id"] for line in lines]


def _states(home: ApiGateway, asked: list[str]) -> list[str]:
    person = home.client("person")
    return [person.get(f"/v1/approvals/{one}").json()["state"] for one in asked]


def test_a_burst_comes_as_one_card_and_is_ticked(home: ApiGateway, chromium: Browser) -> None:
    """On its own, on the open start page; the card is accessible."""
    with tab(chromium, 390) as opened:
        page = opened.page
        sign_in(page, home.url, link_for(home))
        asked = _burst(home, "pressed")
        page.get_by_role("link", name="Answer them on one card").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("asks for")
        page.goto(f"{home.url}/plan/{asked[0]}")
        expect(page.get_by_role("heading", level=1)).to_contain_text("asks for 4 commands")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        for one in page.get_by_role("checkbox").all()[:2]:
            one.check()
        page.get_by_role("button", name="Allow those ticked, once").click()
        expect(page.get_by_role("status").first).to_contain_text("Allowed once")
        assert _states(home, asked) == ["allowed", "allowed", "pending", "pending"]
        page.get_by_role("button", name="Deny all 2").click()
        expect(page.get_by_text("Nothing in it is waiting any more.")).to_be_visible()
        assert _states(home, asked)[2:] == ["denied", "denied"]
        assert opened.complaints == []


def test_keys_alone_answer_a_plan(home: ApiGateway, chromium: Browser) -> None:
    """Tab, space, enter."""
    with tab(chromium) as opened:
        page = opened.page
        sign_in(page, home.url, link_for(home))
        asked = _burst(home, "typed")
        page.goto(f"{home.url}/plan/{asked[0]}")
        page.get_by_role("checkbox").nth(1).focus()
        page.keyboard.press("Space")
        page.get_by_role("button", name="Deny those ticked").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("status").first).to_contain_text("Denied")
        assert _states(home, asked) == ["pending", "denied", "pending", "pending"]


def test_a_plan_is_answered_without_javascript(home: ApiGateway, chromium: Browser) -> None:
    """Ticks, and all at once."""
    with tab(chromium, 390, java_script_enabled=False) as opened:
        page = opened.page
        sign_in(page, home.url, link_for(home))
        asked = _burst(home, "plain")
        page.goto(f"{home.url}/plan/{asked[0]}")
        page.get_by_role("checkbox").first.check()
        page.get_by_role("button", name="Allow those ticked, once").click()
        expect(page.get_by_role("status").first).to_contain_text("Allowed once")
        page.get_by_role("button", name="Allow all 3 once").click()
        expect(page.get_by_text("Nothing in it is waiting any more.")).to_be_visible()
        assert _states(home, asked) == ["allowed"] * 4
