"""Configure gateways that know one another."""

import json
from pathlib import Path
from typing import Any

from tests.support.gateway_process import GatewayProcess


def identity(gateway: GatewayProcess) -> dict[str, str]:
    """Return a home's ids, as its owner would read them aloud."""
    found: dict[str, str] = gateway.json("exec", "identity")
    return found


def write(home: Path, **config: Any) -> GatewayProcess:
    """Make a home with settings."""
    home.mkdir(mode=0o700)
    (home / "config.json5").write_text(json.dumps(config))
    (home / "config.json5").chmod(0o600)
    return GatewayProcess(home)


def know(gateway: GatewayProcess, name: str, ids: dict[str, str], *more: str) -> None:
    """Add a trusted contact with the command."""
    words = ["--agent-id", ids["agent_id"], "--machine-id", ids["machine_id"]]
    done = gateway.cli("exec", "contacts", "add", name, *words, "--trust", "accept", *more)
    assert done.returncode == 0, done.stderr
