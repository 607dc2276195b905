"""Have real npm agents edit a file offline, as another user, asking first; judge the file."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.model.approval import Approval, ApprovalReply
from core.model.result import Finished
from tests.emulators.model import CONTENT, RealModel, real_model
from tests.support.agents import KEY, Bench, agents_at, workshop
from tests.support.executors import USER
from tests.support.npm_packages import installed as npm_installed

pytestmark = [pytest.mark.deep, pytest.mark.slow, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Kind:
    """A real agent: its command, how its API takes a key, and its environment."""

    command: tuple[str, ...]
    header: str
    prefix: str
    env: Mapping[str, str]


_OPENCODE = {
    "model": "local/m",
    "small_model": "local/m",
    "autoupdate": False,
    "share": "disabled",
    "permission": {"edit": "ask", "bash": "ask", "webfetch": "ask"},
    "provider": {
        "local": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "local",
            "options": {"baseURL": "{url}/v1", "apiKey": "{token}"},
            "models": {"m": {"name": "m"}},
        }
    },
}
KINDS = {
    "claude": Kind(
        ("claude-agent-acp",),
        "x-api-key",
        "",
        {
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "{token}",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    ),
    "gemini": Kind(
        ("gemini", "--acp", "-m", "gemini-2.5-flash"),
        "x-goog-api-key",
        "",
        {
            "GOOGLE_GEMINI_BASE_URL": "{url}",
            "GEMINI_API_KEY": "{token}",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
    ),
    "opencode": Kind(
        # npm's own `opencode` is installed by a script that our installation does not run.
        ("../opencode-linux-x64/bin/opencode", "acp"),
        "Authorization",
        "Bearer ",
        {
            "OPENAI_API_KEY": "{token}",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_CONFIG_CONTENT": json.dumps(_OPENCODE),
        },
    ),
}
_NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def programs() -> Path:
    """Return the folder of the agents' programs."""
    assert shutil.which("npm"), "npm is missing: tests/system_packages.sh installs it"
    return npm_installed()


@pytest.fixture
def the_model() -> Iterator[RealModel]:
    """Yield a model that answers with a call."""
    with real_model() as found:
        yield found


@dataclass
class Scene:
    """One agent with one prompt in progress."""

    bench: Bench
    file: Path
    under_way: "asyncio.Task[object]"
    question: Approval

    async def end(self) -> Finished:
        """Return how the prompt ended."""
        async with asyncio.timeout(120):
            done = await self.under_way
        assert isinstance(done, Finished)
        return done


@pytest.fixture(params=sorted(KINDS))
async def scene(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    executor_path: str,
    programs: Path,
    the_model: RealModel,
) -> AsyncIterator[Scene]:
    """Yield an agent that has asked whether it may write its file."""
    kind = KINDS[request.param]
    command = (str(programs / kind.command[0]), *kind.command[1:])
    timeout_ms = getattr(request.function, "timeout_ms", 120_000)
    with workshop() as folder:
        home = folder / "work" / "home"
        home.mkdir()
        shutil.chown(home, USER)
        env = {
            **kind.env,
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "HTTP_PROXY": _NOWHERE,
            "HTTPS_PROXY": _NOWHERE,
            "NO_PROXY": "127.0.0.1,localhost",
        }
        async with agents_at(
            tmp_path,
            executor_path,
            folder,
            the_model.url,
            command=command,
            env=env,
            header=kind.header,
            prefix=kind.prefix,
            timeout_ms=timeout_ms,
        ) as bench:
            file = bench.work / "made"
            under_way = bench.give(f"WRITE: {file}")
            async with asyncio.timeout(120):
                question = await bench.question(120)
            yield Scene(bench, file, under_way, question)
            if not under_way.done():
                under_way.cancel()
                await asyncio.gather(under_way, return_exceptions=True)


async def test_allowed(scene: Scene, the_model: RealModel) -> None:
    """The person sees what is written where; then the file exists, and tokens are counted.

    The model got the real key with each request; the agent's own environment has none.
    """
    assert not scene.file.exists()
    assert "made" in scene.question.plan.text
    assert CONTENT.strip() in scene.question.plan.text
    environs = _environs(scene.bench)
    assert any(b"{token}" not in one and b"SAYSO_RUN=" in one for one in environs)
    assert not any(KEY.encode() in one for one in environs)

    await scene.bench.answer(scene.question, ApprovalReply.ALLOW_ONCE)
    done = await scene.end()

    assert scene.file.read_text() == CONTENT
    assert scene.file.owner() == USER
    assert done.exit_code == 0
    assert sum(count for _, count in done.token_usage) > 0
    assert "It is done." in done.output.text
    keys = ("x-api-key", "authorization", "x-goog-api-key")
    assert the_model.asked
    for asked in the_model.asked:
        assert KEY in " ".join(asked.get(name, "") for name in keys)


async def test_denied(scene: Scene) -> None:
    """A person denies: the file does not exist."""
    await scene.bench.answer(scene.question, ApprovalReply.DENY)
    await scene.end()

    assert not scene.file.exists()


async def test_timed_out(scene: Scene) -> None:
    """No one answers in time: the agent gets a rejection, and the file does not exist."""
    while not await scene.bench.gate.expire():
        await asyncio.sleep(0.1)
    await scene.end()

    assert not scene.file.exists()


test_timed_out.timeout_ms = 2_000  # type: ignore[attr-defined]


async def test_cancelled(scene: Scene) -> None:
    """The prompt is cancelled: its question is withdrawn, its agent stops, no file exists."""
    (run_id,) = scene.bench.gate.running
    await scene.bench.gate.cancel(run_id, "enough")
    done = await scene.end()

    assert done.cancelled
    assert not scene.file.exists()
    assert not _environs(scene.bench)


async def test_killed(scene: Scene) -> None:
    """The executor is killed: the prompt fails, the agent is gone, the file does not exist."""
    (executor,) = scene.bench.world.pool._live
    os.kill(executor.client.pid, 9)
    done = await scene.end()

    assert done.exit_code == 1
    assert "Executor terminated unexpectedly" in done.output.text
    async with asyncio.timeout(30):
        while _environs(scene.bench):
            await asyncio.sleep(0.1)
    assert not scene.file.exists()


def _environs(bench: Bench) -> list[bytes]:
    """Return the environments of the processes that belong to the bench's prompt."""
    found = []
    mark = f"HOME={bench.work}/home".encode()
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            environ = place.read_bytes()
        except OSError:
            continue
        if mark in environ.split(b"\0"):
            found.append(environ)
    return found
