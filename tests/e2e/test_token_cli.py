"""`sayso token` works on a real gateway: made at a terminal, shown once, written nowhere."""

import json
import re
import sqlite3

import pytest

from bot.cli import main
from core.store.people import token_text
from tests.e2e.running import typed
from tests.support.gateway_process import GatewayProcess


def test_a_token_is_made_shown_once_and_revoked(quiet: GatewayProcess) -> None:
    """Its text is in the answer and in no file of the home; a program may only revoke it."""
    create = ("token", "create", "ci", "--scope", "request", "--agent", "ci", "--expires", "30d")
    program = quiet.cli(*create, own_session=True)
    done, said = typed(quiet, *create)
    again = typed(quiet, *create)
    typed(quiet, "people", "add", "ana")
    person, answer = typed(
        quiet, "token", "create", "ana", "--scope", "approve", "--person", "ana", "--json"
    )
    wrong = typed(quiet, "token", "create", "x", "--scope", "approve", "--scope", "request")
    (text,) = re.findall(r"^sayso_\w+$", said, re.MULTILINE)
    listed = quiet.cli("token", "list").stdout
    revoked = quiet.cli("token", "revoke", "ci", own_session=True)
    unknown = quiet.cli("token", "revoke", "nobody", own_session=True)
    rows = quiet.json("token", "list")

    assert (3, 0, 0, 2) == (program.returncode, done, person, wrong[0])
    assert "terminal" in program.stderr
    assert (2, True) == (again[0], "A token named 'ci' already exists" in again[1])
    assert token_text.is_token(text)
    assert token_text.is_token(json.loads(answer)["token"])
    assert (0, 2) == (revoked.returncode, unknown.returncode)
    assert [("ci", "revoked"), ("ana", "live")] == [(row["name"], row["state"]) for row in rows]
    shown = r"ci  request  agent ci  until \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  never used"
    assert re.search(shown, listed)
    for file in quiet.home.iterdir():
        if file.is_file():
            assert text.encode() not in file.read_bytes(), file
    with sqlite3.connect(f"file:{quiet.home / 'state.db'}?mode=ro", uri=True) as database:
        hashes = {row[0] for row in database.execute("SELECT hash FROM tokens")}
    assert token_text.digest(text) in hashes
    journal = [json.loads(line) for line in (quiet.home / "audit.jsonl").read_text().splitlines()]
    changes = [(one["what"], one["name"]) for one in journal if one["kind"] == "token"]
    assert ("create", "ci") in changes
    assert ("revoke", "ci") in changes
    assert ("revoke", "nobody") not in changes


@pytest.mark.parametrize(
    "words",
    [
        ("x",),
        ("x", "--scope", "everything"),
        ("x", "--scope", "read", "--expires", "30"),
        ("x", "--scope", "read", "--expires", "0d"),
        ("x", "--scope", "read", "--agent", "a", "--person", "b"),
    ],
)
def test_wrong_words_make_no_token(words: tuple[str, ...]) -> None:
    """No scope, an unknown one, a time without its unit, both an agent and a person."""
    with pytest.raises(SystemExit) as ended:
        main(["token", "create", *words])

    assert 2 == ended.value.code
