"""Provide one browser, and one gateway with a control page, for all tests of a module."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.engines import ENGINES, store_of
from tests.browser.playwright_page import browser
from tests.support.api_gateway import UNLIMITED, ApiGateway, api_gateway


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Run one browser; while it runs, no other event loop can (so its scope is not the session)."""
    with browser() as made:
        yield made


@pytest.fixture(scope="module", params=ENGINES)
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiGateway]:
    """Run a gateway with a control page, on each engine."""
    folder = tmp_path_factory.mktemp("page") / "home"
    with api_gateway(folder, timeout=600, store=store_of(request), limits=UNLIMITED) as running:
        yield running
