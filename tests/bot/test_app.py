"""Build a gateway of the parts that its settings ask for, and of no others."""

from pathlib import Path

import pytest

from bot.client import Client
from tests.support.api_gateway import api_gateway


@pytest.mark.parametrize("listens", [True, False], ids=["on", "off"])
def test_nodes_are_in_the_health_where_they_may_connect(tmp_path: Path, *, listens: bool) -> None:
    """Where none may, nothing looks for them, and the health does not list them."""
    nodes = "127.0.0.1:0" if listens else None
    home = tmp_path / "home"
    with api_gateway(home, nodes=nodes), Client(str(home / "gateway.sock")) as client:
        health = client.call("health.get", {})

    assert ("nodes" in health) is listens
