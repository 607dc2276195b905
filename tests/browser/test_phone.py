"""Install the page on a phone: what Chromium requires, and what it shows without the gateway."""

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.playwright_page import browser, sign_in, tab
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.page_browser import link_for


def test_the_page_is_installed_and_says_when_nothing_answers(tmp_path: Path) -> None:
    """No error in the manifest, a worker for all pages, and our own note when it is away."""
    with browser() as chromium, tab(chromium, 390) as opened:
        page = opened.page
        with api_gateway(tmp_path / "home") as home:
            sign_in(page, home.url, link_for(home))
            page.evaluate("navigator.serviceWorker.ready.then((one) => one.scope)")
            devtools = page.context.new_cdp_session(page)
            found = devtools.send("Page.getAppManifest")
            assert found["errors"] == []
            assert json.loads(found["data"])["name"] == "Sayso"
            reasons = devtools.send("Page.getInstallabilityErrors")["installabilityErrors"]
            # In the tab's own profile Chromium installs nothing; the page is not at fault.
            assert [one["errorId"] for one in reasons if one["errorId"] != "in-incognito"] == []
            home.ask("git push origin kept-nowhere")
            page.reload()
            expect(page.get_by_text("kept-nowhere").first).to_be_visible()
            assert opened.complaints == []
            _leaves_links_to_the_browser(page, home)
            url = home.url
        page.goto(url)
        expect(page.get_by_role("heading")).to_contain_text("cannot be reached")
        kept = page.evaluate(
            """async () => {
              const found = [];
              for (const name of await caches.keys()) {
                const place = await caches.open(name);
                for (const one of await place.keys()) found.push(new URL(one.url).pathname);
              }
              return found;
            }"""
        )
        assert kept == ["/offline"]


def _leaves_links_to_the_browser(page: Page, home: ApiGateway) -> None:
    """The worker does not handle a sign-in link's request; another page's it does (the control)."""
    by_worker = [page.goto(f"{home.url}{path}") for path in ("/history", link_for(home))]
    assert [one and one.from_service_worker for one in by_worker] == [True, False]
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    page.goto(home.url)
