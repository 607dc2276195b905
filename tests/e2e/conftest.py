"""Provide a Bot API server and a gateway that asks there, each a real process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateway_process import BotApi, GatewayProcess, bot_api, write_config


@pytest.fixture
def api() -> Iterator[BotApi]:
    """Run a Bot API server."""
    with bot_api() as server:
        yield server


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[GatewayProcess]:
    """Run a gateway that asks no one in chat, and has no page."""
    yield from _running(tmp_path / "home", None)


@pytest.fixture
def gateway(api: BotApi, tmp_path: Path) -> Iterator[GatewayProcess]:
    """Run a gateway that asks in the server's chat."""
    yield from _running(tmp_path / "home", api)


def _running(home: Path, api: BotApi | None) -> Iterator[GatewayProcess]:
    write_config(home, api)
    running = GatewayProcess(home)
    running.start()
    yield running
    running.stop()
