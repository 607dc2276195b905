"""Provide one gateway with its control page, and Ana's browser."""

from collections.abc import Iterator

import pytest

from core.model.access import Scope
from core.store.people import people
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.page_browser import PERSON_SCOPES, PageBrowser

RATES = {
    "rate": 100_000,
    "burst": 100_000,
    "addressRate": 100_000,
    "addressBurst": 100_000,
    "failures": 100_000,
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiGateway]:
    """Run a gateway with generous rates, and a second person who may not approve."""
    with api_gateway(tmp_path_factory.mktemp("page") / "home", limits=RATES) as running:
        running.do(running.gateway.store.write(people.add, "bo"))
        yield running


@pytest.fixture
def ana(home: ApiGateway) -> PageBrowser:
    """Return a browser in which Ana is signed in."""
    return PageBrowser.signed_in(home)


@pytest.fixture
def admin(home: ApiGateway) -> PageBrowser:
    """Return a browser in which Ana may change rules as well."""
    return PageBrowser.signed_in(home, scopes=PERSON_SCOPES | {Scope.ADMIN})


@pytest.fixture
def bo(home: ApiGateway) -> PageBrowser:
    """Return a browser of a person who is not an approver."""
    return PageBrowser.signed_in(home, "bo")
