"""Send to Discord: bodies, places, threads, speed."""

import asyncio
import time
from typing import Any

from channels.base import Inbound, Reply, Tone
from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from channels.commands import Approve, Malformed
from channels.discord.render.messages import payloads
from core.model.approval import ApprovalReply
from core.model.identity import Target
from core.text.render import redact
from tests.channels.discord.guild import ANA, DiscordGuild, channel_for
from tests.contracts.channel_examples import approval, plan, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_objects import BOT, CHANNEL, GUILD, OTHER_CHANNEL, THREAD


async def test_what_is_sent_is_what_the_renderer_returned(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """The bodies of ``payloads`` are sent as they are, long prompts with their file too."""
    await setup.channel.start(inbox)
    for size in (10, 3_000, 30_000):
        card = build_prompt(approval(plan(text="echo " + "b" * size)))
        setup.server.calls.clear()
        setup.server.state.nonces.clear()
        await setup.channel.post(setup.target, card)
        made = payloads(card, setup.target)
        files = [one.pop("files[0]", None) for one in made]

        assert [call.body for call in setup.server.calls] == made
        kept = setup.server.messages(CHANNEL)[-len(made) :]
        assert [one["attachments"][0]["_"] if one["attachments"] else None for one in kept] == files


async def test_allow_always_has_a_button_only_with_a_promise(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """Without anything to store there are two buttons."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval(promise=())))

    (row,) = setup.message(message)["components"]
    assert [button["label"] for button in row["components"]] == ["Allow once", "Deny", "Details"]


class TestPlaces:
    """Servers and threads."""

    async def test_a_thread_is_written_to_and_heard(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """A prompt goes to its thread, and presses and words there come from it."""
        thread = Target("discord", str(CHANNEL), thread=str(THREAD))
        await setup.channel.start(inbox)
        message = int(await setup.channel.post(thread, build_prompt(approval())))
        await setup.server.press(THREAD, message, ANA, "Deny")
        await inbox.take()
        await setup.server.say(THREAD, ANA, "no", reply_to=message)
        pressed, said = await inbox.take(2)

        assert pressed.place == said.place == thread

    async def test_a_thread_that_went_to_sleep_is_woken_for_the_final_state(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """Discord refuses edits in an archived thread; no prompt keeps its buttons there."""
        thread = Target("discord", str(CHANNEL), thread=str(THREAD))
        await setup.channel.start(inbox)
        message = await setup.channel.post(thread, build_prompt(approval()))
        setup.server.state.archived.add(THREAD)

        outcome = build_outcome(approval(resolution=resolved()))
        await setup.channel.update(thread, message, outcome)

        assert setup.server.state.message(THREAD, int(message))["components"] == []

    async def test_servers_that_are_not_listed_decide_nothing(
        self, server: DiscordServer, inbox: RecordingInbox
    ) -> None:
        """With ``guilds`` set, a press elsewhere is told that it changed nothing."""
        channel = channel_for(server, guilds=[str(GUILD)])
        await channel.start(inbox)
        elsewhere = Target("discord", str(OTHER_CHANNEL))
        message = await channel.post(elsewhere, build_prompt(approval()))
        await server.press(OTHER_CHANNEL, int(message), ANA, "Allow once")
        await inbox.take()
        await server.say(OTHER_CHANNEL, ANA, f"<@{BOT}> approve 7K3F9Q allow-once")
        await inbox.take(2)
        await server.slash(CHANNEL, ANA, "approve", id="7K3F9Q", decision="deny")
        refused, also, taken = await inbox.take(3)
        await channel.stop()

        assert isinstance(refused.command, Malformed)
        assert isinstance(also.command, Malformed)
        assert "not in channels.discord.guilds" in refused.command.usage
        assert taken.command == Approve("7k3f9q", ApprovalReply.DENY)


def _own(setup: DiscordGuild) -> list[dict[str, Any]]:
    return [one for one in setup.server.messages(CHANNEL) if one["author"]["bot"]]


async def test_nothing_that_is_sent_pings_or_previews(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """Prompts, edits, notices and replies carry empty allowed mentions; posts have no previews."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.channel.notify(setup.target, NoticeCard(redact("@everyone https://x.example")))
    await setup.type("/pending")
    await setup.sees("Allowed once: 7K3F9Q.")
    outcome = build_outcome(approval(resolution=resolved()))
    await setup.channel.update(setup.target, message, outcome)

    writing = [
        call for call in setup.server.calls if call.method in ("createMessage", "editMessage")
    ]
    assert len(writing) == 4
    assert all(call.body["allowed_mentions"] == {"parse": []} for call in writing)
    assert all(one["flags"] & 4 for one in _own(setup))


async def test_a_press_reaches_its_edited_message_quickly(setup: DiscordGuild) -> None:
    """Press, commit and edit take a few milliseconds of our own."""
    took: list[float] = []

    class Editing:
        async def receive(self, inbound: Inbound) -> Reply:
            outcome = build_outcome(approval(resolution=resolved()))
            await setup.channel.update(setup.target, inbound.replied_to, outcome)
            return Reply(redact("Allowed once: 7K3F9Q."), Tone.OK)

    await setup.channel.start(Editing())
    for _ in range(20):
        setup.server.state.nonces.clear()
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        started = time.monotonic()
        await setup.press(message, ApprovalReply.ALLOW_ONCE)
        await setup.shows(message, "Allowed once by Ana")
        took.append(time.monotonic() - started)
        await asyncio.sleep(0)

    assert sorted(took)[10] < 0.1
