"""Use a task from the command line: name it, allow for it, show it, end it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.running import answered, finished, question, running_gateway, start
from tests.support.gateway_process import GatewayProcess


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayProcess]:
    """Run a gateway where the agent `main` asks."""
    with running_gateway(tmp_path / "home") as running:
        yield running


def asks(gateway: GatewayProcess, *words: str, within: str = "") -> bool:
    """Return whether a request asks people, then withdraw it. ``within`` is $SAYSO_TASK."""
    with pytest.MonkeyPatch.context() as environ:
        environ.setenv("SAYSO_TASK", within)
        code, told, _ = finished(gateway, *words, "--no-wait", "-c", "uname -r", agent="main")
    assert code in {0, 4}, told
    pending = gateway.json("pending")
    for one in pending:
        assert gateway.cli("cancel", one["code"]).returncode == 0
    return bool(pending)


def explained(gateway: GatewayProcess, *words: str) -> str:
    """Return the decision that `policy explain` prints."""
    found = gateway.json("policy", "explain", *words, "-c", "uname -r")
    return str(found["decision"])


def test_a_task_from_its_first_question_to_its_end(gateway: GatewayProcess) -> None:
    """Allowed for one task, it runs unasked in that task alone, until the task ends."""
    with start(gateway, "--task", "fix-login", "-c", "uname -s", agent="main") as process:
        waiting = question(gateway)
        listed = gateway.cli("pending").stdout
        answered(gateway, "task")
        out, _ = process.communicate(timeout=30)
    grants = gateway.json("grants", "list")
    text = gateway.cli("grants", "list").stdout
    unasked = [asks(gateway, "--task", "fix-login"), asks(gateway, within="fix-login")]
    asked = [
        asks(gateway),
        asks(gateway, "--task", "other"),
        asks(gateway, "--task", "other", within="fix-login"),
        asks(gateway, "--task=", within="fix-login"),
    ]
    told = [explained(gateway, *words) for words in (("--task", "fix-login"), ("--task", "x"), ())]
    history = gateway.json("history")
    hers = gateway.cli("task", "end", "fix-login", "--agent", "coder")
    ended = gateway.cli("task", "end", "fix-login", own_session=True)
    again = gateway.cli("task", "end", "fix-login")

    assert out == b"Linux\n"
    assert waiting["task"] == "fix-login"
    assert "task fix-login" in listed
    assert [("fix-login", None)] == [(one["task"], one["session"]) for one in grants]
    assert "task fix-login until unused for a day, by " in text
    assert "would have matched" in text
    assert ([False] * 2, [True] * 4) == (unasked, asked)
    assert ["allow", "ask", "ask"] == told
    assert {"fix-login", "other", None} == {row["task"] for row in history}
    assert "task fix-login  finished after" in gateway.cli("history").stdout
    assert (2, 0, 2) == (hers.returncode, ended.returncode, again.returncode)
    assert f"Task 'fix-login' has ended. Revoked with it: {grants[0]['code']};" in ended.stdout
    assert asks(gateway, "--task", "fix-login")
    journal = (gateway.home / "audit.jsonl").read_text().splitlines()
    ends = [one for one in map(json.loads, journal) if one.get("what") == "end task"]
    assert ["fix-login"] == [one["whom"] for one in ends]


def test_a_task_that_is_none_is_told(gateway: GatewayProcess) -> None:
    """A name that could pass for another one is refused, and so is an answer without a task."""
    code, _, error = finished(gateway, "--task", "fix login", "-c", "uname -s", agent="main")
    assert code == 2
    assert b"task" in error
    with start(gateway, "-c", "uname -s", agent="main"):
        refused = gateway.cli("approve", question(gateway)["code"], "task", own_session=True)

    assert refused.returncode == 3
    assert "the request names none" in refused.stderr
    assert [] == gateway.json("grants", "list")
