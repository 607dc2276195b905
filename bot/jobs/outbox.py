"""Send what was committed: prompts, reminders and final edits, for each copy to the end.

::

    claim ─▶ lanes, one per place, in parallel ─▶ delivery ─▶ sent | retried | dropped

A row is claimed, sent and marked; it survives restarts, waits as long as a platform says, and is
never blindly repeated if a repeat could mislead, as a second prompt would. A place that is slow or
limited delays only itself; what accumulates there in the meantime is sent together.
"""

import asyncio
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from bot.jobs.message_sender import Delivery, of_agent
from channels.base import Channel, Ephemeral
from core.errors import ChannelError, StoreError
from core.model.identity import Target
from core.store import Store, outbox
from core.store.engine.wakeups import Wakeups, wakeups
from core.text.render import redact

_log = logging.getLogger(__name__)
_CLAIM_MARGIN_S = 10.0
_BATCH = 64
_IDLE_S = 1.0
_FIRST_RETRY_MS = 500
_LONGEST_RETRY_MS = 60_000
_ORDER = {
    outbox.OutboxKind.EDIT: 0,  # final states are sent before new questions
    outbox.OutboxKind.NOTICE: 1,
    outbox.OutboxKind.REMINDER: 1,
    outbox.OutboxKind.PROMPT: 2,
}
_LAST = 3
"""What an agent says delays no question and no final state."""


@dataclass(slots=True, eq=False)
class _Lane:
    """The rows that wait for one place, sent one after another by one task."""

    waiting: list[outbox.OutboxItem]
    task: asyncio.Task[None] | None = None

    @property
    def open(self) -> bool:
        """Return whether rows that are added now will still be sent."""
        return self.task is None or not self.task.done()


@dataclass(slots=True)
class Outbox:
    """Drain the outbox into the channels that run here."""

    store: Store
    channels: Mapping[str, Channel]
    delivery: Delivery
    _changed: Wakeups = field(init=False)
    _lanes: dict[Target, _Lane] = field(default_factory=dict)
    _running: bool = False

    async def run(self) -> None:
        """Send for as long as the task runs; a failing platform only delays its own rows."""
        with wakeups(self.store, "outbox") as self._changed:
            try:
                await self._reconcile()
                self._running = True
                while True:
                    if await self._claim() < _BATCH:
                        # Everything due is claimed; more of it, or a lane's end, is a wake-up.
                        await self._changed.wait(_IDLE_S)
            finally:
                self._running = False
                await self._end_lanes()

    def editable(self) -> Collection[str]:
        """Return the channels that run here, or none while nothing is sent."""
        return tuple(self.channels) if self._running else ()

    def edit(self, items: Sequence[outbox.OutboxItem]) -> None:
        """Send edits that a decision claimed for this process, before all else at their places."""
        if self._running:
            for item in items:
                self._add(item.target, [item])

    async def _end_lanes(self) -> None:
        tasks = [lane.task for lane in self._lanes.values() if lane.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _reconcile(self) -> None:
        """Settle what an earlier sender left, as soon as the store is writable."""
        fleeting = tuple(name for name, one in self.channels.items() if isinstance(one, Ephemeral))
        while True:
            try:
                return await self.store.write(outbox.reconcile, fleeting)
            except StoreError as failure:
                _log.error("cannot read the outbox: %s", failure)
            await asyncio.sleep(_IDLE_S)

    async def _claim(self) -> int:
        """Claim due rows of places without a lane, and open lanes; return how many rows."""
        busy = tuple(self._lanes)
        try:
            items = await self.store.write(
                outbox.claim, _BATCH, outbox.CLAIM_MS, tuple(self.channels), busy
            )
        except StoreError as failure:
            _log.error("cannot read the outbox: %s", failure)
            return 0
        places: dict[Target, list[outbox.OutboxItem]] = {}
        for item in items:
            places.setdefault(item.target, []).append(item)
        for place, waiting in places.items():
            self._add(place, waiting)
        return len(items)

    def _add(self, place: Target, items: list[outbox.OutboxItem]) -> None:
        """Add rows to the lane of their place, opening one if there is none."""
        lane = self._lanes.get(place)
        if lane is not None and lane.open:
            # What they show may have changed by the time it is their turn.
            lane.waiting += [replace(item, shows=()) for item in items]
            return
        lane = self._lanes[place] = _Lane(list(items))
        lane.task = asyncio.create_task(self._send_all(lane))
        lane.task.add_done_callback(partial(self._close, place, lane))

    def _close(self, place: Target, lane: _Lane, task: asyncio.Task[None]) -> None:
        if self._lanes.get(place) is lane:  # otherwise a new one was opened after it ended
            del self._lanes[place]
        self._changed.wake()  # more rows may have accumulated for this place
        if not task.cancelled() and task.exception() is not None:
            # The claims expire, and the rows are picked up again.
            _log.error(
                "the sender for %s %s died", place.channel, place.to, exc_info=task.exception()
            )

    async def _send_all(self, lane: _Lane) -> None:
        until = time.monotonic() + outbox.CLAIM_MS / 1000 - _CLAIM_MARGIN_S
        apart: set[int] = set()
        while lane.waiting:
            lane.waiting.sort(key=_turn)
            if time.monotonic() > until:
                given_back, lane.waiting = lane.waiting, []
                await self._give_back(given_back)
                continue
            batch, settled = await self._attempt(_together(lane.waiting, apart))
            if settled:
                sent = {item.id for item in batch}
                lane.waiting = [item for item in lane.waiting if item.id not in sent]
            else:
                apart.update(item.id for item in batch)

    async def _attempt(
        self, waiting: Sequence[outbox.OutboxItem]
    ) -> tuple[Sequence[outbox.OutboxItem], bool]:
        """Send the next message; return its rows, and ``False`` if each must be sent alone."""
        batch: Sequence[outbox.OutboxItem] = waiting[:1]
        try:
            batch = await self.delivery.batch(waiting)
            try:
                await self.delivery.send(batch)
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 - one row's fault must not stop the others
                return batch, await self._settled(batch, error)
        except StoreError as failure:
            _left(batch, failure)
        return batch, True

    async def _settled(self, batch: Sequence[outbox.OutboxItem], error: Exception) -> bool:
        """Record why rows were not sent; ``False`` if one of a group may be the cause."""
        failure = _failure_of(error)
        by_content = failure.permanent or failure is not error
        if len(batch) > 1 and batch[0].kind is outbox.OutboxKind.PROMPT and by_content:
            _log.warning("a group of prompts failed and is sent one by one: %s", failure)
            return False
        for item in batch:
            await self._failed(item, failure)
        return True

    async def _give_back(self, items: Sequence[outbox.OutboxItem]) -> None:
        """Release rows that were not sent within their claim."""
        try:
            for item in items:
                await self.store.write(outbox.retry, item.id, 0, uncertain=False)
        except StoreError as failure:
            _left(items, failure)

    async def _failed(self, item: outbox.OutboxItem, failure: ChannelError) -> None:
        _log.warning("%s %s for %s: %s", item.target.channel, item.kind, item.approval_id, failure)
        if failure.permanent:
            await self.store.write(outbox.drop, item.id, str(failure))
            return
        backoff = min(_FIRST_RETRY_MS * 2**item.attempts, _LONGEST_RETRY_MS)
        delay = failure.retry_after_ms if failure.retry_after_ms is not None else backoff
        # A platform that says when to retry has accepted nothing.
        uncertain = failure.retry_after_ms is None
        await self.store.write(outbox.retry, item.id, delay, uncertain=uncertain)


def _turn(item: outbox.OutboxItem) -> tuple[int, int]:
    return (_LAST if of_agent(item) else _ORDER[item.kind], item.id)


def _together(
    waiting: Sequence[outbox.OutboxItem], apart: Collection[int]
) -> Sequence[outbox.OutboxItem]:
    """Return the rows that may be sent with the first one: none, if its group failed."""
    if waiting[0].id in apart:
        return waiting[:1]
    return [item for item in waiting if item.id not in apart]


def _failure_of(error: Exception) -> ChannelError:
    """Return why a message was not sent; errors that no channel should raise are logged in full."""
    if isinstance(error, ChannelError):
        return error
    _log.error("Sayso failed to send a message; please report this", exc_info=error)
    return ChannelError(f"Sayso failed to send it ({type(error).__name__}: {redact(str(error))})")


def _left(items: Sequence[outbox.OutboxItem], failure: StoreError) -> None:
    _log.error("outbox rows %s stay claimed: %s", [one.id for one in items], failure)
