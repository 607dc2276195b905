"""Send a decision's edits from the process that took it, without a turn of the outbox."""

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from channels.memory import MemoryChannel, ShownMessage
from core.approvals.answer import Answer
from core.gate.gate import Gate
from core.model.approval import ApprovalReply, ApprovalState
from core.model.identity import Target
from core.store import Store, outbox
from core.store.outbox import CLAIM_MS
from tests.support.chat import ask, sending, settled
from tests.support.gate import ANA, gate_at
from tests.support.waiting import until


class Claims:
    """A store that records what the outbox claims on its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.edits: list[outbox.OutboxItem] = []

    def __getattr__(self, name: str) -> Any:
        """Do everything else as the store does."""
        return getattr(self._store, name)

    async def write(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Record the claimed edits."""
        done = await self._store.write(op, *args, **kwargs)
        if op is outbox.claim:
            self.edits += [one for one in done if one.kind is outbox.OutboxKind.EDIT]
        return done


class DyingEditor:
    """A process that dies between its commit and the sending."""

    def editable(self) -> Collection[str]:
        """Claim everything."""
        return ("memory",)

    def edit(self, items: Sequence[outbox.OutboxItem]) -> None:
        """Send nothing, ever."""


async def _shown(gate: Gate, channel: MemoryChannel, folder: Path) -> ShownMessage:
    await ask(gate, folder)
    await until(lambda: channel.shown)
    (shown,) = channel.shown.values()
    return shown


async def _claimed_by_itself(home: Path, *, editor: bool) -> list[outbox.OutboxItem]:
    home.mkdir()
    channel = MemoryChannel()
    async with gate_at(home) as gate:
        claims = gate.store = Claims(gate.store)
        async with sending(gate, channel):
            if not editor:
                gate.broker.answering.editor = None
            shown = await _shown(gate, channel, home)
            await channel.press(shown.id, ApprovalReply.DENY, ANA)
            await until(lambda: shown.outcome)
            await settled(gate)
        return claims.edits


async def test_the_outbox_claims_no_edit_of_a_decision(tmp_path: Path) -> None:
    """It is sent without; the control, whose answers have no editor, needs the claim."""
    assert [] == await _claimed_by_itself(tmp_path / "with", editor=True)
    assert 1 == len(await _claimed_by_itself(tmp_path / "without", editor=False))


async def test_who_answers_may_go_away(tmp_path: Path) -> None:
    """A caller that is gone before the commit leaves no edit claimed and unsent."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel):
        asked = await ask(gate, tmp_path)
        await until(lambda: channel.shown)
        (shown,) = channel.shown.values()
        answer = Answer(asked.run_id, ApprovalReply.DENY, ANA)
        answering = asyncio.create_task(gate.answer(answer))
        for _ in range(3):  # until it waits for its commit
            await asyncio.sleep(0)
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)
        await until(lambda: shown.outcome, seconds=CLAIM_MS / 2_000)
        await settled(gate)


async def test_a_gateway_that_died_before_it_sent_them(tmp_path: Path) -> None:
    """The next one takes the claims over and brings each copy to its final state."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate:
        async with sending(gate, channel):
            shown = await _shown(gate, channel, tmp_path)
            gate.broker.answering.editor = DyingEditor()
            await channel.press(shown.id, ApprovalReply.DENY, ANA)
            await asyncio.sleep(0)
            left = await gate.store.read(outbox.open_surfaces)
        assert shown.outcome is None
    async with gate_at(tmp_path, owner="boot-2") as gate, sending(gate, channel):
        await until(lambda: shown.outcome)
        await settled(gate)

    assert 1 == left
    assert shown.outcome is not None
    assert ApprovalState.DENIED is shown.outcome.state


async def test_an_edit_goes_ahead_of_what_waits_for_its_place(tmp_path: Path) -> None:
    """A busy lane picks it up; the prompts that wait there come after it."""
    order: list[str] = []
    free = asyncio.Event()

    class Slow(MemoryChannel):
        async def post(self, target: Target, card: Any) -> str:
            order.append("post")
            if len(order) == 2:
                await free.wait()
            return await super().post(target, card)

        async def update(self, target: Target, message: str, card: Any) -> None:
            order.append("update")
            await super().update(target, message, card)

    channel = Slow()
    async with gate_at(tmp_path) as gate, sending(gate, channel):
        shown = await _shown(gate, channel, tmp_path)
        await ask(gate, tmp_path, "touch second")
        await until(lambda: len(order) == 2)
        await channel.press(shown.id, ApprovalReply.DENY, ANA)
        waits = shown.outcome is None
        free.set()
        await until(lambda: shown.outcome)
        await settled(gate)

    assert waits
    assert ["post", "post", "update"] == order
