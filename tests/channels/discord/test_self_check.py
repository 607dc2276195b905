"""Prove with ``sayso doctor channels`` what works on Discord, without a gateway connection."""

import pytest

from channels.base import Proof, Provable
from tests.channels.discord.guild import ANA, channel_for
from tests.emulators import discord_state as state
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_objects import BOT, GUILD, ROLE, person, roles_of
from tests.emulators.faults import Fault, FaultKind


async def _proofs(server: DiscordServer, *people: str, **settings: object) -> dict[str, Proof]:
    channel = channel_for(server, **settings)
    assert isinstance(channel, Provable)
    return {proof.subject: proof for proof in await channel.prove(people)}


async def test_a_good_set_up_is_proven_without_being_seen(server: DiscordServer) -> None:
    """Token, endpoint, intent, server, person and role are right; nothing is sent or connected."""
    people = (str(ANA), f"role:{ROLE}", "person:ana")
    proofs = await _proofs(server, *people, guilds=[str(GUILD)])

    assert all(proof.ok for proof in proofs.values())
    assert [*proofs] == [
        *("token", "endpoint", "Message Content intent", f"server {GUILD}", str(ANA)),
        f"role:{ROLE}",
    ]
    assert "sayso" in proofs["token"].detail
    assert proofs[f"role:{ROLE}"].detail == "deployers in Operations"
    assert server.gateway.identifies == server.count("createMessage") == 0


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("endpoint", "Clear it in the Developer Portal"),
        ("Message Content intent", "messageContent to false"),
        ("server 5", "invite the bot"),
        ("404", "no such user exists"),
        (str(BOT), "is a bot"),
        ("ana", "Copy ID"),
        ("role:6", "not a role of a server in channels.discord.guilds"),
    ],
)
async def test_what_is_wrong_is_told_with_what_to_do(
    server: DiscordServer, subject: str, words: str
) -> None:
    """Each fault is its own failed proof; the others are still tried."""
    server.state.endpoint = "https://elsewhere.example"
    server.state.nobody.add(404)
    people = (str(ANA), "404", str(BOT), "ana", "role:6")
    proofs = await _proofs(server, *people, guilds=["5"], messageContent=True)

    assert not proofs[subject].ok
    assert words in proofs[subject].detail
    assert proofs[str(ANA)].ok


async def test_no_name_passes_for_another(
    server: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server, a role and a person are named so that letters of another script are seen."""
    known, roles = server.state.guild, roles_of
    monkeypatch.setattr(
        state, "person", lambda one: person(one) | {"global_name": "\u0410\u043d\u044f"}
    )
    monkeypatch.setattr(
        state, "roles_of", lambda one: [{**role, "name": "\u0438\u0442"} for role in roles(one)]
    )
    monkeypatch.setattr(
        type(server.state), "guild", lambda _, one: {**known(one), "name": "\u0434\u0436"}
    )
    proofs = await _proofs(server, str(ANA), f"role:{ROLE}", guilds=[str(GUILD)])

    assert proofs[str(ANA)].detail == "\\u{0410}\\u{043D}\\u{044F}"
    assert proofs[f"server {GUILD}"].detail == "\\u{0434}\\u{0436}"
    assert proofs[f"role:{ROLE}"].detail == "\\u{0438}\\u{0442} in \\u{0434}\\u{0436}"


async def test_a_granted_intent_is_proven(server: DiscordServer) -> None:
    """The application's flags say whether the portal's switch is on."""
    server.state.privileged = True
    proofs = await _proofs(server, messageContent=True)

    assert proofs["Message Content intent"] == Proof("Message Content intent", True, "granted")


async def test_a_wrong_token_ends_it(server: DiscordServer) -> None:
    """Without a token nothing else can be tried, and the token is not named."""
    token = "NzAwMDAwMDAwMDAwMDAwMDAx.GwronG.a-token-that-nobody-may-ever-see-0001"
    proofs = await _proofs(server, str(ANA), token=token)

    (proof,) = proofs.values()
    assert not proof.ok
    assert "rejected the bot token" in proof.detail
    assert "nobody-may-ever-see" not in proof.detail


async def test_an_outage_is_a_failed_proof_and_no_exception(server: DiscordServer) -> None:
    """A look-up that Discord does not answer fails alone; without Discord the token does."""
    server.faults.add(Fault(FaultKind.STATUS, "getUser", 503))
    proofs = await _proofs(server, str(ANA), "43")
    assert not proofs[str(ANA)].ok
    assert proofs["43"].ok

    async with DiscordServer() as gone:
        pass
    proofs = await _proofs(gone)
    assert "cannot be reached" in proofs["token"].detail
