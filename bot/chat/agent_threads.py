"""Follow the prompts that people gave agents in chats, and show the agents' words in their threads.

::

    create ─▶ thread opened ─▶ submitted ─▶ shown repeatedly ─▶ shown as ended
       └───────────── a gateway that starts resumes from here ─────────────┘

What a thread should show is in the store; the outbox brings it there. An unreachable platform, or a
gateway that dies, only delays it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bot.chat import agent_text
from bot.chat.agent_text import Speaker
from channels.base import Channel, Growing, Threads
from core.errors import ChannelError, SaysoError, Stopping, StoreError
from core.gate.gate import Gate
from core.model.command import ExecRequest
from core.model.identity import ApprovalId, Target
from core.model.result import Finished, Pending, Running, Submission
from core.store.approvals import idempotency
from core.store.outbox import agent_messages
from core.store.outbox.agent_messages import AgentMessage
from core.store.sessions import agent_threads
from core.store.sessions.agent_threads import AgentThread
from core.text.render import Redacted, phrase, redact

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_PACE_S = 3.0
"""Seconds between two updates of one thread; platforms accept few edits, needed elsewhere."""
_OPEN_PATIENCE_S = 5.0
_LOOK_S = 0.25
_RETRY_S = 1.0
_LONGEST_TITLE = 80
_NOT_BEGUN = "did not begin: the gateway stopped; send it again"
_NOT_BEGUN_S = 10.0
"""Seconds that another gateway on the same store, about to submit it, is given to do so."""


@dataclass(slots=True)
class _Heard:
    """What an agent has said so far, and a signal for more."""

    text: str = ""
    news: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class AgentThreads:
    """The threads of one gateway."""

    gate: Gate
    channels: Mapping[str, Channel]
    pace_s: float = _PACE_S
    _under_way: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def resume(self) -> None:
        """Resume the threads that an earlier gateway left.

        Raises:
            StoreError: the store cannot be read.
        """
        for thread in await self.gate.store.read(agent_threads.not_ended):
            self._follow(thread, self._resumed(thread))

    async def stop(self) -> None:
        """Stop; the next start resumes what is under way."""
        tasks = tuple(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def begin(self, thread: AgentThread, request: ExecRequest, message: str) -> bool:
        """Submit a prompt and show its progress; ``False`` if it was already submitted.

        Raises:
            StoreError: nothing was begun.
        """
        if not await self.gate.store.write(agent_threads.create, thread):
            return False
        self._follow(thread, self._begun(thread, request, message))
        return True

    async def newest(self, account: str, here: Target) -> ApprovalId | None:
        """Return the newest prompt of a person in a conversation that has not ended.

        Raises:
            StoreError: the store cannot be read.
        """
        for thread in reversed(await self.gate.store.read(agent_threads.not_ended)):
            if thread.account == account and here in (thread.place, thread.thread):
                return await self._run_of(thread, _OPEN_PATIENCE_S)
        return None

    async def cancel(self, run_id: ApprovalId, note: str) -> bool:
        """End a prompt; ``False`` if it has ended.

        Raises:
            StoreError: the store cannot be read.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(_OPEN_PATIENCE_S):
                while not await self.gate.cancel(run_id, note):
                    if not isinstance(await self.gate.status(run_id), Pending | Running):
                        return False
                    await asyncio.sleep(_LOOK_S)  # claimed, but not yet begun
                return True
        return False

    def _follow(self, thread: AgentThread, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(self._guarded(thread, work))
        self._under_way[thread.key] = task
        task.add_done_callback(lambda _: self._under_way.pop(thread.key, None))

    async def _guarded(self, thread: AgentThread, work: Awaitable[None]) -> None:
        try:
            await work
        except Stopping:
            return  # the next start resumes it
        except Exception:  # noqa: BLE001 - one thread's fault must not end in silence
            _log.exception("cannot show what %s says in %s", thread.agent, thread.place.channel)

    async def _begun(self, thread: AgentThread, request: ExecRequest, message: str) -> None:
        place, reply_to = await self._place(thread, request, message)
        await self._stored(
            lambda: self.gate.store.write(agent_threads.place_in, thread.key, place, reply_to)
        )
        begun: asyncio.Future[ApprovalId] = asyncio.get_running_loop().create_future()
        # The run belongs to the gate: this task, which shows it, may end earlier.
        submitted = asyncio.ensure_future(
            self.gate.submit(replace(request, origin=place), begun.set_result)
        )
        run_id: ApprovalId | None = None
        try:
            await asyncio.wait((submitted, begun), return_when=asyncio.FIRST_COMPLETED)
            run_id = begun.result() if begun.done() else None
            await self._shown(thread, run_id or submitted.result().run_id, submitted)
        except Stopping:
            raise
        except SaysoError as failure:
            await self._end(thread, Speaker(thread.agent, run_id), f"did not run: {failure}")
        finally:
            submitted.cancel()

    async def _resumed(self, thread: AgentThread) -> None:
        place = thread.thread or thread.place
        await self._stored(lambda: self.gate.store.write(agent_threads.place_in, thread.key, place))
        run_id = await self._run_of(thread, _NOT_BEGUN_S)
        if run_id is None:
            await self._end(thread, Speaker(thread.agent, None), _NOT_BEGUN)
            return
        await self._shown(thread, run_id)

    async def _run_of(self, thread: AgentThread, patience_s: float) -> ApprovalId | None:
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while True:
                    found = await self._stored(
                        lambda: self.gate.store.read(idempotency.by_request_key, thread.key)
                    )
                    if found is not None:
                        return found
                    await asyncio.sleep(_LOOK_S)
        return None

    async def _waited(self, run_id: ApprovalId) -> Submission:
        end: Submission | None = await self.gate.status(run_id)
        while end is None or isinstance(end, Pending | Running):
            end = await self.gate.wait(run_id)
        return end

    async def _place(
        self, thread: AgentThread, request: ExecRequest, message: str
    ) -> tuple[Target, str]:
        """Return where the text goes, and which message it replies to if there are no threads."""
        channel = self.channels[thread.place.channel]
        if thread.place.thread or not isinstance(channel, Threads):
            return thread.place, message
        try:
            async with asyncio.timeout(_OPEN_PATIENCE_S):
                return await channel.open_thread(thread.place, _title(request), message), ""
        except (ChannelError, TimeoutError) as failure:
            _log.info("no thread for %s in %s: %s", thread.agent, thread.place.to, failure)
            return thread.place, message

    async def _shown(
        self,
        thread: AgentThread,
        run_id: ApprovalId,
        submitted: "asyncio.Future[Submission] | None" = None,
    ) -> None:
        """Show what is said, at a pace that platforms accept, and then how it ended."""
        speaker = Speaker(thread.agent, run_id)
        answer: Submission | None = None
        async with self._heard(run_id) as heard:
            if submitted is not None:
                answer = await self._while_it_lasts(thread, speaker, heard, submitted)
            if answer is None or isinstance(answer, Pending | Running):
                waiting = asyncio.ensure_future(self._waited(run_id))
                try:
                    answer = await self._while_it_lasts(thread, speaker, heard, waiting)
                finally:
                    waiting.cancel()
        status = agent_text.status_of(answer, self.gate.stopped(run_id))
        if not isinstance(answer, Finished):
            await self._end(thread, speaker, status)
            return
        channel = self.channels[thread.place.channel]
        text = agent_text.words_of(answer)
        await self._show(thread, agent_text.messages(speaker, channel, text, status), ended=True)

    async def _while_it_lasts(
        self,
        thread: AgentThread,
        speaker: Speaker,
        heard: _Heard,
        end: asyncio.Future[Submission],
    ) -> Submission:
        channel = self.channels[thread.place.channel]
        before: list[AgentMessage] = []
        read = ""
        while not end.done():
            heard.news.clear()
            status = await self._status(speaker)
            text = agent_text.settled(heard.text, rests=heard.text == read)
            read = heard.text
            wanted = agent_text.messages(speaker, channel, text, status)
            # What an earlier gateway showed stays until there is something new.
            fit = thread.thread is None or bool(heard.text)
            if fit and wanted != before and not end.done() and isinstance(channel, Growing):
                before = wanted
                await self._show(thread, wanted, ended=False)
            await asyncio.wait((end,), timeout=self._pause())
            news = asyncio.ensure_future(heard.news.wait())
            await asyncio.wait(
                (end, news), timeout=self.pace_s, return_when=asyncio.FIRST_COMPLETED
            )
            news.cancel()
        return end.result()

    def _pause(self) -> float:
        """Return the time until the next update: the more threads, the longer."""
        return self.pace_s * max(1, len(self._under_way))

    async def _status(self, speaker: Speaker) -> str:
        with suppress(StoreError):
            found = speaker.run_id and await self.gate.status(speaker.run_id)
            if isinstance(found, Pending):
                return agent_text.status_of(found)
        return agent_text.WORKS

    @asynccontextmanager
    async def _heard(self, run_id: ApprovalId) -> AsyncIterator[_Heard]:
        heard = _Heard()
        listening = asyncio.ensure_future(self._listen(run_id, heard))
        try:
            yield heard
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _listen(self, run_id: ApprovalId, heard: _Heard) -> None:
        while True:  # it may wait for an answer, or its turn, before it says anything
            text = ""
            async for chunk in self.gate.watch(run_id):
                text += chunk.data.decode(errors="replace")
                heard.text = text
                heard.news.set()
            await asyncio.sleep(_LOOK_S)

    async def _end(self, thread: AgentThread, speaker: Speaker, status: str) -> None:
        """Show how it ended, above what its thread already shows."""
        shown = await self._stored(lambda: self.gate.store.read(agent_messages.shown, thread.key))
        await self._show(thread, agent_text.ended(speaker, shown, status), ended=True)

    async def _show(self, thread: AgentThread, wanted: list[AgentMessage], *, ended: bool) -> None:
        def write() -> Awaitable[bool]:
            return self.gate.store.write(agent_messages.show, thread.key, wanted, ended=ended)

        if ended:
            await self._stored(write)
            return
        try:
            await write()
        except StoreError as failure:
            _log.warning("cannot show what %s says: %s", thread.agent, failure)

    async def _stored(self, work: Callable[[], Awaitable[_T]]) -> _T:
        while True:
            try:
                return await work()
            except StoreError as failure:
                _log.warning("a thread of an agent waits for the store: %s", failure)
            await asyncio.sleep(_RETRY_S)


def _title(request: ExecRequest) -> Redacted:
    """Return the title of a thread: its agent, and the beginning of the prompt."""
    text = redact(" ".join((request.argv or ("",))[-1].split()), strict=True).text
    short = text if len(text) <= _LONGEST_TITLE else f"{text[:_LONGEST_TITLE]}…"
    return phrase("{}: {}", redact(request.agent, strict=True), Redacted(short))
