"""Bring answers of two platforms together, and judge what their people were told."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from channels.base import Inbound, Inbox, Reply
from channels.commands import Approve
from core.model.approval import Approval, ApprovalReply, ApprovalState

_DONE = {ApprovalReply.ALLOW_ONCE: "Allowed once", ApprovalReply.DENY: "Denied"}
_ENDED = {ApprovalState.ALLOWED: "allowed", ApprovalState.DENIED: "denied"}


@dataclass(frozen=True, slots=True)
class Given:
    """An answer, when it reached the gate (ns of a steady clock), and what its person was told."""

    inbound: Inbound
    at_ns: int
    reply: Reply

    @property
    def words(self) -> str:
        """Return what the person was told."""
        return self.reply.text.text

    @property
    def decision(self) -> ApprovalReply:
        """Return what the person said."""
        assert isinstance(self.inbound.command, Approve)
        return self.inbound.command.reply


@dataclass(slots=True)
class Meeting:
    """An inbox in front of the real one; in a round it releases two answers at one instant."""

    inbox: Inbox
    given: list[Given] = field(default_factory=list)
    _order: tuple[str, ...] = ()
    _waiting: dict[str, asyncio.Future[None]] = field(default_factory=dict)

    def expect(self, *order: str) -> None:
        """Hold the next answers until each of these channels has one; continue in this order."""
        self._order, self._waiting = order, {}
        self.given.clear()

    async def receive(self, inbound: Inbound) -> Reply:
        """Pass an answer on, in a round once all are here."""
        name = inbound.actor.channel
        if name in self._order and name not in self._waiting:
            loop = asyncio.get_running_loop()
            self._waiting[name] = loop.create_future()
            if len(self._waiting) == len(self._order):
                loop.call_soon(self._go)  # not now: the last one must wait for its turn, too
            await self._waiting[name]
        at_ns = time.perf_counter_ns()
        reply = await self.inbox.receive(inbound)
        self.given.append(Given(inbound, at_ns, reply))
        return reply

    def _go(self) -> None:
        for channel in self._order:
            self._waiting[channel].set_result(None)

    def spread_ms(self) -> float:
        """Return how far apart the answers of the round reached the gate."""
        times = [one.at_ns for one in self.given]
        return (max(times) - min(times)) / 1e6


def faults(end: Approval, given: Sequence[Given]) -> list[str]:
    """Return what is wrong in what two people were told, by what the store decided."""
    final = end.resolution
    if final is None or final.by is None or final.reply is None:
        return ["nobody decided"]
    at = datetime.fromtimestamp(final.at_ms / 1000, UTC)
    by = f"{final.by.name or final.by.account} ({final.by.channel})"
    late = f"{end.code} was {_ENDED[final.state]} by {by} at {at:%H:%M:%S} UTC."
    won = [one for one in given if one.words == f"{_DONE[one.decision]}: {end.code}."]
    lost = [one for one in given if one.words == f"{late} Your answer changed nothing."]
    found = []
    if len(won) != 1:
        found.append(f"{len(won)} of {len(given)} were told that they decided")
    if len(won) + len(lost) != len(given):
        found.append(f"not the truth: {[one.words for one in given]}, but {late}")
    if any((one.inbound.actor.ref, one.decision) != (final.by.ref, final.reply) for one in won):
        found.append(f"the store's winner is {final.by.ref} with {final.reply}")
    return found
