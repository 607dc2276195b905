"""Deliver updates to a webhook as Telegram does: repeatedly until it answers 2xx."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import aiohttp

from tests.emulators.telegram_state import Json, TelegramState

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"
_PATIENCE_S = 10.0


@dataclass(slots=True)
class Delivery:
    """The deliveries to one bot's webhook; ``attempts`` is how often each update was sent.

    Up to ``at_once`` requests are open at a time, as with Telegram's ``max_connections``. A failed
    update is sent again after ``retry_seconds``, doubled each time up to ``longest_retry``.
    """

    state: TelegramState
    retry_seconds: float = 0.1
    longest_retry: float = 1.0
    at_once: int = 40
    attempts: dict[int, int] = field(default_factory=dict)
    _due: dict[int, float] = field(default_factory=dict)
    _under_way: set[int] = field(default_factory=set)

    async def run(self) -> None:
        """Deliver for as long as the task lives."""
        timeout = aiohttp.ClientTimeout(total=_PATIENCE_S)
        async with aiohttp.ClientSession(timeout=timeout) as session, asyncio.TaskGroup() as group:
            while True:
                for update in self._ready():
                    self._under_way.add(update["update_id"])
                    group.create_task(self._deliver(session, update))
                await self._wait()

    def at_webhook(self) -> None:
        """Send what waits at once, as Telegram does when a webhook is set."""
        self._due.clear()

    def _ready(self) -> list[Json]:
        if not self.state.webhook.url:
            return []
        now = time.monotonic()
        waiting = [
            update
            for update in self.state.updates
            if update["update_id"] not in self._under_way
            and self._due.get(update["update_id"], 0.0) <= now
        ]
        return waiting[: self.at_once - len(self._under_way)]

    async def _wait(self) -> None:
        """Wait until something changes, or the next update may be due."""
        try:
            await self.state.until(lambda: bool(self._ready()), self.retry_seconds)
        except TimeoutError:
            return

    async def _deliver(self, session: aiohttp.ClientSession, update: Json) -> None:
        number = update["update_id"]
        webhook = self.state.webhook
        self.attempts[number] = self.attempts.get(number, 0) + 1
        with self._noting(number):
            headers = {SECRET_HEADER: webhook.secret} if webhook.secret else {}
            async with session.post(webhook.url, json=update, headers=headers) as answer:
                if answer.ok:
                    self.state.updates = [
                        one for one in self.state.updates if one["update_id"] != number
                    ]
                else:
                    self._failed(number, f"Wrong response from the webhook: {answer.status}")
        await self.state.notify()

    @contextmanager
    def _noting(self, number: int) -> Iterator[None]:
        try:
            yield
        except (aiohttp.ClientError, TimeoutError) as error:
            self._failed(number, f"Connection refused or lost: {type(error).__name__}")
        finally:
            self._under_way.discard(number)

    def _failed(self, number: int, words: str) -> None:
        delay = self.retry_seconds * 2 ** (self.attempts[number] - 1)
        self._due[number] = time.monotonic() + min(delay, self.longest_retry)
        self.state.webhook.error = words
        self.state.webhook.error_at = int(time.time())
