"""Prove the set-up by asking Telegram, and send nothing."""

import pytest

from channels.base import Proof, Provable
from channels.telegram.channel import TelegramChannel
from tests.channels.telegram.bot_and_user import ANA, SECRET, channel_for, webhook_channel_for
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.telegram import TelegramServer
from tests.emulators.telegram_state import Webhook


async def _proofs(channel: TelegramChannel, *people: str) -> dict[str, Proof]:
    assert isinstance(channel, Provable)
    return {proof.subject: proof for proof in await channel.prove(people)}


async def test_a_set_up_that_works_is_proved(server: TelegramServer) -> None:
    """Token, updates, groups and each person; Telegram cannot know a name of the directory."""
    proofs = await _proofs(channel_for(server), str(ANA), "person:ana")

    assert ["token", "groups", "updates", f"approver {ANA}"] == list(proofs)
    assert all(proof.ok for proof in proofs.values())
    assert "is @sayso_test_bot's" == proofs["token"].detail
    assert "come in by polling; 0 waiting at Telegram" == proofs["updates"].detail
    assert "privacy mode" in proofs["groups"].detail
    assert {"getMe", "getWebhookInfo", "getChat"} == {call.method for call in server.calls}


async def test_a_running_channel_can_be_proved_beside_it(
    server: TelegramServer, inbox: RecordingInbox
) -> None:
    """The proof disturbs neither polls nor a webhook."""
    channel = webhook_channel_for(server)
    before = (await _proofs(channel))["updates"]
    await channel.start(inbox)
    during = (await _proofs(channel))["updates"]
    await channel.stop()

    assert (False, True) == (before.ok, during.ok)
    assert "webhook.url is not registered at Telegram" in before.detail


@pytest.mark.parametrize(
    ("account", "words"),
    [("404", "press Start"), (str(403), "press Start"), ("405", "Telegram cannot be reached")],
)
async def test_a_person_that_cannot_be_asked_is_named(
    server: TelegramServer, account: str, words: str
) -> None:
    """Unknown ids and people who blocked the bot say what to do; others are still proved."""
    server.state.missing.add(404)
    server.state.blocked.add(403)
    if account == "405":
        server.faults.add(Fault(FaultKind.STATUS, "getChat", 502))
    proofs = await _proofs(channel_for(server), account, str(ANA))

    proof = proofs[f"approver {account}"]
    assert not proof.ok
    assert words in proof.detail
    assert proofs[f"approver {ANA}"].ok


async def test_a_group_is_no_person(server: TelegramServer) -> None:
    """A group's id in the list of approvers is an error of its own."""
    server.state.kinds[77] = "supergroup"
    proof = (await _proofs(channel_for(server), "77"))["approver 77"]

    assert (False, "is a supergroup, not a person; list user ids") == (proof.ok, proof.detail)


async def test_a_wrong_token_ends_the_proof(server: TelegramServer) -> None:
    """Without a token nothing else can be tried, and the token is not repeated."""
    (proof,) = (await _proofs(channel_for(server, "1:AAwrong"), str(ANA))).values()

    assert not proof.ok
    assert "rejected the bot token" in proof.detail
    assert "AAwrong" not in proof.detail


async def test_an_outage_is_a_proof_that_failed() -> None:
    """No exception, and words that say what is wrong."""
    async with TelegramServer() as server:
        channel = channel_for(server)
    (proof,) = (await _proofs(channel)).values()

    assert not proof.ok
    assert "cannot be reached" in proof.detail


async def test_a_webhook_in_polling_mode_and_failing_deliveries_are_told(
    server: TelegramServer,
) -> None:
    """What takes the answers away, and what Telegram says about ours."""
    server.state.webhook = Webhook("https://other.example/", SECRET)
    elsewhere = (await _proofs(channel_for(server)))["updates"]
    assert (False, True) == (elsewhere.ok, elsewhere.detail.startswith("go to a webhook"))

    channel = webhook_channel_for(server)
    url = channel._settings.webhook.url if channel._settings.webhook else ""
    server.state.webhook = Webhook(url, SECRET)
    await server.say(ANA, ANA, "/pending")
    await server.until(lambda: bool(server.state.webhook.error))
    failing = (await _proofs(channel))["updates"]
    assert not failing.ok
    assert "cannot deliver to webhook.url: Connection refused" in failing.detail
