"""Answer each call of a channel with pages; the platforms' tests inherit it."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import pytest

from channels.base import Channel, Provable, Resumable, Threads
from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from core.errors import ChannelError
from core.model.approval import ApprovalReply
from core.model.identity import Target
from core.text.render import redact
from tests.contracts.channel_examples import approval, resolved
from tests.contracts.channel_setup import ChannelSetup, RecordingInbox
from tests.contracts.odd_answers import NAMES, odd
from tests.emulators.faults import Fault, FaultKind, FaultQueue

_RECOVER_S = 20.0
_REPLY_S = 1.5
_SAY_S = 35.0
_WAITED_FOR_S = 10
_LONGEST = 500
"""Characters of what a channel says about one failure."""


class PlatformServer(Protocol):
    """A local platform, as these tests need it."""

    faults: FaultQueue


@dataclass(slots=True)
class OddCall:
    """A channel, and the page that answers one of its calls once ``begin`` is called."""

    setup: ChannelSetup
    server: PlatformServer
    inbox: RecordingInbox
    fault: Fault
    refused: list[ChannelError] = field(default_factory=list)
    began: float = 0.0

    @property
    def channel(self) -> Channel:
        """Return the channel."""
        return self.setup.channel

    def begin(self) -> None:
        """Answer the call with the page from now on."""
        self.server.faults.lasting = self.fault
        self.began = time.monotonic()

    def has_time(self) -> bool:
        """Return whether the channel may still be trying, as Discord's library does for 25 s."""
        return time.monotonic() - self.began < _SAY_S

    async def replied(self) -> bool:
        """Return whether a person sees the reply, some time after the call was made."""
        await self.until_struck()
        try:
            async with asyncio.timeout(_REPLY_S):
                await self.setup.sees("Allowed once")
        except TimeoutError:
            return False
        return True

    async def until_struck(self) -> None:
        """Wait until the call was answered by the fault."""
        async with asyncio.timeout(_RECOVER_S):
            while not self.server.faults.struck[self.fault.method]:
                await asyncio.sleep(0.02)


Use = Callable[[OddCall], Awaitable[bool]]
"""Makes a call, and returns whether it did for people what it should, whatever the answer."""


def posted_to(place: Target) -> Use:
    """Return a use that posts a prompt to a place."""

    async def use(at: OddCall) -> bool:
        await at.channel.start(at.inbox)
        at.begin()
        await at.channel.post(place, build_prompt(approval()))
        return False

    return use


async def post(at: OddCall) -> bool:
    """Post a prompt."""
    return await posted_to(at.setup.target)(at)


async def update(at: OddCall) -> bool:
    """Bring a prompt to its final state."""
    await at.channel.start(at.inbox)
    message = await at.channel.post(at.setup.target, build_prompt(approval()))
    at.begin()
    outcome = build_outcome(approval(resolution=resolved()))
    await at.channel.update(at.setup.target, message, outcome)
    return not at.setup.can_press(message)


async def resume(at: OddCall) -> bool:
    """Look for a sent prompt."""
    assert isinstance(at.channel, Resumable)
    await at.channel.start(at.inbox)
    await at.channel.post(at.setup.target, build_prompt(approval()))
    at.begin()
    message = await at.channel.resume(at.setup.target, build_prompt(approval()))
    return at.setup.can_press(message)


def thread_in(place: Target) -> Use:
    """Return a use that opens a thread in a place."""

    async def use(at: OddCall) -> bool:
        assert isinstance(at.channel, Threads)
        await at.channel.start(at.inbox)
        at.begin()
        await at.channel.open_thread(place, redact("agent:main"))
        return False

    return use


async def press(at: OddCall) -> bool:
    """Press a button: it counts, whatever happens to the reply."""
    await at.channel.start(at.inbox)
    message = await at.channel.post(at.setup.target, build_prompt(approval()))
    at.begin()
    await at.setup.press(message, ApprovalReply.DENY)
    await at.inbox.take()
    return await at.replied()


async def start(at: OddCall) -> bool:
    """Start: what this call does is not needed to ask people."""
    at.begin()
    await at.channel.start(at.inbox)
    await at.until_struck()
    async with asyncio.timeout(40):
        while not (await at.channel.check()).ok:
            await asyncio.sleep(0.05)
    return False


class OddCallsContract:
    """Inherit, provide the fixtures ``setup`` and ``server``, and name every call.

    The calls of ``first`` must succeed before anyone can be asked, those of ``proved`` are made by
    ``sayso doctor channels``; ``uses`` makes one call each, under the name of the call or, for a
    second use, under the name, a colon and a reason.
    """

    first: ClassVar[tuple[str, ...]]
    proved: ClassVar[tuple[str, ...]]
    people: ClassVar[tuple[str, ...]]
    uses: ClassVar[dict[str, Use]]
    posted: ClassVar[str]
    edited: ClassVar[str]
    """The calls that show a prompt and that bring it to its final state."""
    believed: ClassVar[Collection[tuple[str, str]]] = ()
    """Uses and pages that equal what the platform says on success, so they are taken for one."""
    offered: ClassVar[Collection[str]]
    """Each call that the local platform takes; it refuses all others."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Draw the calls from the tables of the platform."""
        for argument, names in (
            ("first_call", self.first),
            ("proved_call", self.proved),
            ("use", self.uses),
        ):
            if argument in metafunc.fixturenames:
                metafunc.parametrize(argument, list(names))

    def test_every_call_is_in_the_tables(self) -> None:
        """A call that a channel learns to make is one that a page answers here."""
        named = {name.partition(":")[0] for name in self.uses}

        assert set(self.offered) == {*self.first, *self.proved, *named}

    @pytest.mark.timeout(120)
    @pytest.mark.parametrize("page", NAMES)
    async def test_an_odd_first_answer_is_reported_and_tried_again(
        self,
        setup: ChannelSetup,
        server: PlatformServer,
        inbox: RecordingInbox,
        caplog: pytest.LogCaptureFixture,
        first_call: str,
        page: str,
    ) -> None:
        """Health names the cause while it lasts; afterwards the channel connects."""
        server.faults.lasting = odd(first_call, page)
        await setup.channel.start(inbox)
        async with asyncio.timeout(40):  # discord.py itself retries 500 and 502 for 25 s
            while (while_odd := await setup.channel.check()).ok or _undecided(while_odd.detail):
                await asyncio.sleep(0.05)
        server.faults.lasting = None
        await recovered(setup.channel)
        await setup.channel.stop()

        assert setup.channel.name in while_odd.detail.lower()
        assert "rejected the bot token" not in while_odd.detail
        assert len(while_odd.detail) < _LONGEST
        assert [] == tracebacks(caplog)
        assert all(len(one.getMessage()) < 1200 for one in caplog.records)

    @pytest.mark.timeout(120)
    @pytest.mark.parametrize("page", NAMES)
    async def test_the_self_check_ends_in_words(
        self,
        setup: ChannelSetup,
        server: PlatformServer,
        caplog: pytest.LogCaptureFixture,
        proved_call: str,
        page: str,
    ) -> None:
        """Every odd answer is a failed proof, never an exception."""
        server.faults.lasting = odd(proved_call, page)
        assert isinstance(setup.channel, Provable)
        proofs = await setup.channel.prove(self.people)

        assert server.faults.struck[proved_call]
        assert [] != [one for one in proofs if not one.ok], proofs
        assert all(len(one.detail) < _LONGEST for one in proofs)
        assert [] == tracebacks(caplog)

    @pytest.mark.timeout(120)
    @pytest.mark.parametrize("page", NAMES)
    async def test_a_page_in_the_place_of_a_call(
        self,
        setup: ChannelSetup,
        server: PlatformServer,
        inbox: RecordingInbox,
        caplog: pytest.LogCaptureFixture,
        use: str,
        page: str,
    ) -> None:
        """The channel says what went wrong, and continues once the answers are correct again."""
        caplog.set_level(logging.INFO)
        at = OddCall(setup, server, inbox, odd(use.partition(":")[0], page))
        reached = await _tried(at, self.uses[use])
        believed = (use, page) in self.believed
        while not (reached or believed or at.refused or said(caplog)) and at.has_time():
            await asyncio.sleep(0.05)
        struck = server.faults.struck[at.fault.method]
        server.faults.lasting = None
        await recovered(setup.channel)
        again = await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.channel.stop()

        assert struck
        assert again
        assert [] == tracebacks(caplog)
        assert reached or believed or at.refused or said(caplog), "silent"
        assert all(len(str(one)) < _LONGEST for one in at.refused)

    @pytest.mark.parametrize("seconds", [1, 10, 31, 120, 219, 300])
    @pytest.mark.parametrize("edits", [False, True], ids=["post", "edit"])
    async def test_a_rate_limit_of_any_length_loses_nothing(
        self,
        setup: ChannelSetup,
        server: PlatformServer,
        inbox: RecordingInbox,
        seconds: int,
        *,
        edits: bool,
    ) -> None:
        """A short one is waited for; of a longer one the outbox is told when to send again."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        call = self.edited if edits else self.posted
        server.faults.add(Fault(FaultKind.STATUS, call, 429, retry_after=seconds))
        refused = None
        try:
            if edits:
                outcome = build_outcome(approval(resolution=resolved()))
                await setup.channel.update(setup.target, message, outcome)
            else:
                await setup.channel.notify(setup.target, NoticeCard(redact("Half time passed")))
        except ChannelError as error:
            refused = error
        health = await setup.channel.check()
        await setup.channel.stop()

        assert server.faults.struck[call]
        assert health.ok
        if refused is None:
            assert seconds <= _WAITED_FOR_S
        else:
            assert not refused.permanent
            assert refused.retry_after_ms is not None
            assert seconds - 2 < refused.retry_after_ms / 1000 <= seconds + 2

    @pytest.mark.timeout(120)
    async def test_without_a_page_nothing_is_said(
        self,
        setup: ChannelSetup,
        server: PlatformServer,
        inbox: RecordingInbox,
        caplog: pytest.LogCaptureFixture,
        use: str,
    ) -> None:
        """Negative control: each use makes its call, and succeeds."""
        caplog.set_level(logging.INFO)
        call = use.partition(":")[0]
        at = OddCall(setup, server, inbox, Fault(FaultKind.DELAY, call))
        await _tried(at, self.uses[use])
        struck = server.faults.struck[call]
        await setup.channel.stop()

        assert struck
        assert [] == at.refused
        assert [] == said(caplog)


async def _tried(at: OddCall, use: Use) -> bool:
    """Use a channel; record what it refuses. Any other exception is a defect."""
    try:
        return await use(at)
    except ChannelError as error:
        at.refused.append(error)
        return False


async def recovered(channel: Channel) -> None:
    """Wait until a channel works again on its own."""
    async with asyncio.timeout(_RECOVER_S):
        while not (await channel.check()).ok:
            await asyncio.sleep(0.05)


def tracebacks(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was logged with a traceback."""
    return [one.getMessage() for one in caplog.records if one.exc_info or one.exc_text]


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what the channels' own modules logged; a library also logs its everyday work."""
    ours = (one for one in caplog.records if one.name.startswith("channels."))
    return [one.getMessage() for one in ours if not one.name.endswith(".library")]


def _undecided(detail: str) -> bool:
    return detail == "connecting"
