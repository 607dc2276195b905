"""Do without what Slack leaves out of its first answers, or name it."""

import logging

import pytest

from channels.base import Provable
from tests.channels.slack.workspace import ANA, channel_for
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.slack import SlackServer


@pytest.mark.parametrize("absent", ["bot_id", "user", "team_id", "team", "url"])
async def test_an_answer_about_us_may_leave_things_out(
    server: SlackServer, inbox: RecordingInbox, absent: str
) -> None:
    """Only the bot's own id is needed."""
    server.alterations.dropped = ("auth.test", absent)
    channel = channel_for(server)
    await channel.start(inbox)
    health = await channel.check()
    await channel.stop()

    assert server.alterations.hits
    assert health.ok, health.detail


async def test_an_answer_without_the_bots_id_is_told(
    server: SlackServer, inbox: RecordingInbox
) -> None:
    """Negative control: without that one the bot's own messages could not be told apart."""
    server.alterations.dropped = ("auth.test", "user_id")
    channel = channel_for(server)
    await channel.start(inbox)
    health = await channel.check()
    await channel.stop()

    assert not health.ok
    assert "user_id" in health.detail


@pytest.mark.parametrize("header", ["", "chat:write,commands"])
async def test_scopes_that_are_not_named_are_not_called_missing(
    server: SlackServer, caplog: pytest.LogCaptureFixture, header: str
) -> None:
    """A proxy may remove the header; then nothing is known of the scopes."""
    caplog.set_level(logging.INFO)
    server.scopes_header = header or None
    channel = channel_for(server)
    assert isinstance(channel, Provable)
    proofs = {one.subject: one for one in await channel.prove((ANA,))}

    if header:
        assert not proofs["scope im:write"].ok
        assert not proofs["scope im:write"].serious
        assert "scopes" not in proofs
    else:
        assert not proofs["scopes"].ok
        assert not proofs["scopes"].serious
        assert "did not say" in proofs["scopes"].detail
