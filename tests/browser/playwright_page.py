"""Open the control page in a real browser: Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from tests.browser.chromium import CLOSED_NETWORK, NAMES

Scheme = Literal["light", "dark"]


@contextmanager
def browser() -> Iterator[Browser]:
    """Run a browser that reaches loopback alone."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.fail("No Chromium here. Run `apt-get install chromium-headless-shell` as root.")
    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=path, args=list(CLOSED_NETWORK))
        try:
            yield made
        finally:
            made.close()


@dataclass(slots=True)
class Opened:
    """A tab; ``complaints`` are errors of scripts, refusals of the policy and failed requests."""

    page: Page
    complaints: list[str]
    requests: list[str]


@contextmanager
def tab(
    browser: Browser, width: int = 1280, scheme: Scheme = "light", **context: Any
) -> Iterator[Opened]:
    """Open a tab with an empty profile of its own."""
    made = browser.new_context(
        viewport={"width": width, "height": 844 if width < 600 else 900},
        color_scheme=scheme,
        reduced_motion=context.pop("reduced_motion", "reduce"),
        locale="en-GB",
        timezone_id="UTC",
        **context,
    )
    opened = Opened(made.new_page(), [], [])
    opened.page.on("console", lambda line: _note(opened, line))
    opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.page.on("request", lambda request: opened.requests.append(request.url))
    try:
        yield opened
    finally:
        made.close()


def _note(opened: Opened, line: Any) -> None:
    if line.type in {"error", "warning"}:
        opened.complaints.append(line.text)


def press_through(target: Locator) -> None:
    """Press what opens another page, and wait until that page is there.

    A click returns before the browser has left the page; what is then filled in may still be the
    old page's.
    """
    with target.page.expect_navigation():
        target.click()


def sign_in(page: Page, url: str, path: str) -> None:
    """Open a one-time link and press its button."""
    page.goto(url + path)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(url + "/")
