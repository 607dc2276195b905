"""Let a run end only after what it had begun to store and to tell."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from core.isolation.agents.agents import _Run
from core.model.identity import ApprovalId


class Gate:
    """What a run reports to; each report takes until ``done``."""

    def __init__(self) -> None:
        self.done = asyncio.Event()
        self.heard: list[object] = []

    async def settle(self, _: object) -> None:
        """Withdraw nothing."""

    async def identified(self, *process: int) -> None:
        """Store a process."""
        await self.done.wait()
        self.heard.append(process)

    async def tell(self, _plan: object, _run: object, text: str) -> None:
        """Tell the session."""
        await self.done.wait()
        self.heard.append(text)


@pytest.mark.parametrize(
    ("messages", "heard"),
    [
        ((), []),
        ((("agent_started", {}), ("agent_started", {})), [(7, 7, 3)]),
        ((("agent_message", {"text": "a"}), ("agent_message", {"text": "b"})), ["a", "b"]),
        (
            (("agent_started", {}), ("agent_message", {"text": "a"}), ("other", {})),
            [(7, 7, 3), "a"],
        ),
    ],
)
async def test_what_was_begun_is_waited_for(
    messages: tuple[tuple[str, dict[str, object]], ...], heard: list[object]
) -> None:
    """The leader is stored once; one that said nothing and never started ends at once."""
    gate = Gate()
    agents: Any = SimpleNamespace(tool_calls=gate, tell=gate.tell)
    executor: Any = SimpleNamespace(adopter=(7, 3))
    unused: Any = None
    start: Any = gate
    run = _Run(agents, ApprovalId("1" * 32), unused, unused, "s", start, executor)
    for kind, data in messages:
        run.message(kind, data)
    settling = asyncio.ensure_future(run.settle())
    await asyncio.sleep(0)

    assert gate.heard == []
    gate.done.set()
    async with asyncio.timeout(30):
        await settling
    assert gate.heard == heard
