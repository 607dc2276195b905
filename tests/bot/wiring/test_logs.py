"""Log as much as the setting says, also after a reload, with secrets masked at every level."""

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.settings.gateway import LogLevel
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.waiting import wait_until

SECRET = "xoxb-1234567890-abcdefghijklmnop"
WRITER = f"""
import logging, sys
from bot.wiring.logs import configure, set_level
from core.settings.gateway import LogLevel
configure(json_lines=False)
set_level(LogLevel(sys.argv[1]))
for name in ("bot.x", "core.x", "slack_sdk", "asyncio"):
    for level in ("debug", "info", "warning", "error"):
        getattr(logging.getLogger(name), level)("%s said with {SECRET}", level)
"""


def written(level: str) -> dict[str, list[str]]:
    """Return the levels that each logger writes at a setting."""
    done = subprocess.run(
        [sys.executable, "-c", WRITER, level], capture_output=True, text=True, check=True
    )
    assert SECRET not in done.stderr
    found: dict[str, list[str]] = {}
    for line in done.stderr.splitlines():
        _, word, name, *_ = line.split()
        found.setdefault(name.rstrip(":"), []).append(word)
    return found


@pytest.mark.parametrize("level", list(LogLevel))
def test_libraries_stay_quiet_and_ours_follow_the_setting(level: LogLevel) -> None:
    """At debug, too, a library's debug line is left out: it may quote whole messages."""
    words = [one.value for one in LogLevel]
    ours = words[words.index(level) :]
    theirs = ours if level is LogLevel.ERROR else ["warning", "error"]
    assert written(level) == {
        "bot.x": ours,
        "core.x": ours,
        "slack_sdk": theirs,
        "asyncio": theirs,
    }


def test_a_reload_changes_it(tmp_path: Path) -> None:
    """Debug lines appear after SIGHUP and disappear after the next, while the gateway runs."""
    gateway = GatewayProcess(tmp_path / "home")
    write_config(gateway.home, None)
    gateway.start()
    try:
        assert gateway.process is not None
        gateway.cli("run", "--host", "gateway", "--", "echo", "quiet")
        assert " debug " not in gateway.log.read_text()
        _set(gateway, "debug")
        gateway.cli("run", "--host", "gateway", "--", "echo", SECRET)
        wait_until("a line", lambda: "journalled finish" in gateway.log.read_text())
        _set(gateway, "error")
        wait_until("a run that adds no line", lambda: _is_quiet(gateway))
        assert SECRET not in gateway.log.read_text()
    finally:
        gateway.stop()


def _is_quiet(gateway: GatewayProcess) -> bool:
    """Return whether a run adds nothing to the log."""
    before = gateway.log.read_text()
    gateway.cli("run", "--host", "gateway", "--", "echo", "quiet")
    return gateway.log.read_text() == before


def _set(gateway: GatewayProcess, level: str) -> None:
    path = gateway.home / "config.json5"
    path.write_text(json.dumps({**json.loads(path.read_text()), "logging": {"level": level}}))
    assert gateway.process is not None
    os.kill(gateway.process.pid, signal.SIGHUP)
    journal = gateway.home / "audit.jsonl"
    wait_until("the reload", lambda: f'\\"{level}\\"' in journal.read_text())
    if level != "error":
        wait_until("its line", lambda: "changed: logging.level" in gateway.log.read_text())


def test_the_numbers_are_the_standard_librarys() -> None:
    """``LogLevel`` names what ``logging`` counts."""
    assert [one.number for one in LogLevel] == [
        logging.DEBUG,
        logging.INFO,
        logging.WARNING,
        logging.ERROR,
    ]
