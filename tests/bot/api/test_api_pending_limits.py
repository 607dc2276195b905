"""Tell an API caller at once that too much waits for people, and count it."""

import base64
from pathlib import Path

from bot.client import Client
from tests.bot.api.metrics import value
from tests.support.api_gateway import api_gateway


def test_a_flood_is_refused_in_words_and_counted(tmp_path: Path) -> None:
    """The agent's third question is denied, by REST and on the socket; another agent's is asked."""
    with api_gateway(tmp_path / "home", pending={"perAgent": 2}) as home:
        waiting = [home.ask(f"uname -{letter}") for letter in "ab"]
        refused = home.ask("uname -c", wait=5)
        with Client(str(home.home / "gateway.sock")) as client:
            wish = {"argv": ["uname", "-d"], "cwd": "/", "wait": False}
            local = client.call("exec.run", wish)
        other = home.ask("uname -e", who="other")
        path = f"/v1/approvals/{waiting[0]['id']}/resolve"
        home.client("person").post(path, json={"decision": "deny"})
        again = home.ask("uname -c")
        text = home.client("reader").get("/metrics").text

    assert {one["status"] for one in (*waiting, other, again)} == {"pending"}
    for one in (refused, local):
        assert (one["status"], one["reason"]) == ("denied", "too_many_pending")
        assert "the maximum is 2." in one["why"]
        assert "approvals.exec.pending.perAgent" in one["why"]
    assert value(text, "sayso_runs_total", outcome="too_many_pending") == 2
    assert value(text, "sayso_approvals_pending") == 3


def test_standard_input_of_what_waits_is_bounded(tmp_path: Path) -> None:
    """Bytes count for as long as their question waits; afterwards there is room."""
    bounds = {"inputBytesPerAgent": 1_000, "inputBytes": 1_500}
    with api_gateway(tmp_path / "home", pending=bounds) as home:
        stdin = base64.b64encode(b"x" * 600).decode()
        first = home.ask("uname -a", stdin=stdin)
        refused = home.ask("uname -b", stdin=stdin)
        plain = home.ask("uname -c")
    assert (first["status"], plain["status"]) == ("pending", "pending")
    assert (refused["status"], refused["reason"]) == ("denied", "too_many_pending")
    assert (
        "hold 600 bytes of standard input, this one adds 600, the maximum is 1,000"
        in refused["why"]
    )
