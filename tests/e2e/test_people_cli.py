"""`sayso people` and `sayso grants` work on a real gateway, from terminals and programs."""

import json
import os
import re
from pathlib import Path

import pytest

from bot.client import Client
from tests.e2e.running import SAYSO, typed
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.terminal import in_terminal


def test_a_person_at_a_terminal_keeps_the_directory(quiet: GatewayProcess) -> None:
    """Added, shown a code, revoked, restored, listed; each step says what it did."""
    added = typed(quiet, "people", "add", "ana")
    code, drawn = typed(quiet, "people", "pair", "ana", "--json")
    unknown = typed(quiet, "people", "pair", "bob")
    revoked = typed(quiet, "people", "revoke", "telegram:42")
    listed = quiet.json("people", "list")
    restored = typed(quiet, "people", "restore", "telegram:42")
    unlinked = typed(quiet, "people", "unlink", "telegram:42")
    text = quiet.cli("people", "list").stdout

    assert (0, "ana was added. Next: `sayso people pair ana`.\n") == added
    assert 0 == code
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{8}", json.loads(drawn)["code"])
    assert (2, 0, 0, 3) == (unknown[0], revoked[0], restored[0], unlinked[0])
    assert [("ana", False), ("telegram:42", True)] == [(p["id"], p["revoked"]) for p in listed]
    assert "ana" in text


def test_a_program_takes_rights_away_and_never_gives_any(quiet: GatewayProcess) -> None:
    """Without a terminal only revoking works; the journal names each change."""
    typed(quiet, "people", "add", "ana")
    refused = [
        quiet.cli("people", *words, own_session=True)
        for words in (
            ("add", "bob"),
            ("pair", "ana"),
            ("unlink", "telegram:42"),
            ("restore", "ana"),
        )
    ]
    revoked = quiet.cli("people", "revoke", "ana", own_session=True)

    assert [3] * 4 == [done.returncode for done in refused]
    assert all("terminal" in done.stderr for done in refused)
    assert 0 == revoked.returncode
    assert [("ana", True)] == [(p["id"], p["revoked"]) for p in quiet.json("people", "list")]
    lines = (quiet.home / "audit.jsonl").read_text().splitlines()
    records = [record for record in map(json.loads, lines) if record["kind"] == "people"]
    assert [("add", "ana"), ("revoke", "ana")] == [(r["what"], r["whom"]) for r in records]
    assert {f"uid:{os.getuid()}"} == {record["by"] for record in records}


@pytest.mark.parametrize("command", ["echo listed", "touch /nowhere"])
def test_a_terminal_that_asked_is_a_requesters(quiet: GatewayProcess, command: str) -> None:
    """An agent that works in a terminal cannot link accounts there, not even after a restart."""
    sayso = " ".join(SAYSO)
    script = f"{sayso} run --no-wait -c '{command}'; {sayso} people add ana"
    code, told = in_terminal("sh", "-c", script, environ=quiet.environ())

    assert 3 == code
    assert "has requested commands" in told
    assert [] == quiet.json("people", "list")


def test_a_bad_name_is_told(quiet: GatewayProcess) -> None:
    """A text that looks like an account is not a person's name."""
    code, told = typed(quiet, "people", "add", "telegram:42")

    assert 2 == code
    assert "not a valid name for a person" in told


def test_grants_are_listed_and_revoked_by_anybody(quiet: GatewayProcess) -> None:
    """Nothing is granted at first, and an unknown grant is reported."""
    listed = quiet.cli("grants", "list")
    unknown = quiet.cli("grants", "revoke", "ZZZZZZ")

    assert (0, "No active grants.\n") == (listed.returncode, listed.stdout)
    assert [] == quiet.json("grants", "list")
    assert (2, "") == (unknown.returncode, unknown.stdout)
    assert "No active grant has the id or code" in unknown.stderr


def test_the_programs_of_skills_are_told(tmp_path: Path) -> None:
    """`skills.bins` names what counts as listed, with its path, and why the rest does not."""
    home = tmp_path / "home"
    write_config(home, None)
    config = json.loads((home / "config.json5").read_text())
    config["skills"] = {"bins": ["seq", "bash", "no-such-skill"]}
    (home / "config.json5").write_text(json.dumps(config))
    running = GatewayProcess(home)
    running.start()
    try:
        with Client(str(home / "gateway.sock")) as client:
            found = client.call("skills.bins", {})
    finally:
        running.stop()

    assert [{"name": "seq", "path": str(Path("/usr/bin/seq").resolve())}] == found["bins"]
    assert ["'bash'", "'no-such-skill'"] == [line.split(" ")[1] for line in found["ignored"]]


def test_an_app_is_enrolled_at_a_terminal_only(quiet: GatewayProcess) -> None:
    """Its secret is shown once and is in no journal; a program neither enrols nor removes one."""
    typed(quiet, "people", "add", "ana")
    for action in ("totp", "forget-totp"):
        refused = quiet.cli("people", action, "ana", own_session=True)
        assert (refused.returncode, "secret" in refused.stdout) == (3, False)
    code, shown = typed(quiet, "people", "totp", "ana", "--json")
    uri = json.loads(shown)["uri"]
    nobody = typed(quiet, "people", "totp", "bob")
    removed = [typed(quiet, "people", "forget-totp", "ana")[0] for _ in range(2)]

    found = re.fullmatch(r"otpauth://totp/Sayso:ana\?secret=([A-Z2-7]{32})&issuer=Sayso", uri)
    assert (code, found is not None) == (0, True)
    assert found is not None
    assert found[1] not in (quiet.home / "audit.jsonl").read_text()
    assert (nobody[0], removed) == (2, [0, 3])
