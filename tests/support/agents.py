"""A gate whose agents run in real executors, and the model that they ask."""

import asyncio
import pwd
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from bot.executor_setup.archive import interpreter
from bot.wiring.gate import connect_agents
from core.approvals.answer import Answer, AnswerOutcome
from core.errors import SaysoError
from core.gate.gate import Gate
from core.hosts.gateway import GatewayHost
from core.isolation.agents.agents import Agents
from core.isolation.agents.runtime import KeyOf, Runtime
from core.model.approval import Approval, ApprovalReply
from core.model.command import AgentPart, AgentPartKind, ExecOverrides, ExecRequest
from core.model.identity import SessionKey
from core.model.policy import ExecHost, PolicyLayer
from core.model.result import Submission
from core.planning.planner import Planner
from core.runner.runner import Runner
from core.store import approvals
from tests.emulators.local_http import Quiet, served
from tests.support.executors import USER, World, executors
from tests.support.gate import AGENT, ANA, gate_at
from tests.support.waiting import PATIENCE_S

KEY = "sk-ant-canary-0f2c8b1e5d7a4936"
"""What the gateway knows and no one else may know."""
SCRIPT = Path(__file__).with_name("acp_agent.py")


@dataclass
class Model:
    """A server that stands in for a model: the requests that it received, and their number."""

    url: str
    asked: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def model() -> Iterator[Model]:
    """Serve a model on a port of this machine."""
    found = Model("")

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.body()
            found.asked.append(self.asked())
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"the model's answer")

    with served(Handler) as url:
        found.url = f"{url}/base"
        yield found


@contextmanager
def workshop() -> Iterator[Path]:
    """Yield a folder of the agents' user, with the small agent in it."""
    folder = Path(tempfile.mkdtemp(prefix="sayso-agent-"))
    try:
        shutil.copy(SCRIPT, folder / "agent.py")
        (folder / "agent.py").chmod(0o644)
        folder.chmod(0o755)
        (folder / "work").mkdir()
        shutil.chown(folder / "work", pwd.getpwnam(USER).pw_uid)
        yield folder
    finally:
        shutil.rmtree(folder)


@dataclass
class Bench:
    """Agents behind a gate, the person who answers, and the folder that they work in."""

    gate: Gate
    agents: Agents
    world: World
    work: Path
    keys: list[tuple[str, str]]

    def prompt(self, text: str, **given: object) -> ExecRequest:
        """Return a prompt for the agent."""
        part = AgentPart(AgentPartKind.PROMPT, "uid:0", tools=given.pop("tools", ()))  # type: ignore[arg-type]
        return ExecRequest(
            AGENT,
            SessionKey("main"),
            str(self.work),
            argv=("prompt", "main", text),
            overrides=ExecOverrides(ExecHost.GATEWAY),
            part=part,
            **given,  # type: ignore[arg-type]
        )

    def give(self, text: str, **given: object) -> "asyncio.Task[Submission]":
        """Submit a prompt."""
        return asyncio.ensure_future(self.gate.submit(self.prompt(text, **given)))

    async def question(self, seconds: float = PATIENCE_S) -> Approval:
        """Return the question that an agent's tool call became."""
        (found,) = await self.questions(1, seconds)
        return found

    async def questions(self, count: int, seconds: float = PATIENCE_S) -> tuple[Approval, ...]:
        """Return this many questions, once they exist."""
        async with asyncio.timeout(seconds):
            while True:
                waiting = await self.gate.store.read(approvals.pending, 10, None, None)
                if len(waiting) >= count:
                    return waiting
                await asyncio.sleep(0.01)

    async def answer(self, question: Approval, reply: ApprovalReply) -> None:
        """Have Ana answer; run what she allowed as the gateway does."""
        answered = await self.gate.answer(Answer(ref=question.id, reply=reply, actor=ANA))
        assert answered.outcome is AnswerOutcome.ACCEPTED, answered.sentence
        for run_id, plan in await self.gate.queued():
            await self.gate.run_approved(run_id, plan)


@asynccontextmanager
async def agents_at(
    home: Path,
    path: str,
    workshop: Path,
    model_url: str,
    everyone: PolicyLayer | None = None,
    *,
    command: tuple[str, ...] | None = None,
    env: Mapping[str, str] | None = None,
    header: str = "x-api-key",
    prefix: str = "",
    timeout_ms: int = 60_000,
) -> AsyncIterator[Bench]:
    """Yield agents that run in this executor, behind a gate over one home."""
    keys: list[tuple[str, str]] = []

    async def key_of(service: str, account: str) -> str:
        keys.append((service, account))
        if account == "uid:404":
            raise SaysoError("secrets.keys has none for this person")
        return KEY

    words = command or (interpreter(), "-I", str(workshop / "agent.py"))
    named = env or {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "{token}"}
    runtime = Runtime(words, "anthropic", model_url, header, prefix, named)
    async with gate_at(home, everyone, timeout_ms=timeout_ms) as gate, executors(path) as world:
        agents = equip(gate, world, runtime, key_of)
        yield Bench(gate, agents, world, workshop / "work", keys)


def equip(gate: Gate, world: World, runtime: Runtime, key_of: KeyOf) -> Agents:
    """Let a gate's prompts be answered by an agent in these executors."""
    agents = Agents(world.executors, partial(_same, runtime), key_of, gate.execution.guard)
    connect_agents(agents, gate)
    host = GatewayHost(Runner(), world.executors, agents)
    gate.execution.hosts = {ExecHost.GATEWAY: host}
    gate.planner = Planner(run_as=lambda _: USER)
    return agents


def _same(runtime: Runtime, _agent: object) -> Runtime:
    return runtime
