"""Configure a gateway that is killed while it handles a request."""

import json
import os
from pathlib import Path


def configure(home: Path, commands: Path, url: str | None) -> None:
    """Write settings under which this machine's approver decides."""
    config = {
        "tools": {"exec": {"host": "gateway", "security": "allowlist"}},
        "approvals": {"exec": {"mode": "targets", "timeout": 600}},
        "channels": {"terminal": {"approvers": [f"uid:{os.getuid()}"]}},
        **({"store": {"url": url}} if url else {}),
    }
    home.mkdir(mode=0o700)
    (home / "config.json5").write_text(json.dumps(config))
    (home / "config.json5").chmod(0o600)
    entry = {"pattern": str(commands / "listed")}
    file = home / "exec-approvals.json"
    file.write_text(json.dumps({"version": 1, "agents": {"main": {"allowlist": [entry]}}}))
    file.chmod(0o600)
