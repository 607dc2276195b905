"""Send what was committed: prompts, reminders and final edits, each copy to its true end.

A row is claimed, sent and marked; it survives restarts, waits as long as a platform says, and is
never blindly repeated where a repeat could mislead (``research: store §3.4``). A prompt whose
approval ended meanwhile is not sent; one that was in flight is edited.
"""

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from channels.base import Channel
from channels.cards import NoticeCard, build_outcome, build_prompt
from core.approvals.rendering import redact
from core.errors import ChannelError, StoreError
from core.model.approval import Approval
from core.store import Store, approvals, outbox, runs

_log = logging.getLogger(__name__)
_CLAIM_MS = 30_000
_BATCH = 32
_IDLE_S = 1.0
_FIRST_RETRY_MS = 500
_LONGEST_RETRY_MS = 60_000


@dataclass(slots=True)
class Outbox:
    """Drain the outbox into the channels that run here."""

    store: Store
    channels: Mapping[str, Channel]
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Send for as long as the task lives; a failing platform only delays its own rows."""
        unsubscribe = self.store.subscribe(self._hear)
        try:
            await self.store.write(outbox.reconcile)
            while True:
                sent = await self._round()
                if not sent:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._wake.wait(), _IDLE_S)
                self._wake.clear()
        finally:
            unsubscribe()

    def _hear(self, note: str) -> None:
        if note in {"outbox", "resync"}:
            self._wake.set()

    async def _round(self) -> int:
        """Send one batch, the channels side by side; return how many rows were claimed."""
        try:
            items = await self.store.write(outbox.claim, _BATCH, _CLAIM_MS, tuple(self.channels))
        except StoreError as failure:
            _log.error("the outbox cannot be read: %s", failure)
            return 0
        groups: dict[str, list[outbox.OutboxItem]] = {}
        for item in items:
            groups.setdefault(item.target.channel, []).append(item)
        await asyncio.gather(*(self._send_all(group) for group in groups.values()))
        return len(items)

    async def _send_all(self, items: list[outbox.OutboxItem]) -> None:
        for item in items:
            try:
                await self._send(item)
            except ChannelError as failure:
                await self._failed(item, failure)
            except StoreError as failure:
                # The claim ends by itself and the row is looked at again.
                _log.error("outbox row %s is left to its claim: %s", item.id, failure)

    async def _send(self, item: outbox.OutboxItem) -> None:
        approval = await self._approval(item)
        if approval is None:
            await self.store.write(outbox.drop, item.id, "its approval is gone")
            return
        message = await self._deliver(item, approval)
        await self.store.write(outbox.sent, item.id, message)

    async def _approval(self, item: outbox.OutboxItem) -> Approval | None:
        if item.approval_id is None:
            return None
        return await self.store.read(approvals.get, item.approval_id)

    async def _deliver(self, item: outbox.OutboxItem, approval: Approval) -> str:
        channel = self.channels[item.target.channel]
        match item.kind:
            case outbox.OutboxKind.PROMPT:
                return await channel.post(item.target, build_prompt(approval))
            case outbox.OutboxKind.EDIT:
                result = await self.store.read(runs.outcome, approval.id)
                card = build_outcome(approval, result)
                message = item.message or ""
                await channel.update(item.target, message, card)
                return message
            case outbox.OutboxKind.REMINDER:
                return await channel.notify(item.target, _reminder(approval))
            case outbox.OutboxKind.NOTICE:
                words = redact(str(json.loads(item.payload)["text"]))
                return await channel.notify(item.target, NoticeCard(words))

    async def _failed(self, item: outbox.OutboxItem, failure: ChannelError) -> None:
        _log.warning("%s %s for %s: %s", item.target.channel, item.kind, item.approval_id, failure)
        if failure.permanent:
            await self.store.write(outbox.drop, item.id, str(failure))
            return
        backoff = min(_FIRST_RETRY_MS * 2**item.attempts, _LONGEST_RETRY_MS)
        delay = failure.retry_after_ms if failure.retry_after_ms is not None else backoff
        await self.store.write(outbox.retry, item.id, delay, uncertain=True)


def _reminder(approval: Approval) -> NoticeCard:
    left = max(0, approval.deadline_ms - round(time.time() * 1000)) // 1000
    words = f"Still waiting for an answer: {approval.code}, {left} s left; silence is denial."
    return NoticeCard(redact(words))
