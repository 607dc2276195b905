"""Send prompts over HTTP (S2 "full prompt execution flow") to an agent of another user."""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.executor_setup.archive import interpreter
from core.isolation.agents.runtime import Runtime
from tests.support.agents import KEY, equip, model, workshop
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.executors import executors, installed
from tests.support.waiting import wait_until


@dataclass
class Reached:
    """A gateway with an agent, and the folder that the agent works in."""

    api: ApiGateway
    work: Path

    def prompt(self, text: str, who: str = "agent", **more: object) -> Any:
        """Submit a prompt; return the answer."""
        body = {"session": "session-123", "agent": "main", "cwd": str(self.work), "prompt": text}
        return self.api.client(who).post("/v1/sessions/prompt", json=body | more)

    def run(self, task: str) -> Any:
        """Return a task once it has ended."""

        def ended() -> Any:
            found = self.api.client("agent").get(f"/v1/runs/{task}").json()
            return found if found["status"] != "running" else None

        return wait_until("the task's end", ended)


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reached]:
    """Run a gateway whose agent runs in executors of another user."""

    async def key_of(_service: str, _account: str) -> str:
        return KEY

    home = tmp_path_factory.mktemp("prompts") / "home"
    with workshop() as folder, model() as there, installed() as path, api_gateway(home) as api:
        words = (interpreter(), "-I", str(folder / "agent.py"))
        env = {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "{token}"}
        runtime = Runtime(words, "anthropic", there.url, "x-api-key", "", env)
        stack = AsyncExitStack()
        world = api.do(stack.enter_async_context(executors(path)))
        equip(api.gateway.gate, world, runtime, key_of)
        try:
            yield Reached(api, folder / "work")
        finally:
            api.do(stack.aclose())


def test_full_prompt_execution_flow(reached: Reached) -> None:
    """S2: running with a task at once; then messages of the task, and the task completed."""
    begun = reached.prompt("Add a new feature")
    said = begun.json()
    done = reached.run(said["task_id"])
    events = reached.api.client("agent").get("/v1/events", params={"session": "session-123"})

    assert begun.status_code == 200, begun.text
    assert (said["status"], said["id"]) == ("running", said["task_id"])
    assert (done["status"], done["exitCode"]) == ("finished", 0)
    assert "you said: Add a new feature" in done["output"]
    told = [one["text"] for one in events.json()["events"] if one["kind"] == "agent.message"]
    assert told == ["you said: Add a new feature"]
    assert KEY not in str(done) + events.text


@pytest.mark.parametrize(
    ("who", "more", "status"),
    [
        ("reader", {}, 403),
        ("person", {}, 403),
        ("other", {}, 403),
        ("agent", {"prompt": ""}, 400),
        ("agent", {"prompt": 7}, 400),
        ("agent", {"cwd": "relative"}, 200),
        ("agent", {"unknown": 1}, 400),
    ],
)
def test_who_may_not(reached: Reached, who: str, more: dict[str, Any], status: int) -> None:
    """Callers that only read or answer, another agent, and invalid prompts are refused."""
    answer = reached.prompt("hello", who, **more)

    assert answer.status_code == status, answer.text
    if status == 200:
        assert answer.json()["status"] == "denied"


@pytest.mark.parametrize(("decision", "written"), [("allow-once", True), ("deny", False)])
def test_a_person_answers_what_the_agent_asks_over_http(
    reached: Reached, decision: str, *, written: bool
) -> None:
    """The question is in the agent's session; the answer reaches the agent, which continues."""
    file = reached.work / f"by-{decision}"
    task = reached.prompt(f"write {file}").json()["task_id"]
    person = reached.api.client("person")

    def asked() -> Any:
        return next(iter(person.get("/v1/approvals").json()["pending"]), None)

    question = wait_until("the agent's question", asked)
    path = f"/v1/approvals/{question['id']}/resolve"
    answered = person.post(path, json={"decision": decision})
    assert answered.status_code == 200, answered.text
    done = reached.run(task)

    assert (done["status"], file.exists()) == ("finished", written)
