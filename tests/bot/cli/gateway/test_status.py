"""Look at the status while the database is away: what does not need it is shown all the same."""

import json
from pathlib import Path

import pytest

from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.postgres import running_postgres
from tests.support.waiting import wait_until


@pytest.mark.slow
def test_the_screen_is_shown_while_the_database_is_away(tmp_path: Path) -> None:
    """The gateway, what fails and the lockdown; what waits is unknown, which is not nothing."""
    gateway = GatewayProcess(tmp_path / "state")
    with running_postgres() as server:
        write_config(gateway.home, None)
        path = gateway.home / "config.json5"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"store": {"url": server.base}}))
        gateway.start()
        assert "waiting     nothing\n" in gateway.cli("status").stdout
        server.stop_at_once()
        wait_until("the outage", lambda: gateway.cli("status").returncode == 1, 30, 0.5)
        said = gateway.cli("status")
        found = json.loads(gateway.cli("status", "--json").stdout)
        server.start()
        gateway.stop()

    assert (said.returncode, said.stderr) == (1, "")
    assert said.stdout.startswith("gateway     running, with failures, pid ")
    assert "failing     store: The database postgresql://" in said.stdout
    assert "waiting     unknown: the store cannot be read\n" in said.stdout
    assert "running     unknown: the store cannot be read\n" in said.stdout
    assert "lockdown    off\n" in said.stdout
    assert found["waiting"] is None
