"""Send no secret in a command, a folder, a name or a note to Slack."""

import asyncio

from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from channels.slack.channel import SlackChannel
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.identity import Actor, Target
from core.text.render import redact
from tests.channels.slack.workspace import channel_for
from tests.contracts.channel_examples import approval, plan, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.core.text.canaries import CANARIES, Canary
from tests.emulators.slack import SlackServer
from tests.emulators.slack_state import Place

_BATCH = 5


def everywhere(canary: Canary, size: int) -> Approval:
    """Return an approval that carries a secret in each field that others can fill."""
    text = canary.text + " " * 20 + "x" * size
    by = Actor("slack", "U0ANA0001", canary.text)
    ended = resolved(ApprovalState.DENIED, ApprovalReply.DENY, by=by, note=canary.text)
    of = plan(text=text, cwd=f"/srv/{canary.text}", agent=canary.text, env=(canary.text,))
    return approval(of, why=canary.text, promise=(canary.text,), resolution=ended)


async def show(server: SlackServer, channel: SlackChannel, canary: Canary) -> None:
    """Show a prompt, a group, their end and a notice in a new channel."""
    number = CANARIES.index(canary)
    place = f"C0CANARY{number}"
    server.state.places[place] = Place(place, {server.state.bot_user})
    target, of = Target("slack", place), everywhere(canary, (10, 9_000)[number % 2])
    message = await channel.post(target, build_prompt(of))
    await channel.update(target, message, build_outcome(of))
    group = await channel.post_group(target, (build_prompt(of),))
    await channel.update_group(target, group, (build_prompt(of), build_outcome(of)))
    await channel.open_thread(target, redact(canary.text))
    await channel.notify(target, NoticeCard(redact(canary.text)))


async def sent(canaries: tuple[Canary, ...], inbox: RecordingInbox) -> str:
    """Return everything that a new workspace was ever sent."""
    async with SlackServer() as server:
        channel = channel_for(server)
        await channel.start(inbox)
        await asyncio.gather(*(show(server, channel, one) for one in canaries))
        await channel.stop()
        return repr([call.arguments for call in server.calls])


async def test_slack_leaks_nothing(inbox: RecordingInbox) -> None:
    """Short prompts, long ones, groups, threads, notices and edits; five to a workspace's rate."""
    batches = [CANARIES[at : at + _BATCH] for at in range(0, len(CANARIES), _BATCH)]
    everything = "".join(await asyncio.gather(*(sent(tuple(one), inbox) for one in batches)))

    assert everything.count("sayso_prompt") > 2 * len(CANARIES)
    assert [s for canary in CANARIES for s in canary.secrets if s in everything] == []
    assert "[secret: " in everything
