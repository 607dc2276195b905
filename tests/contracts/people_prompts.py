"""Ask, answer and inspect both platforms of a running gate."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, select

from channels.memory import MemoryChannel
from core.gate.gate import Gate
from core.model.approval import Approval, ApprovalReply
from core.model.identity import LOCAL_CHANNEL, Actor, ApprovalId, SessionKey, Target
from core.model.result import Denied, Finished, Pending, Submission
from core.store import approvals
from core.store.people import pairing, people
from core.store.schema.states import OutboxKind, OutboxState
from core.store.schema.tables import outbox as outbox_rows
from tests.contracts.channel_setup import PeopleSetup
from tests.contracts.simultaneous_answers import Meeting
from tests.support.gate import request

_SHOWN = {OutboxState.SENT, OutboxState.STALE, OutboxState.CLOSED}
_SETTLED = {OutboxState.CLOSED, OutboxState.DROPPED}
_PATIENCE_S = 20.0
_LONGEST_WAIT_S = 0.08


@dataclass(frozen=True, slots=True)
class Copy:
    """One row of the outbox that shows something at a platform."""

    kind: OutboxKind
    state: OutboxState
    message: str


@dataclass(slots=True)
class PeopleGateway:
    """A running gate, Ana in the setup under test, and the other platform."""

    setup: PeopleSetup
    other: MemoryChannel
    gate: Gate
    home: Path
    meeting: Meeting
    start_outbox: Callable[[], Coroutine[None, None, None]]
    _outbox: asyncio.Task[None] | None = None

    @property
    def here(self) -> str:
        """Return the name of the channel under test."""
        return self.setup.channel.name

    @property
    def there(self) -> Target:
        """Return the place at the other platform."""
        return Target(self.other.name, "room")

    @property
    def ana(self) -> Actor:
        """Return Ana at the other platform."""
        return Actor(self.other.name, "ana", "Ana")

    @property
    def bob(self) -> Actor:
        """Return Bob, who is at the other platform only."""
        return Actor(self.other.name, "bob", "Bob")

    async def ask(self, command: str = "touch made", session: str = "main") -> Approval:
        """Ask for something that a person must allow."""
        asked = await self.submit(command, session)
        assert isinstance(asked, Pending)
        return await self.approval(asked.run_id)

    async def submit(self, command: str, session: str = "main") -> Submission:
        """Ask for something that may run without a person."""
        asked = replace(request(command, cwd=self.home), session=SessionKey(session))
        return await self.gate.submit(asked)

    async def approval(self, run_id: ApprovalId) -> Approval:
        """Return an approval as the store has it."""
        found = await self.gate.store.read(approvals.get, run_id)
        assert found is not None
        return found

    async def copies(self, asked: Approval, kind: OutboxKind = OutboxKind.PROMPT) -> dict[str, str]:
        """Return the messages of this kind that were sent about an approval, by channel."""
        rows = await self.gate.store.read(_rows, asked.id)
        return {name: one.message for name, one in rows if one.kind is kind and one.state in _SHOWN}

    async def shown(self, asked: Approval, *names: str) -> str:
        """Wait until these channels (both, if none is named) show it; return the message here."""
        wanted = set(names or (self.here, self.other.name))

        async def there() -> bool:
            return wanted <= set(await self.copies(asked))

        await until(there)
        return (await self.copies(asked)).get(self.here, "")

    async def ended(self, asked: Approval) -> Approval:
        """Wait until an approval is final and each of its copies was edited."""

        async def done() -> bool:
            rows = await self.gate.store.read(_rows, asked.id)
            return all(one.state in _SETTLED for _, one in rows if one.kind is OutboxKind.PROMPT)

        await until(done)
        return await self.approval(asked.id)

    async def closes(self, asked: Approval, words: str) -> Approval:
        """Wait until both copies say how it ended, by whom and when, and offer nothing more."""
        end = await self.ended(asked)
        await self.final(end, words)
        return end

    async def final(self, end: Approval, words: str) -> None:
        """Check that both copies of an ended question say so and offer nothing more."""
        copies, headline = await self.copies(end), _headline(end, words)
        await self.setup.shows(copies[self.here], headline)
        assert not self.setup.can_press(copies[self.here])
        beside = self.other.shown[copies[self.other.name]]
        assert headline in beside.outcomes[end.id].headline.text
        assert end.id not in {card.id for card in beside.open}

    async def run(self, asked: Approval) -> Finished | Denied:
        """Wait for the outcome of a request."""
        end = await self.gate.wait(asked.id, 10_000)
        assert isinstance(end, Finished | Denied)
        return end

    async def press_there(self, asked: Approval, reply: ApprovalReply, actor: Actor) -> str:
        """Press a button at the other platform; return what that person is told."""
        message = (await self.copies(asked))[self.other.name]
        told = await self.other.press(message, reply, actor, asked.code)
        assert told is not None
        return told.text.text

    async def type_there(self, text: str, actor: Actor) -> str:
        """Type something at the other platform; return what that person is told."""
        told = await self.other.say(self.there, text, actor)
        assert told is not None
        return told.text.text

    async def pair(self, name: str, *, there: bool) -> None:
        """Link a person's account by a code that is typed on that account."""
        await self.gate.store.write(people.add, name)
        begun = await self.gate.store.write(pairing.begin, name)
        assert begun is not None
        if there:
            assert name in await self.type_there(f"/pair {begun.code}", self.ana)
            return
        await self.setup.slash(f"/pair {begun.code}")
        await self.setup.sees(f"This account is now linked to {name}.")

    async def hold_outbox(self) -> None:
        """Leave what is shown alone, as while a gateway is busy or away."""
        if self._outbox is not None:
            await end(self._outbox)
        self._outbox = None

    async def send(self) -> None:
        """Send again what is due."""
        self._outbox = asyncio.create_task(self.start_outbox())


def _rows(conn: Connection, run_id: ApprovalId) -> tuple[tuple[str, Copy], ...]:
    found = conn.execute(select(outbox_rows).where(outbox_rows.c.approval_id == run_id)).mappings()
    return tuple(
        (
            row["channel"],
            Copy(OutboxKind(row["kind"]), OutboxState(row["state"]), row["message"] or ""),
        )
        for row in found
    )


def _headline(end: Approval, words: str) -> str:
    final = end.resolution
    assert final is not None
    assert abs(time.time() - final.at_ms / 1000) < _PATIENCE_S
    at = f"at {datetime.fromtimestamp(final.at_ms / 1000, UTC):%H:%M} UTC"
    if final.by is None:
        return f"{words} {at}"
    account = f"{final.by.channel} {final.by.account}"
    # The machine itself names its user, so the name says it all.
    place = final.by.channel if final.by.channel == LOCAL_CHANNEL else account
    return f"{words} by {f'{final.by.name} ({place})' if final.by.name else account} {at}"


async def end(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait until it is gone."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def until(met: Callable[[], Awaitable[bool]], seconds: float = _PATIENCE_S) -> None:
    """Wait until a condition holds in the store or at a platform; poll less and less often."""
    wait = 0.005
    async with asyncio.timeout(seconds):
        while not await met():
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT_S)
