"""Accept only Slack's signed requests, only fresh ones, and count each once."""

import json
import logging
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest

from channels.slack.channel import SlackChannel
from tests.channels.slack.workspace import ANA, CHANNEL, channel_for
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.slack import SlackServer
from tests.emulators.slack_delivery import signature

BODY = json.dumps(
    {
        "type": "event_callback",
        "team_id": "T0TEAM001",
        "event": {
            "type": "message",
            "channel": CHANNEL,
            "user": ANA,
            "ts": "1.000001",
            "text": "approve 7K3F9Q allow-once",
        },
    }
)


@pytest.fixture
async def address(server: SlackServer, inbox: RecordingInbox) -> AsyncIterator[str]:
    """Yield the address of a channel that listens."""
    channel = channel_for(server, mode="http", listen="127.0.0.1:0")
    await channel.start(inbox)
    yield f"http://127.0.0.1:{port_of(channel)}/slack/events"
    await channel.stop()


def port_of(channel: SlackChannel) -> int:
    """Return the port that a channel took."""
    assert channel._connection is not None
    port: int = getattr(channel._connection._transport, "port", 0)
    return port


async def send(address: str, secret: str, age: int = 0, body: str = BODY) -> int:
    """Send a request, signed with a secret, some seconds old; return the status."""
    stamp = str(int(time.time()) - age)
    headers = {
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": signature(secret, stamp, body),
    }
    async with (
        aiohttp.ClientSession() as session,
        session.post(address, data=body, headers=headers) as answer,
    ):
        return answer.status


async def test_a_signed_request_counts_once(
    server: SlackServer, inbox: RecordingInbox, address: str
) -> None:
    """The right signature is accepted; the same request again changes nothing."""
    assert await send(address, server.state.signing_secret) == 200
    assert await send(address, server.state.signing_secret) == 200
    assert len(inbox.got) == 1


@pytest.mark.parametrize(
    ("secret", "age"), [("0" * 32, 0), ("", 0), (None, 600)], ids=["wrong", "empty", "old"]
)
async def test_a_forged_or_old_request_is_refused(
    server: SlackServer, inbox: RecordingInbox, address: str, secret: str | None, age: int
) -> None:
    """A wrong signature and a replay after ten minutes are answered with 401."""
    key = server.state.signing_secret if secret is None else secret
    assert await send(address, key, age) == 401
    assert inbox.got == []


async def test_a_badly_signed_post_is_logged_in_short(
    inbox: RecordingInbox, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A stranger's 900 kB leave a line in the log, and not themselves."""
    caplog.set_level(logging.DEBUG)
    assert await send(address, "0" * 32, body=json.dumps({"x": "x" * 900_000})) == 401
    assert await send(address, "0" * 32, body="x" * 900_000) == 400
    assert await send(address, "0" * 32, body='{"x": ' + "[" * 100_000) == 400

    assert "Invalid request signature" in caplog.text
    assert "Traceback" not in caplog.text
    assert len(caplog.text) < 5_000
    assert inbox.got == []


async def test_an_unsigned_request_is_refused(inbox: RecordingInbox, address: str) -> None:
    """Without any signature there is no way in."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(address, data=BODY, headers={"Content-Type": "application/json"}) as answer,
    ):
        assert answer.status == 401
    assert inbox.got == []


async def test_a_changed_body_is_refused(
    server: SlackServer, inbox: RecordingInbox, address: str
) -> None:
    """The signature of one body does not cover another."""
    stamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": signature(server.state.signing_secret, stamp, BODY),
    }
    async with (
        aiohttp.ClientSession() as session,
        session.post(address, data=BODY.replace("once", "always"), headers=headers) as answer,
    ):
        assert answer.status == 401
    assert inbox.got == []


async def test_slacks_check_of_the_address_is_answered(server: SlackServer, address: str) -> None:
    """``url_verification`` is echoed, so that the address can be saved at Slack."""
    body = json.dumps({"type": "url_verification", "challenge": "c0ffee"})
    assert await send(address, server.state.signing_secret, body=body) == 200


async def test_an_address_in_use_shows_in_health(
    server: SlackServer, inbox: RecordingInbox
) -> None:
    """Health names the key and the address."""
    channel = channel_for(server, mode="http", listen=f"127.0.0.1:{server.port}")
    await channel.start(inbox)
    health = await channel.check()
    await channel.stop()

    assert not health.ok
    assert f"channels.slack.listen: cannot listen on 127.0.0.1:{server.port}: " in health.detail
