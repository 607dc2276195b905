"""Provide one gateway for the tests that change nothing of its limits."""

from collections.abc import Iterator

import pytest

from tests.support.api_gateway import UNLIMITED, ApiGateway, api_gateway


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiGateway]:
    """Run a gateway with generous rates."""
    limits = {**UNLIMITED, "failures": 100_000, "bodyBytes": 65_536}
    with api_gateway(tmp_path_factory.mktemp("api") / "home", limits=limits) as running:
        yield running
