"""Keep the contract on Slack, with the real slack-bolt, over a socket and over HTTP."""

from collections.abc import AsyncIterator

import pytest

from channels.cards.build import build_prompt
from channels.commands import Approve
from core.model.approval import ApprovalReply
from tests.channels.slack.workspace import ANA, CHANNEL, SlackWorkspace, channel_for
from tests.contracts.channel import ChannelContract
from tests.contracts.channel_examples import approval
from tests.contracts.channel_setup import ChannelSetup, RecordingInbox
from tests.contracts.node_notices import NodeNoticeContract
from tests.emulators.slack import SlackServer
from tests.support.ports import free_port


class SlackContract(ChannelContract):
    """The contract, with what only Slack does differently."""

    async def test_answers_given_while_stopped_count_after_a_restart(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """Slack fails a press that no one takes, and says so; it sends a typed answer again."""
        assert isinstance(setup, SlackWorkspace)
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.channel.stop()
        press = await setup.press(message, ApprovalReply.DENY)
        (typed,) = await setup.server.people.say(CHANNEL, ANA, "approve 7K3F9Q deny")
        assert press.failed
        assert inbox.got == []

        await setup.channel.start(inbox)
        (inbound,) = await inbox.take()

        assert inbound.command == Approve("7k3f9q", ApprovalReply.DENY)
        await setup.server.until(lambda: typed.acked)
        await setup.channel.stop()


class TestSocketMode(SlackContract):
    """The contract, over a socket."""


class TestHttpMode(SlackContract):
    """The contract, over signed requests."""

    @pytest.fixture
    async def setup(self, server: SlackServer) -> AsyncIterator[SlackWorkspace]:
        """Yield an app that listens, and a workspace that knows its address."""
        port = free_port()
        server.delivery.request_url = f"http://127.0.0.1:{port}/slack/events"
        made = SlackWorkspace(server, channel_for(server, mode="http", listen=f"127.0.0.1:{port}"))
        yield made
        await made.channel.stop()


class TestSlackNodeNotices(NodeNoticeContract):
    """A node that asks to be paired, in Slack."""
