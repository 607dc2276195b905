"""Open several pages of one browser at once, each driven on its own (Playwright's asyncio API)."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, Page, Route, async_playwright

from tests.browser.chromium import CLOSED_NETWORK, NAMES

Patch = Mapping[str, Mapping[str, str]]
"""The name of a script of the page, and the replacements in it."""
WATCH = """
window.changed = 0;
window.presses = [];
window.changes = [];
window.quiet = () => new Promise((done) => {
  const look = () => { performance.now() - changed > 400 ? done() : requestAnimationFrame(look); };
  look();
});
new MutationObserver(() => {
  window.changed = performance.now();
  for (const one of window.changes.splice(0)) one();
}).observe(document.getElementById("cards"), { childList: true });
addEventListener("click", (event) => {
  const card = event.target.closest(".card");
  presses.push([event.timeStamp, card ? card.dataset.id : ""]);
}, true);
"""
"""A script for a start page: when its cards last changed, and what was pressed when."""


@asynccontextmanager
async def live_browser() -> AsyncIterator[Browser]:
    """Run a browser that reaches loopback alone."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.fail("No Chromium here. Run `apt-get install chromium-headless-shell` as root.")
    async with async_playwright() as driver:
        made = await driver.chromium.launch(executable_path=path, args=list(CLOSED_NETWORK))
        try:
            yield made
        finally:
            await made.close()


@asynccontextmanager
async def signed_in(
    browser: Browser, url: str, path: str, patch: Patch | None = None
) -> AsyncIterator[Page]:
    """Open a page with an empty profile and sign in with a one-time link.

    ``patch`` alters scripts on their way to the browser.
    """
    context = await browser.new_context(
        viewport={"width": 1280, "height": 900}, reduced_motion="reduce", locale="en-GB"
    )
    try:
        page = await context.new_page()
        for name, edits in (patch or {}).items():
            await page.route(f"**/{name}", _altered(edits))
        await page.goto(url + path)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(url + "/")
        yield page
    finally:
        await context.close()


def _altered(edits: Mapping[str, str]) -> Callable[[Route], Awaitable[None]]:
    async def serve(route: Route) -> None:
        response = await route.fetch()
        text = await response.text()
        for old, new in edits.items():
            assert old in text
            text = text.replace(old, new)
        await route.fulfill(response=response, body=text)

    return serve
