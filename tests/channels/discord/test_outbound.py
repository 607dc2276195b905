"""Handle REST calls that Discord refuses or that the network loses."""

import time

import pytest

from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import redact
from tests.channels.discord.guild import ANA, DiscordGuild, channel_for
from tests.contracts.channel_examples import approval, plan, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_http import Pacing
from tests.emulators.discord_objects import CHANNEL
from tests.emulators.faults import Fault, FaultKind


class TestCalls:
    """REST calls that Discord refuses or that the network loses."""

    @pytest.mark.parametrize(
        ("target", "words"),
        [
            (Target("discord", "404"), "a channel's id, or user:"),
            (Target("discord", str(CHANNEL)), "Invite the bot"),
            (Target("discord", f"user:{ANA}"), "must share a server with the bot"),
            (Target("discord", "general"), "is not a Discord target"),
        ],
        ids=["unknown", "no access", "blocked", "a name"],
    )
    async def test_a_place_that_cannot_be_written_is_permanent(
        self, setup: DiscordGuild, inbox: RecordingInbox, target: Target, words: str
    ) -> None:
        """Unknown and closed places are not retried, and the error says what to do."""
        setup.server.state.forbidden.add(CHANNEL)
        setup.server.state.blocked.add(ANA)
        await setup.channel.start(inbox)
        with pytest.raises(ChannelError, match=words) as raised:
            await setup.channel.post(target, build_prompt(approval()))

        assert raised.value.permanent

    async def test_an_update_in_a_deleted_channel_is_no_error(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """If the whole channel is gone, nothing is left to edit."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        setup.server.state.missing.add(CHANNEL)

        outcome = build_outcome(approval(resolution=resolved()))
        await setup.channel.update(setup.target, message, outcome)

    @pytest.mark.parametrize("kind", [FaultKind.DROP, FaultKind.LOSE])
    async def test_a_send_of_unknown_fate_is_repeated_without_a_duplicate(
        self, setup: DiscordGuild, inbox: RecordingInbox, kind: FaultKind
    ) -> None:
        """The nonce makes a prompt that is posted again the same message."""
        await setup.channel.start(inbox)
        setup.server.faults.add(Fault(kind, "createMessage"))
        card = build_prompt(approval(plan(text="echo " + "b" * 3000)))
        with pytest.raises(ChannelError, match="cannot be reached") as raised:
            await setup.channel.post(setup.target, card)
        assert not raised.value.permanent

        message = await setup.channel.post(setup.target, card)
        again = await setup.channel.post(setup.target, card)

        shown = setup.server.messages(CHANNEL)
        assert message == again == shown[-1]["id"]
        assert len({one["content"] for one in shown}) == len(shown) == 3

    async def test_a_server_that_forgets_nonces_shows_the_duplicate(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """Negative control: without the nonce the repeated prompt appears twice."""
        await setup.channel.start(inbox)
        setup.server.faults.add(Fault(FaultKind.LOSE, "createMessage"))
        with pytest.raises(ChannelError):
            await setup.channel.post(setup.target, build_prompt(approval()))
        setup.server.state.nonces.clear()
        await setup.channel.post(setup.target, build_prompt(approval()))

        assert len(setup.server.messages(CHANNEL)) == 2

    async def test_a_short_429_is_slept_through(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """The library waits as long as it is told and sends once."""
        await setup.channel.start(inbox)
        setup.server.faults.add(Fault(FaultKind.STATUS, "createMessage", 429, retry_after=1))
        started = time.monotonic()
        await setup.channel.post(setup.target, build_prompt(approval()))

        assert 1 <= time.monotonic() - started < 3
        assert setup.server.count("createMessage") == 1

    async def test_a_long_429_is_the_outboxs_to_schedule(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """A wait beyond 30 seconds is raised at once, with its length."""
        await setup.channel.start(inbox)
        setup.server.faults.add(Fault(FaultKind.STATUS, "createMessage", 429, retry_after=60))
        with pytest.raises(ChannelError) as raised:
            await setup.channel.post(setup.target, build_prompt(approval()))

        assert raised.value.retry_after_ms == 60_000
        assert not raised.value.permanent

    async def test_a_502_is_repeated_by_the_library_without_a_duplicate(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """One bad gateway delays a prompt by a second."""
        await setup.channel.start(inbox)
        setup.server.faults.add(Fault(FaultKind.STATUS, "createMessage", 502))
        await setup.channel.post(setup.target, build_prompt(approval()))

        assert len(setup.server.messages(CHANNEL)) == 1

    async def test_a_503_is_for_later(self, setup: DiscordGuild, inbox: RecordingInbox) -> None:
        """A server error is not permanent."""
        await setup.channel.start(inbox)
        setup.server.faults.add(Fault(FaultKind.STATUS, "createMessage", 503))
        with pytest.raises(ChannelError, match="HTTP 503") as raised:
            await setup.channel.post(setup.target, build_prompt(approval()))

        assert not raised.value.permanent

    async def test_the_bucket_of_a_channel_is_never_overrun(
        self, server: DiscordServer, inbox: RecordingInbox
    ) -> None:
        """Told its budget in headers, the library paces itself: no 429 is provoked."""
        server.buckets["createMessage"] = Pacing(3, 0.5)
        channel = channel_for(server)
        await channel.start(inbox)
        for number in range(7):
            notice = NoticeCard(redact(f"Notice {number}"))
            await channel.notify(Target("discord", str(CHANNEL)), notice)
        await channel.stop()

        assert [call.status for call in server.calls if call.method == "createMessage"] == [200] * 7
