"""Terminals of a real user, through the real sudo, a real gateway, its CLI, REST and WebSocket."""

import json
from pathlib import Path

import pytest

from tests.e2e import test_executors as page
from tests.e2e.test_executors import followed, prepared

CONFIG = """
  tools: {exec: {host: "gateway", security: "allowlist", ask: "on-miss"}},
  channels: {terminal: {approvers: ["uid:1000", "uid:1001", "uid:1002"]}},
  http: {enabled: true, listen: "127.0.0.1:0"},
  proof: {every: 3600},
"""


@pytest.mark.timeout(180)
def test_terminals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoami, sizes, keys, leaving and coming back; others are refused; a killed gateway."""
    monkeypatch.setattr(page, "CONFIG", CONFIG)
    run = page.blocks("sh")[4].strip()
    script = prepared().replace(f"as ann sh -c {page.quoted(run)}\nstat -c %U /srv/work/made\n", "")
    script += """
cd /opt/sayso
as ann HOME=/home/ann /opt/sayso/.venv/bin/python -m tests.support.terminal_driver \
    "$(pgrep -u ann -f 'sayso serve')" /home/ann/log 2>&1 || tail -n 20 /home/ann/log
trap - EXIT
"""
    printed = followed(tmp_path, script)
    (line,) = [one for one in printed.splitlines() if one.startswith("SEEN ")] or [printed]
    assert line.startswith("SEEN "), line
    seen = json.loads(line.removeprefix("SEEN "))
    assert seen == {}
