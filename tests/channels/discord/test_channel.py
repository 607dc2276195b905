"""What goes out to Discord, and where: bodies, places, threads, speed."""

import asyncio
import time
from typing import Any

from channels.base import Inbound, Reply, Tone
from channels.cards import NoticeCard, build_outcome, build_prompt
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
    world: DiscordGuild, inbox: RecordingInbox
) -> None:
    """The bodies of ``payloads`` go out as they are, long prompts with their file too."""
    await world.channel.start(inbox)
    for size in (10, 3_000, 30_000):
        card = build_prompt(approval(plan(text="echo " + "b" * size)))
        world.server.calls.clear()
        world.server.state.nonces.clear()
        await world.channel.post(world.target, card)
        made = payloads(card, world.target)
        files = [one.pop("files[0]", None) for one in made]

        assert [call.body for call in world.server.calls] == made
        kept = world.server.messages(CHANNEL)[-len(made) :]
        assert [one["attachments"][0]["_"] if one["attachments"] else None for one in kept] == files


async def test_allow_always_has_a_button_only_with_a_promise(
    world: DiscordGuild, inbox: RecordingInbox
) -> None:
    """Without anything to store there are two buttons."""
    await world.channel.start(inbox)
    message = await world.channel.post(world.target, build_prompt(approval(promise=())))

    (row,) = world.message(message)["components"]
    assert [button["label"] for button in row["components"]] == ["Allow once", "Deny"]


class TestPlaces:
    """Servers and threads."""

    async def test_a_thread_is_written_to_and_heard(
        self, world: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """A prompt goes to its thread, and presses and words there come from it."""
        thread = Target("discord", str(CHANNEL), thread=str(THREAD))
        await world.channel.start(inbox)
        message = int(await world.channel.post(thread, build_prompt(approval())))
        await world.server.press(THREAD, message, ANA, "Deny")
        await inbox.take()
        await world.server.say(THREAD, ANA, "no", reply_to=message)
        pressed, said = await inbox.take(2)

        assert pressed.place == said.place == thread

    async def test_a_thread_that_went_to_sleep_is_woken_for_the_final_state(
        self, world: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """Discord refuses edits in an archived thread; no prompt keeps its buttons there."""
        thread = Target("discord", str(CHANNEL), thread=str(THREAD))
        await world.channel.start(inbox)
        message = await world.channel.post(thread, build_prompt(approval()))
        world.server.state.archived.add(THREAD)

        outcome = build_outcome(approval(resolution=resolved()))
        await world.channel.update(thread, message, outcome)

        assert world.server.state.message(THREAD, int(message))["components"] == []

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


def _own(world: DiscordGuild) -> list[dict[str, Any]]:
    return [one for one in world.server.messages(CHANNEL) if one["author"]["bot"]]


async def test_nothing_that_is_sent_pings_or_previews(
    world: DiscordGuild, inbox: RecordingInbox
) -> None:
    """Prompts, edits, notices and replies carry empty allowed mentions; posts stay previewless."""
    await world.channel.start(inbox)
    message = await world.channel.post(world.target, build_prompt(approval()))
    await world.channel.notify(world.target, NoticeCard(redact("@everyone https://x.example")))
    await world.type("/pending")
    await world.told("Allowed once: 7K3F9Q.")
    outcome = build_outcome(approval(resolution=resolved()))
    await world.channel.update(world.target, message, outcome)

    writing = [
        call for call in world.server.calls if call.method in ("createMessage", "editMessage")
    ]
    assert len(writing) == 4
    assert all(call.body["allowed_mentions"] == {"parse": []} for call in writing)
    assert all(one["flags"] & 4 for one in _own(world))


async def test_a_press_reaches_its_edited_message_quickly(world: DiscordGuild) -> None:
    """Press, commit and edit take a few milliseconds of our own."""
    took: list[float] = []

    class Editing:
        async def receive(self, inbound: Inbound) -> Reply:
            outcome = build_outcome(approval(resolution=resolved()))
            await world.channel.update(world.target, inbound.replied_to, outcome)
            return Reply(redact("Allowed once: 7K3F9Q."), Tone.OK)

    await world.channel.start(Editing())
    for _ in range(20):
        world.server.state.nonces.clear()
        message = await world.channel.post(world.target, build_prompt(approval()))
        started = time.monotonic()
        await world.press(message, ApprovalReply.ALLOW_ONCE)
        await world.shows(message, "Allowed once by Ana")
        took.append(time.monotonic() - started)
        await asyncio.sleep(0)

    assert sorted(took)[10] < 0.1
