"""Print where a gateway listens, as lines or as records."""

import json
from pathlib import Path

import pytest

from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.waiting import wait_until


@pytest.mark.parametrize("as_json", [False, True])
def test_where_a_gateway_listens_is_said(tmp_path: Path, *, as_json: bool) -> None:
    """Its socket always, the API where it is served; in the log's own format."""
    gateway = GatewayProcess(tmp_path / "state", options=("--json",) if as_json else ())
    write_config(gateway.home, None)
    path = gateway.home / "config.json5"
    served = {"http": {"enabled": True, "listen": "127.0.0.1:0"}}
    path.write_text(json.dumps(json.loads(path.read_text()) | served))
    gateway.start()
    try:
        wait_until("its addresses", lambda: "the API is at" in gateway.log.read_text(), 20, 0.1)
    finally:
        gateway.stop()

    lines = gateway.log.read_text().splitlines()
    said = [line for line in lines if "the API is at http://127.0.0.1:" in line]
    assert len(said) == 1
    assert said[0].startswith("{" if as_json else "sayso: the API is at")
    assert any(f"listening on {gateway.home}/gateway.sock" in line for line in lines)
    assert any("stopping" in line for line in lines)
