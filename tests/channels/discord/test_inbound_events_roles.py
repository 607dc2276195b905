"""Use Discord roles as approver sources, as Discord sends them with each press and message."""

from pathlib import Path

import pytest

from channels.cards.build import build_prompt
from core.model.identity import Target
from tests.channels.discord.guild import ANA, EVE, channel_for
from tests.contracts.channel_examples import approval
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_objects import (
    BOT,
    CHANNEL,
    GUILD,
    OTHER_CHANNEL,
    OTHER_GUILD,
    ROLE,
    THREAD,
)

_HERE = Target("discord", str(CHANNEL))
_LISTED = {"guilds": [str(GUILD)], "approvers": [f"role:{ROLE}", "42"], "senders": ["role:5"]}
_HELD = frozenset({f"role:{ROLE}"})


async def test_a_press_carries_the_roles_that_the_settings_name(
    server: DiscordServer, inbox: RecordingInbox
) -> None:
    """A role that was just given counts, a removed one does not, others never do."""
    server.state.roles[ANA] = {ROLE, 99}
    channel = channel_for(server, **_LISTED)
    await channel.start(inbox)
    message = int(await channel.post(_HERE, build_prompt(approval())))
    await server.press(CHANNEL, message, ANA, "Deny")
    await server.press(CHANNEL, message, EVE, "Deny")
    await inbox.take(2)
    server.state.roles[ANA] = set()
    await server.press(CHANNEL, message, ANA, "Deny")
    await inbox.take(3)
    await channel.stop()

    assert [one.actor.groups for one in inbox.got] == [_HELD, frozenset(), frozenset()]


async def test_words_and_commands_carry_them_too(
    server: DiscordServer, inbox: RecordingInbox
) -> None:
    """A mention and a slash command are of the same person as a press."""
    server.state.roles[ANA] = {ROLE, 5}
    channel = channel_for(server, **_LISTED)
    await channel.start(inbox)
    await server.say(CHANNEL, ANA, f"<@{BOT}> approve 7K3F9Q deny")
    await inbox.take()
    await server.slash(CHANNEL, ANA, "pending")
    said, typed = await inbox.take(2)
    await channel.stop()

    assert said.actor.groups == typed.actor.groups == _HELD | {"role:5"}


@pytest.mark.parametrize("place", ["direct", "other server"])
async def test_elsewhere_nobody_has_a_role(
    server: DiscordServer, inbox: RecordingInbox, place: str
) -> None:
    """Direct messages have no roles, and those of a server that is not listed do not count."""
    server.state.roles[ANA] = {ROLE}
    channel = channel_for(server, **_LISTED)
    await channel.start(inbox)
    direct = place == "direct"
    target = Target("discord", f"user:{ANA}" if direct else str(OTHER_CHANNEL))
    message = int(await channel.post(target, build_prompt(approval())))
    pressed = server.state.direct[ANA] if direct else OTHER_CHANNEL
    await server.press(pressed, message, ANA, "Deny")
    (inbound,) = await inbox.take()
    await channel.stop()

    assert inbound.actor.groups == frozenset()
    assert OTHER_GUILD in server.state.guilds


async def test_a_session_of_another_process_knows_roles_and_threads(
    server: DiscordServer, inbox: RecordingInbox, tmp_path: Path
) -> None:
    """After a restart that resumes, no server was announced: the events alone must suffice."""
    server.state.roles[ANA] = {ROLE}
    path = tmp_path / "discord-session.json"
    thread = Target("discord", str(CHANNEL), thread=str(THREAD))
    before = channel_for(server, path, **_LISTED)
    await before.start(inbox)
    message = int(await before.post(thread, build_prompt(approval())))
    await before.stop()
    await server.press(THREAD, message, ANA, "Deny")
    await server.say(THREAD, ANA, "yes", reply_to=message)

    after = channel_for(server, path, **_LISTED)
    await after.start(inbox)
    got = await inbox.take(2)
    await after.stop()

    assert server.gateway.identifies == 1
    assert [one.actor.groups for one in got] == [_HELD, _HELD]
    assert [one.place for one in got] == [thread, thread]
