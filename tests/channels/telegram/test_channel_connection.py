"""Tell a refused token from an unknown address; let an unreadable update delay nothing."""

import asyncio

import pytest

from tests.channels.telegram.bot_and_user import ANA, channel_for
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.telegram import TelegramServer


async def test_a_refused_token_is_still_told_as_such(
    server: TelegramServer, inbox: RecordingInbox
) -> None:
    """Negative control: 401 is a refused token, and 404 is not."""
    server.faults.lasting = Fault(FaultKind.STATUS, "getMe", 401, words="Unauthorized")
    refused = channel_for(server)
    await refused.start(inbox)
    said = (await refused.check()).detail
    await refused.stop()
    server.faults.lasting = Fault(FaultKind.STATUS, "getMe", 404, words="Not Found")
    unknown = channel_for(server)
    await unknown.start(inbox)
    other = (await unknown.check()).detail
    await unknown.stop()

    assert "rejected the bot token" in said
    assert "answers 404" in other
    assert "apiBaseUrl" in other


@pytest.mark.parametrize("absent", ["message_id", "date", "chat", "chat.id"])
async def test_an_update_that_cannot_be_read_holds_up_no_other(
    server: TelegramServer, inbox: RecordingInbox, caplog: pytest.LogCaptureFixture, absent: str
) -> None:
    """It is confirmed and logged; the next one is accepted."""
    channel = channel_for(server)
    await channel.start(inbox)
    server.alterations.dropped = ("getUpdates", f"result[].message.{absent}")
    await server.say(ANA, ANA, "/pending")
    await server.until(lambda: server.alterations.hits > 0)
    server.alterations.dropped = None
    await server.say(ANA, ANA, "/help")
    await inbox.take()
    polls = server.count("getUpdates")
    await asyncio.sleep(0.5)
    later = server.count("getUpdates")
    await channel.stop()

    assert "could not be read" in caplog.text
    assert later - polls < 5
    assert [] == [one for one in caplog.records if one.exc_info or one.exc_text]
