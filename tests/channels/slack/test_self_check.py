"""Try tokens, scopes and approvers in ``prove``, say what to do, and send nothing."""

import pytest

from channels.base import Proof, Provable
from tests.channels.slack.workspace import ANA, BOB, channel_for
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack import SlackServer

LEADS = "group:S0LEADS01"


async def proofs(server: SlackServer, *people: str, **more: object) -> dict[str, Proof]:
    """Return what a channel that was never started proves, by subject."""
    channel = channel_for(server, **more)
    assert isinstance(channel, Provable)
    return {proof.subject: proof for proof in await channel.prove(people)}


async def test_a_good_setup_is_proven(server: SlackServer) -> None:
    """Every subject is fine, and nothing was sent or connected."""
    found = await proofs(server, ANA, LEADS, "person:ana")

    assert list(found) == ["botToken", "appToken", "scopes", ANA, LEADS]
    assert all(proof.ok for proof in found.values())
    assert found["botToken"].detail == "Slack knows it as @sayso"
    assert found[LEADS].detail == "a user group; members now: 1"
    assert server.delivery.sockets == []
    assert server.count("chat.postMessage") == 0


async def test_signed_requests_need_no_app_token(server: SlackServer) -> None:
    """In mode http no socket is needed."""
    assert "appToken" not in await proofs(server, mode="http")


@pytest.mark.parametrize(
    ("token", "wrong"),
    [("botToken", "xoxb-9-canaryOfABotToken"), ("appToken", "xapp-9-canaryOfAnAppToken")],
)
async def test_a_refused_token_is_named_and_not_repeated(
    server: SlackServer, token: str, wrong: str
) -> None:
    """The words say where the right one is."""
    found = await proofs(server, ANA, **{token: wrong})

    assert [one for one, proof in found.items() if not proof.ok] == [token]
    assert "Get the current one from the app's pages" in found[token].detail
    assert "canary" not in repr(found)
    assert (ANA in found) == (token == "appToken")


async def test_a_missing_scope_is_told_with_what_is_lost(server: SlackServer) -> None:
    """What narrower rights leave out is not a fault; what an approver needs is one."""
    server.state.scopes -= {"im:write", "usergroups:read"}
    found = await proofs(server, ANA)
    assert not found["scope im:write"].ok
    assert not found["scope im:write"].serious
    assert "no prompt can be sent to a member" in found["scope im:write"].detail
    assert not found["scope usergroups:read"].serious

    named = await proofs(server, LEADS)
    assert not named["scope usergroups:read"].ok
    assert named["scope usergroups:read"].serious
    assert "install the app again" in named["scope usergroups:read"].detail
    assert not named[LEADS].ok

    server.state.scopes.discard("chat:write")
    assert (await proofs(server))["scope chat:write"].serious


async def test_each_approver_that_cannot_answer_is_told(server: SlackServer) -> None:
    """Unknown, deactivated, a bot; a group that is unknown or empty."""
    server.state.deactivated.add(BOB)
    server.state.user_groups["S0EMPTY01"] = set()
    refused = {
        "U0NOBODY1": "user_not_found",
        BOB: "This account is deactivated",
        server.state.bot_user: "This account is a bot",
        "group:S0GONE001": "no_such_subteam",
        "group:S0EMPTY01": "has no members now",
    }
    found = await proofs(server, *refused)

    for reference, words in refused.items():
        assert not found[reference].ok
        assert words in found[reference].detail


async def test_members_that_may_not_be_read_are_not_called_proven(server: SlackServer) -> None:
    """Without users:read Slack reveals nothing about them."""
    server.state.scopes.discard("users:read")
    found = await proofs(server, ANA)

    assert not found["scope users:read"].serious
    assert not found[ANA].ok
    assert "needed: users:read" in found[ANA].detail


async def test_an_outage_is_a_proof_that_failed(server: SlackServer) -> None:
    """A refusal by status, then a place without a listener."""
    server.faults.add(Fault(FaultKind.STATUS, "auth.test", 503))
    failed = await proofs(server)
    assert not failed["botToken"].ok
    away = await proofs(server, apiBaseUrl="http://127.0.0.1:9/api/")

    assert [proof.ok for proof in away.values()] == [False, False]
    assert "cannot be reached" in away["botToken"].detail
