"""Open terminals of a real user, through the real sudo, a real gateway, CLI, REST and WebSocket."""

import json
from pathlib import Path

import pytest

from tests.support.executor_page import followed, prepared

CONFIG = """
  tools: {exec: {host: "gateway", security: "allowlist", ask: "on-miss"}},
  channels: {terminal: {approvers: ["uid:1000", "uid:1001", "uid:1002"]}},
  approvals: {exec: {approvers: ["person:ann"]}},
  http: {enabled: true, listen: "127.0.0.1:0"},
  proof: {every: 3600},
"""


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_terminals(tmp_path: Path) -> None:
    """Whoami, sizes, keys, detaching and reattaching; others are refused; a killed gateway."""
    script = prepared(settings=CONFIG)
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
    by_hand, over_http, killed = seen["by hand"], seen["over http"], seen["killed"]

    words = "opens an interactive terminal as user sayso_alice in folder /srv/work (/bin/sh)"
    assert by_hand["asked"] == words
    assert by_hand["raw"]
    assert by_hand["restored"]
    assert by_hand["restored again"]
    assert by_hand["elsewhere"][0] == 3  # another terminal of the same person knows no such id
    assert "No request has the id" in by_hand["elsewhere"][1]

    assert over_http["opened"] == [201, "pending"]
    assert over_http["size"] == [200, 51, 99]
    foreign = over_http["foreign"]
    assert foreign["other"] == [404, 404, 404, 404]
    assert foreign["same"] == [404, 404, 404, 404]
    assert foreign["reader"] == [403, 403, 403, 403]
    assert all(code != 0 for code in over_http["local"])
    assert over_http["bytes"] == {"whole": True, "refused": True}
    assert over_http["ended"] == [200, "it was cancelled"]
    assert over_http["id"] in over_http["listed"]
    assert over_http["withdrawn"] == [200, "the question was withdrawn"]
    assert over_http["revoked"] == [True, 0]

    assert killed == {"alive": True, "left": 0}
