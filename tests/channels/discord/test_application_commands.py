"""Register application commands once, and read them as they would be typed."""

import pytest

from channels.commands import (
    SLASH_COMMANDS,
    Approve,
    Command,
    Elevated,
    Help,
    HistoryList,
    Malformed,
    Pair,
    PendingList,
    RunLine,
    SetExec,
    Stop,
    Tail,
)
from core.model.approval import HALF_HOUR, ApprovalReply
from core.model.command import ExecOverrides
from core.model.identity import Actor
from core.model.policy import Elevation, ExecAsk, ExecHost, ExecSecurity
from tests.channels.discord.guild import ANA, DiscordGuild
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord_objects import CHANNEL

_ALWAYS_30M = Approve("7k3f9q", ApprovalReply.ALLOW_ALWAYS, terms=HALF_HOUR)


class TestSlash:
    """Sent from the menu that a slash opens."""

    @pytest.mark.parametrize("reply", list(ApprovalReply))
    async def test_approve_takes_an_id_and_a_decision(
        self, setup: DiscordGuild, inbox: RecordingInbox, reply: ApprovalReply
    ) -> None:
        """``/approve`` arrives as typed text would, and is answered in private."""
        await setup.channel.start(inbox)
        sent = await setup.server.slash(CHANNEL, ANA, "approve", id="7K3F9Q", decision=reply)

        (inbound,) = await inbox.take()
        await setup.sees("Allowed once: 7K3F9Q.")

        assert inbound.command == Approve("7k3f9q", reply)
        assert inbound.actor == Actor("discord", str(ANA), f"Person {ANA}")
        assert sent.ephemeral

    async def test_a_denial_takes_a_reason(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """The note reaches the agent."""
        await setup.channel.start(inbox)
        options = {"id": "7K3F9Q", "decision": "deny", "note": "use staging"}
        await setup.server.slash(CHANNEL, ANA, "approve", **options)

        (inbound,) = await inbox.take()

        assert inbound.command == Approve("7k3f9q", ApprovalReply.DENY, "use staging")

    @pytest.mark.parametrize(
        ("name", "options", "command"),
        [
            ("approve", {"id": "7K3F9Q", "decision": "30m"}, _ALWAYS_30M),
            ("history", {}, HistoryList()),
            ("history", {"count": "5"}, HistoryList(5)),
            ("run", {"command": "ls -l  'a b'"}, RunLine("ls -l  'a b'")),
            ("tail", {"id": "7K3F9Q"}, Tail("7k3f9q")),
            ("stop", {"id": "7K3F9Q"}, Stop("7k3f9q")),
            ("exec", {}, SetExec(ExecOverrides())),
            (
                "exec",
                {"node": "build-1", "host": "node", "ask": "always"},
                SetExec(ExecOverrides(host=ExecHost.NODE, ask=ExecAsk.ALWAYS, node="build-1")),
            ),
            (
                "exec",
                {"security": "allowlist"},
                SetExec(ExecOverrides(security=ExecSecurity.ALLOWLIST)),
            ),
            ("elevated", {"mode": "off"}, Elevated(Elevation.OFF)),
            ("pair", {"code": "7k3f9q01"}, Pair("7k3f9q01")),
            ("help", {}, Help()),
        ],
    )
    async def test_each_command_arrives_as_it_would_be_typed(
        self,
        setup: DiscordGuild,
        inbox: RecordingInbox,
        name: str,
        options: dict[str, str],
        command: Command,
    ) -> None:
        """Fields become words in the order of the grammar, whatever order they were filled in."""
        await setup.channel.start(inbox)
        sent = await setup.server.slash(CHANNEL, ANA, name, **options)

        (inbound,) = await inbox.take()
        await setup.server.until(lambda: sent.answered)

        assert command == inbound.command
        assert sent.ephemeral

    async def test_a_command_of_another_version_is_told(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """What Discord still lists and this version does not know decides nothing."""
        await setup.channel.start(inbox)
        data = {"id": "1", "name": "allow", "type": 1, "options": []}
        sent = await setup.server.interact(CHANNEL, ANA, 2, {"data": data})
        await setup.server.until(lambda: bool(sent.notes))

        assert isinstance(inbox.got[0].command, Malformed)
        assert "Not understood" in sent.notes[0]

    async def test_pending_lists(self, setup: DiscordGuild, inbox: RecordingInbox) -> None:
        """``/pending`` asks for the list."""
        await setup.channel.start(inbox)
        await setup.server.slash(CHANNEL, ANA, "pending")

        (inbound,) = await inbox.take()

        assert inbound.command == PendingList()

    async def test_commands_are_registered_only_where_they_changed(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """A second start finds its commands and leaves them alone."""
        await setup.channel.start(inbox)
        await setup.channel.stop()
        await setup.channel.start(inbox)

        assert setup.server.count("putCommands") == 1
        names = [one["name"] for one in setup.server.state.commands]
        assert names == [command.name for command in SLASH_COMMANDS]
        setup.server.state.commands[0]["description"] = "of an older version"
        await setup.channel.stop()
        await setup.channel.start(inbox)
        assert setup.server.count("putCommands") == 2
