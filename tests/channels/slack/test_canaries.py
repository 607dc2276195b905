"""No secret that stands in a command, a folder, a name or a note reaches Slack."""

import asyncio

from channels.cards import NoticeCard, build_outcome, build_prompt
from channels.slack.channel import SlackChannel
from core.approvals.rendering import redact
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.identity import Actor, Target
from tests.channels.slack.world import channel_for
from tests.contracts.channel_examples import approval, plan, resolved
from tests.contracts.channel_world import RecordingInbox
from tests.core.approvals.canaries import CANARIES, Canary
from tests.emulators.slack import SlackServer
from tests.emulators.slack_state import Place


def everywhere(canary: Canary, size: int) -> Approval:
    """Return an approval that carries a secret in each field that others can fill."""
    text = canary.text + " " * 20 + "x" * size
    by = Actor("slack", "U0ANA0001", canary.text)
    ended = resolved(ApprovalState.DENIED, ApprovalReply.DENY, by=by, note=canary.text)
    of = plan(text=text, cwd=f"/srv/{canary.text}", agent=canary.text, env=(canary.text,))
    return approval(of, why=canary.text, promise=(canary.text,), resolution=ended)


async def show(server: SlackServer, channel: SlackChannel, canary: Canary) -> None:
    """Show a prompt, its end and a notice in a channel of their own."""
    number = CANARIES.index(canary)
    place = f"C0CANARY{number}"
    server.state.places[place] = Place(place, {server.state.bot_user})
    target, of = Target("slack", place), everywhere(canary, (10, 9_000)[number % 2])
    message = await channel.post(target, build_prompt(of))
    await channel.update(target, message, build_outcome(of))
    await channel.notify(target, NoticeCard(redact(canary.text)))


async def test_slack_leaks_nothing(server: SlackServer, inbox: RecordingInbox) -> None:
    """All that the server was ever sent: short prompts, long ones, notices and edits."""
    channel = channel_for(server)
    await channel.start(inbox)
    await asyncio.gather(*(show(server, channel, one) for one in CANARIES))
    await channel.stop()

    sent = repr([call.arguments for call in server.calls])
    assert server.count("chat.postMessage") > 2 * len(CANARIES)
    assert [secret for canary in CANARIES for secret in canary.secrets if secret in sent] == []
    assert "[secret: " in sent
