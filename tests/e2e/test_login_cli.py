"""`sayso login` on a real gateway: a link at a terminal, its session, no secret in files."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.running import typed
from tests.support.gateway_process import GatewayProcess, write_config


@pytest.fixture
def served(tmp_path: Path) -> Iterator[GatewayProcess]:
    """Yield a gateway with its page, on a port of its own."""
    home = tmp_path / "home"
    write_config(home, None)
    config = json.loads((home / "config.json5").read_text())
    config["http"] = {"enabled": True, "listen": "127.0.0.1:0"}
    (home / "config.json5").write_text(json.dumps(config))
    running = GatewayProcess(home)
    running.start()
    yield running
    running.stop()


def test_a_link_from_a_terminal_signs_in(served: GatewayProcess) -> None:
    """A program gets none; the link opens the page, is used up, and is written nowhere."""
    typed(served, "people", "add", "ana")
    program = served.cli("login", own_session=True)
    done, said = typed(served, "login")
    (link,) = re.findall(r"^http://127\.0\.0\.1:\d+/login/[\w-]{43}", said, re.MULTILINE)
    base, _, secret = link.partition("/login/")
    with httpx.Client(base_url=base, headers={"Origin": base}) as browser:
        offered = browser.get(link)
        entered = browser.post(link)
        page = browser.get("/")
        session = next(text for name, text in browser.cookies.items() if "sayso_session" in name)
    listed = served.json("token", "list")

    assert (3, 0) == (program.returncode, done)
    assert "terminal" in program.stderr
    assert (200, 303, 200) == (offered.status_code, entered.status_code, page.status_code)
    assert "Waiting for an answer" in page.text
    assert [("ana", ["approve", "read"])] == [(one["person"], one["scopes"]) for one in listed]
    for file in served.home.iterdir():
        if file.is_file():
            data = file.read_bytes()
            assert secret.encode() not in data, file
            assert session.encode() not in data, file
    journal = [json.loads(line) for line in (served.home / "audit.jsonl").read_text().splitlines()]
    kinds = [(one["kind"], one["what"]) for one in journal if one["kind"].startswith("page ")]
    assert kinds == [("page link", "create"), ("page session", "sign in")]


def test_without_a_page_there_is_no_link(quiet: GatewayProcess) -> None:
    """The answer says how to enable it, and in which file."""
    typed(quiet, "people", "add", "ana")
    done, said = typed(quiet, "login")
    file = quiet.home / "config.json5"
    assert (done, f"set http.enabled to true in {file} and" in " ".join(said.split())) == (3, True)
