"""Run a prompt in a real executor, with an agent that does what its prompt says."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from core.isolation import wire
from tests.support.agents import SCRIPT
from tests.support.executors import BUILD, Direct, direct

AGENT = [sys.executable, "-I", str(SCRIPT)]
DENY = {"result": {"outcome": "deny"}}


class Prompted:
    """A prompt in progress, and what it reported; ``outcome`` answers what it asks."""

    def __init__(
        self, executor: Direct, text: str, outcome: dict[str, Any] = DENY, **given: object
    ) -> None:
        self.executor = executor
        self.outcome = outcome
        self.reports: list[tuple[str, dict[str, Any]]] = []
        self.asked: list[dict[str, Any]] = []
        self.completions: list[dict[str, Any]] = []
        params = {
            "session_token": "t",
            "build": BUILD,
            "command": AGENT,
            "cwd": "/tmp",
            "env": {"PATH": "/usr/bin:/bin"},
            "prompt": text,
            **given,
        }
        executor.say(wire.request(7, wire.EXECUTE_PROMPT, params))

    def answer(self) -> dict[str, Any]:
        """Keep reading until the call is answered, and return its answer."""
        while (found := self.hear_on()) is None:
            pass
        return found

    @property
    def text(self) -> str:
        """Return what the agent said."""
        return "".join(data["text"] for kind, data in self.reports if kind == "agent_message")

    def hear_on(self) -> dict[str, Any] | None:
        """Take what comes next; return the call's answer if it has arrived."""
        heard = [json.loads(line) for line in self.executor.hear().splitlines()]
        assert heard, "the executor ended"
        for said in heard:
            self._take(said)
        return next((one for one in heard if one.get("id") == 7 and "method" not in one), None)

    def _take(self, said: dict[str, Any]) -> None:
        params = said.get("params", {})
        match said.get("method"):
            case wire.REPORT_MESSAGE:
                self.reports.append((params["message_type"], params["data"]))
            case wire.REPORT_COMPLETION:
                self.completions.append(params)
            case wire.REQUEST_PERMISSION:
                self.asked.append(params["tool_call"])
                answer = {"jsonrpc": "2.0", "id": said["id"], **self.outcome}
                self.executor.say(json.dumps(answer).encode() + b"\n")
            case _:
                pass


def test_a_prompt_runs_until_its_agent_has_answered(executor_path: str) -> None:
    """Its leader, its words and its usage are reported; nothing of it is left."""
    with direct(executor_path) as executor:
        prompted = Prompted(executor, "hello")
        said = prompted.answer()["result"]

    assert (said["status"], said["left"]) == ("completed", 0)
    assert said["token_usage"] == {"inputTokens": 11, "outputTokens": 5}
    assert prompted.text == "you said: hello"
    assert [kind for kind, _ in prompted.reports] == ["agent_started", "agent_message"]
    assert prompted.completions == [{"session_token": "t", "status": "completed", "left": 0}]


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ({"result": {"outcome": "allow"}}, True),
        ({"result": {"outcome": "deny"}}, False),
        ({"result": {"outcome": "always"}}, False),
        ({"result": "allow"}, False),
        ({"error": {"code": -32000, "message": "the gateway stops"}}, False),
    ],
)
def test_only_a_clear_allow_lets_a_tool_be_used(
    executor_path: str, tmp_path: Path, answer: dict[str, Any], *, written: bool
) -> None:
    """Anything else that returns denies, and the agent continues."""
    file = tmp_path / "made"
    with direct(executor_path) as executor:
        prompted = Prompted(executor, f"write {file}", answer)
        said = prompted.answer()["result"]

    assert said["status"] == "completed"
    assert file.exists() is written
    assert [one["title"] for one in prompted.asked] == [f"Write {file}"]


def test_text_is_reported_before_the_call_that_follows_it(executor_path: str) -> None:
    """At once if it is alone, and in bounded pieces if it is long."""
    with direct(executor_path) as executor:
        prompted = Prompted(executor, "chunk 40000")
        prompted.answer()
        pieces = [data["text"] for kind, data in prompted.reports if kind == "agent_message"]

    assert "".join(pieces) == "\U0001f511" * 40_000
    assert max(map(len, pieces)) <= 16 * 1024


def test_words_are_passed_on_as_they_come(executor_path: str) -> None:
    """A watcher of an agent sees its words while it speaks, not when it is done."""
    with direct(executor_path) as executor:
        prompted = Prompted(executor, "pace 4")
        ages_s: list[float] = []
        while len(ages_s) < 4:
            prompted.hear_on()
            heard_ns = time.monotonic_ns()
            said = prompted.text.split()[len(ages_s) :]
            ages_s += [(heard_ns - int(one)) / 1e9 for one in said]
        prompted.answer()

    assert len(ages_s) == 4
    assert len([one for one in prompted.reports if one[0] == "agent_message"]) > 1
    assert min(ages_s) < 1


def test_an_agent_that_ends_early_fails_with_its_last_words(executor_path: str) -> None:
    """Its exit code, and what it printed to standard error."""
    with direct(executor_path) as executor:
        said = Prompted(executor, "die").answer()["result"]

    assert said["status"] == "failed"
    assert said["error"] == "the agent ended (3) before it had answered: it is dead"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"command": []}, "`command` is not a list of words"),
        ({"command": "agent"}, "`command` is not a list of words"),
        ({"env": ["PATH"]}, "`env` is not an object"),
        ({"command": ["/nowhere/agent"]}, "No such file or directory"),
    ],
)
def test_what_cannot_be_started_is_refused(
    executor_path: str, given: dict[str, Any], words: str
) -> None:
    """The call is answered with what is wrong, and no agent is reported."""
    with direct(executor_path) as executor:
        prompted = Prompted(executor, "hello", **given)
        error = prompted.answer()["error"]

    assert words in error["message"]
    assert prompted.reports == []
