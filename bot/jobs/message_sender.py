"""Turn claimed rows into messages: one prompt, a group of prompts, an edit, a notice.

A burst is grouped: if three or more short prompts wait for one place, they become one message with
a row of buttons each. Every edit shows the state at the time when it is sent, so one edit of a
group settles all of its rows.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo

from channels.base import Channel, Groups, Reminders, Resumable, Threads
from channels.cards.build import build_outcome, build_prompt, node_choices
from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.shown_text import rendered
from core.errors import ChannelError
from core.model.approval import Approval
from core.model.identity import Target
from core.store import Store, approvals, outbox
from core.store.engine.clock import now_ms
from core.store.outbox import agent_messages
from core.store.schema.records import ShownApproval
from core.store.sessions.threads import keep_thread, thread_of
from core.store.views.status import shown_by
from core.text.render import Redacted, own_lines, phrase, printed, redact

_log = logging.getLogger(__name__)
_BURST = 3
"""Number of prompts waiting for one place from which they are sent together."""
_LEAST_IN_DOUBT = 2
_LARGEST_GROUP = 8
_LONGEST_WAIT_FOR_THREAD_MS = 5_000

Items = Sequence[outbox.OutboxItem]


@dataclass(frozen=True, slots=True)
class Delivery:
    """Turns rows of the outbox into messages; ``threaded``: each session has its own thread.

    ``page_url`` is where prompts link to, empty if they have no link.
    """

    store: Store
    channels: Mapping[str, Channel]
    threaded: bool = False
    zone: tzinfo = UTC
    page_url: str = ""

    async def batch(self, waiting: Items) -> Items:
        """Return the rows, starting with the first one, that are sent as one message.

        Raises:
            StoreError: the store cannot be read.
        """
        first = waiting[0]
        if first.kind is outbox.OutboxKind.EDIT:
            same = (item for item in waiting if item.kind is first.kind)
            return [item for item in same if item.message == first.message]
        channel = self.channels[first.target.channel]
        alike = [item for item in waiting if _are_prompts_alike(first, item)]
        least = _LEAST_IN_DOUBT if first.uncertain else _BURST
        if len(alike) < least or not isinstance(channel, Groups) or self._is_sent_alone(first):
            return [first]
        return await self._group(channel, alike)

    def _is_sent_alone(self, item: outbox.OutboxItem) -> bool:
        # What can be searched for is searched for one by one. Otherwise a group that may have been
        # sent is sent as a group again: a lost response then causes one message too many, not
        # eight.
        resumed = item.uncertain and isinstance(self.channels[item.target.channel], Resumable)
        return resumed or self._has_threads(item.target)

    async def _group(self, channel: Groups, prompts: Items) -> Items:
        """Return the longest run of the first prompts that fits one message."""
        cards: list[PromptCard] = []
        for item in prompts[:_LARGEST_GROUP]:
            approval = await self._approval(item)
            if approval is None:
                break
            cards.append(build_prompt(approval, self.zone, self.page_url))
        while len(cards) > 1 and not channel.fits(tuple(cards)):
            cards.pop()
        return prompts[: max(1, len(cards))]

    async def send(self, items: Items) -> None:
        """Send one message and record it.

        Raises:
            ChannelError: the platform refused it or cannot be reached; nothing was recorded.
            StoreError: it was sent, and its claim will expire.
        """
        first = items[0]
        match first.kind:
            case outbox.OutboxKind.AGENT:
                await self._agent(first)
            case outbox.OutboxKind.NOTICE:
                await self._notice(first)
            case outbox.OutboxKind.REMINDER:
                await self._remind(first)
            case outbox.OutboxKind.EDIT:
                await self._ended(items)
            case outbox.OutboxKind.PROMPT if len(items) == 1:
                await self._prompt(first)
            case outbox.OutboxKind.PROMPT:
                await self._prompts(items)

    async def _ended(self, items: Items) -> None:
        first = items[0]
        if first.payload == outbox.OF_REMINDER:
            await self._end_reminder(first)
        elif first.payload.startswith(outbox.OF_NOTICE):
            await self._end_notice(first)
        elif of_agent(first):
            await self._agent(first)
        else:
            await self._edit(items)

    async def _notice(self, item: outbox.OutboxItem) -> None:
        payload = json.loads(item.payload)
        node, text = payload.get("node"), str(payload["text"])
        # A node's name and address contain no line feed; other notices may quote a command.
        words = own_lines(text) if node else redact(text, multiline=True)
        if payload.get("output"):
            words = phrase("{}\n{}", words, printed(str(payload["output"])))
        card = NoticeCard(words, node_choices(str(node["code"])) if node else ())
        message = await self.channels[item.target.channel].notify(item.target, card)
        await self.store.write(outbox.sent, item.id, message)

    async def _end_notice(self, item: outbox.OutboxItem) -> None:
        """Replace a notice with how it ended, or add that below if messages cannot be replaced."""
        channel, message = self.channels[item.target.channel], item.message or ""
        card = NoticeCard(redact(str(json.loads(item.payload)["text"]), multiline=True))
        if isinstance(channel, Reminders) and message:
            await channel.end_reminder(item.target, message, card)
        else:
            await channel.notify(item.target, card)
        await self.store.write(outbox.sent, item.id, message)

    async def _agent(self, item: outbox.OutboxItem) -> None:
        """Show what an agent says: in a new message first, later by replacing it."""
        channel, message = self.channels[item.target.channel], item.message or ""
        said, reply_to = agent_messages.message_of(item.payload)
        # It was masked as a whole when it was cut into messages.
        card = NoticeCard(Redacted(f"{said.head}\n{said.text}" if said.text else said.head))
        if not isinstance(channel, Reminders):
            message = await channel.notify(item.target, card)
        elif item.kind is outbox.OutboxKind.EDIT:
            await channel.end_reminder(item.target, message, card)
        elif reply_to:
            message = await channel.remind(item.target, reply_to, card)
        else:
            message = await channel.notify(item.target, card)
        await self.store.write(agent_messages.confirm, item.id, item.payload, message)

    async def _remind(self, item: outbox.OutboxItem) -> None:
        approval = await self._known(item)
        if approval is None:
            return
        channel = self.channels[item.target.channel]
        card = _reminder(approval, await self.store.read(now_ms))
        if isinstance(channel, Reminders) and item.message:
            message = await channel.remind(item.target, item.message, card)
        else:
            message = await channel.notify(item.target, card)
        await self.store.write(outbox.sent, item.id, message)

    async def _end_reminder(self, item: outbox.OutboxItem) -> None:
        channel, approval = self.channels[item.target.channel], await self._known(item)
        if approval is None:
            return
        if isinstance(channel, Reminders) and item.message:
            ended = build_outcome(approval, None, self.zone).headline
            words = phrase("{}: {}", redact(approval.code), ended)
            await channel.end_reminder(item.target, item.message, NoticeCard(words))
        await self.store.write(outbox.sent, item.id, item.message or "")

    async def _prompt(self, item: outbox.OutboxItem) -> None:
        approval = await self._known(item)
        if approval is None:
            return
        channel = self.channels[item.target.channel]
        target = await self._thread(channel, item, approval)
        card = build_prompt(approval, self.zone, self.page_url)
        shown = rendered(channel, target, (card,))
        if item.uncertain and isinstance(channel, Resumable):
            message = await channel.resume(target, card)
        else:
            message = await channel.post(target, card)
        await self.store.write(outbox.sent, item.id, message, shown)

    async def _prompts(self, items: Items) -> None:
        channel, target = self.channels[items[0].target.channel], items[0].target
        asked = [await self._approval(item) for item in items]
        cards = tuple(
            build_prompt(approval, self.zone, self.page_url)
            for approval in asked
            if approval is not None
        )
        if not isinstance(channel, Groups) or len(cards) < len(items):
            for item in items:
                await self._prompt(item)
            return
        shown = rendered(channel, target, cards)
        message = await channel.post_group(target, cards)
        await self.store.write(outbox.sent_group, tuple(item.id for item in items), message, shown)

    async def _edit(self, items: Items) -> None:
        first = items[0]
        channel, message = self.channels[first.target.channel], first.message or ""
        shown = first.shows if len(items) == 1 else ()
        shown = shown or await self.store.read(shown_by, first)
        if len(shown) > 1 and isinstance(channel, Groups):
            cards = tuple(self._card(one) for one in shown)
            await channel.update_group(first.target, message, cards)
        else:
            own = [one for one in shown if one.approval.id == first.approval_id]
            if not own:
                await self.store.write(outbox.drop, first.id, "its approval no longer exists")
                return
            card = build_outcome(own[0].approval, own[0].outcome, self.zone)
            await channel.update(first.target, message, card)
        for item in items:
            await self.store.write(outbox.sent, item.id, message)

    def _card(self, shown: ShownApproval) -> PromptCard | OutcomeCard:
        if shown.approval.resolution is None:
            return build_prompt(shown.approval, self.zone, self.page_url)
        return build_outcome(shown.approval, shown.outcome, self.zone)

    async def _thread(
        self, channel: Channel, item: outbox.OutboxItem, approval: Approval
    ) -> Target:
        """Return where a prompt goes: its session's own thread if those are enabled."""
        target, session = item.target, approval.plan.session
        if not self._has_threads(target) or not isinstance(channel, Threads):
            return target
        known = await self.store.read(thread_of, session, target)
        if known is None:
            opened = await _opened(channel, target, session)
            if opened is None:
                return target
            known = await self.store.write(keep_thread, session, target, opened)
        await self.store.write(outbox.relocate, item.id, known)
        return known

    def _has_threads(self, target: Target) -> bool:
        channel = self.channels[target.channel]
        return self.threaded and not target.thread and isinstance(channel, Threads)

    async def _known(self, item: outbox.OutboxItem) -> Approval | None:
        """Return the row's approval; a row without one is dropped."""
        approval = await self._approval(item)
        if approval is None:
            await self.store.write(outbox.drop, item.id, "its approval no longer exists")
        return approval

    async def _approval(self, item: outbox.OutboxItem) -> Approval | None:
        if item.approval_id is None:
            return None
        return await self.store.read(approvals.get, item.approval_id)


def of_agent(item: outbox.OutboxItem) -> bool:
    """Return whether an item shows what an agent says."""
    return item.payload.startswith(agent_messages.OF_AGENT)


async def _opened(channel: Threads, target: Target, session: str) -> Target | None:
    """Open a session's thread; a place without threads remains the session's place.

    ``None``: threads can only be opened later, and a question should not wait for that.
    """
    try:
        return await channel.open_thread(target, phrase("Session {}", redact(session)))
    except ChannelError as failure:
        if failure.permanent:
            return target
        if (failure.retry_after_ms or 0) > _LONGEST_WAIT_FOR_THREAD_MS:
            _log.info("%s is asked in %s, without a thread: %s", session, target.to, failure)
            return None
        raise


def _are_prompts_alike(first: outbox.OutboxItem, item: outbox.OutboxItem) -> bool:
    prompts = item.kind is first.kind is outbox.OutboxKind.PROMPT
    return prompts and item.uncertain == first.uncertain


def _reminder(approval: Approval, now: int) -> NoticeCard:
    left = max(0, approval.deadline_ms - now) // 1000
    words = f"Still waiting for an answer: {approval.code}, {left} s left; no answer means deny."
    return NoticeCard(redact(words))
