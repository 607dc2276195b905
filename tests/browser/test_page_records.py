"""Use evidence, lists and insight in a browser: by keys alone, without scripts, on each engine."""

from playwright.sync_api import Browser, expect

from core.model.access import Scope
from core.store.people import tokens
from core.store.people.tokens import TokenDraft
from tests.browser.playwright_page import press_through, sign_in, tab
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import ADMIN_SCOPES, link_for
from tests.support.waiting import wait_until


def test_what_was_shown_is_on_the_page_of_its_approval(home: ApiGateway, chromium: Browser) -> None:
    """Opened whole, answered there: who saw what since when, with its hash, and the story."""
    asked = home.ask("git push origin evidence")["id"]
    with tab(chromium) as made:
        page = made.page
        sign_in(page, home.url, link_for(home, scopes=ADMIN_SCOPES))
        page.goto(f"{home.url}/approve/{asked}")
        expect(page.get_by_role("heading", name="Who was shown what")).to_be_visible()
        page.get_by_role("button", name="Deny", exact=False).first.click()
        expect(page.locator("[data-state=denied]")).to_be_visible()
        page.goto(f"{home.url}/approve/{asked}")
        section = page.locator("section.evidence")
        expect(section).to_contain_text("opened it whole")
        expect(section).to_contain_text("s after it was first shown there")
        section.locator("summary").first.click()
        expect(section.locator("pre").first).to_contain_text("git push origin evidence")
        page.goto(f"{home.url}/history/{asked}")
        titles = page.locator(".story h2")
        for number, title in enumerate(("Asked", "Shown", "Read", "Decided: deny")):
            expect(titles.nth(number)).to_contain_text(title)


def test_keys_alone_revoke_a_token(home: ApiGateway, chromium: Browser) -> None:
    """Tab to the button, Enter, Tab to the confirmation, Enter."""
    store = home.gateway.store
    draft = TokenDraft("by-keys", frozenset({Scope.READ}), None, None, "uid:0", None)
    made = home.do(store.write(tokens.create, draft))
    with tab(chromium) as opened:
        page = opened.page
        sign_in(page, home.url, link_for(home, scopes=ADMIN_SCOPES))
        page.goto(f"{home.url}/lists/tokens")
        button = page.locator(f"form:has(input[value='{made.token.id}']) button")
        for _ in range(80):
            if button.evaluate("(one) => one === document.activeElement"):
                break
            page.keyboard.press("Tab")
        expect(button).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading")).to_contain_text("Revoke")
        confirm = page.locator("form.stack button")
        for _ in range(20):
            if confirm.evaluate("(one) => one === document.activeElement"):
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading")).to_contain_text("is revoked")


def test_without_javascript_lists_and_plots_are_whole(home: ApiGateway, chromium: Browser) -> None:
    """A destructive press asks first; a plot has its title, its words and its table."""
    home.ask("git push origin counted")
    with tab(chromium, 390, java_script_enabled=False) as made:
        page = made.page
        sign_in(page, home.url, link_for(home, scopes=ADMIN_SCOPES))
        page.goto(f"{home.url}/lists/people")
        page.get_by_label("Add a person").fill("dana")
        press_through(page.get_by_role("button", name="Add", exact=True))
        press_through(page.get_by_role("link", name="Back"))
        press_through(page.get_by_role("button", name="Revoke dana"))
        expect(page.get_by_role("heading")).to_contain_text("Revoke dana")
        press_through(page.get_by_role("button", name="Revoke"))
        press_through(page.get_by_role("link", name="Back"))
        expect(page.locator("li.row", has_text="dana")).to_contain_text("revoked")

        def counted() -> bool:
            page.goto(f"{home.url}/insight")
            return page.get_by_text("Look again").count() == 0

        wait_until("the counts", counted)
        plot = page.get_by_role("img", name="Prompts a day, by outcome")
        expect(plot).to_be_visible()
        assert plot.locator("rect").count() > 0
        page.get_by_text("The numbers of each day").click()
        expect(page.get_by_role("columnheader", name="Median answer").first).to_be_visible()
