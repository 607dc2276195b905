"""Prompt in the gateway's own terminal, with real processes."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.support.gateway_process import ROOT
from tests.support.product_process import run
from tests.support.terminal import Screen, terminal
from tests.support.waiting import wait_until

_API = re.compile(r"the API is at (http\S+)\s")
_SAYSO = (sys.executable, "-m", "bot")


def _set_up(tmp_path: Path) -> dict[str, str]:
    """Set up a home that asks in the gateway's terminal; return the environment."""
    environ = {**os.environ, "SAYSO_HOME": str(tmp_path / "home")}
    words = (*_SAYSO, "init", "--channel", "terminal", "--yes")
    run(words, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, check=True)
    return environ


@contextmanager
def _serving(environ: Mapping[str, str]) -> Iterator[Screen]:
    """Run `sayso serve` in a terminal; end it with Ctrl-C."""
    with terminal(*_SAYSO, "serve", environ=environ) as (process, master):
        screen = Screen(master)
        screen.wait_for("listening on")
        yield screen
        screen.type("\x03")
        screen.wait_for("stopping")
        process.wait(30)


def _asking(environ: Mapping[str, str], line: str) -> subprocess.Popen[str]:
    words = (*_SAYSO, "run", "-c", line)
    return subprocess.Popen(words, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_restarted_gateway_shows_again_what_waits(tmp_path: Path) -> None:
    """The waiting question is drawn and answered with a letter; the answered one is not drawn."""
    environ = _set_up(tmp_path)
    with _serving(environ) as screen:
        with _asking(environ, "echo answered"):
            screen.wait_for("a (allow once)")
            screen.answer("d")
        asking = _asking(environ, "uname -s")
        screen.wait_for("uname -s")
        screen.wait_for("Enter")

    with asking, _serving(environ) as screen:
        screen.wait_for("uname -s")
        screen.wait_for("a (allow once)")
        assert screen.text.count("Allow this command?") == 1
        assert "echo answered" not in screen.text
        screen.answer("a")
        printed, _ = asking.communicate(timeout=60)

    assert printed == "Linux\n"


def test_requests_are_not_logged_between_prompts(tmp_path: Path) -> None:
    """If the log has its own file, the file has them: the control."""
    environ = {
        **_set_up(tmp_path),
        "SAYSO_HTTP__ENABLED": "true",
        "SAYSO_HTTP__LISTEN": "127.0.0.1:0",
    }
    with _serving(environ) as screen:
        screen.wait_for("the API is at")
        screen.wait_for("\n")
        _look_at_health(screen.text)
        shown = screen.text
        screen.type("?\n")
        screen.wait_for("Not understood")
        assert "access_log" not in shown + screen.text

    log = tmp_path / "log"
    line = f"exec {sys.executable} -m bot serve 2> {log}"
    with terminal("sh", "-c", line, environ=environ):
        wait_until("the API", lambda: log.exists() and _API.search(log.read_text()))
        _look_at_health(log.read_text())
        wait_until("the line", lambda: "access_log" in log.read_text())


def _look_at_health(printed: str) -> None:
    found = _API.search(printed)
    assert found is not None, printed
    with urlopen(f"{found[1]}/health") as answer:
        assert answer.status == 200
