"""Send no fake secret of any shape to Discord, and keep the token out of every log."""

import logging

import pytest

from channels.base import Groups, Threads
from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.identity import Actor, Target
from core.text.render import redact
from tests.channels.discord.guild import DiscordGuild
from tests.contracts.channel_examples import approval, plan, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.core.text.canaries import CANARIES, Canary
from tests.emulators.discord_objects import CHANNEL


def _everywhere(canary: Canary, size: int) -> Approval:
    """Return an approval that carries a secret in each field that others can fill."""
    text = canary.text + " " * 20 + "x" * size
    by = Actor("discord", "42", canary.text)
    ended = resolved(ApprovalState.DENIED, ApprovalReply.DENY, by=by, note=canary.text)
    of = plan(text=text, cwd=f"/srv/{canary.text}", agent=canary.text, env=(canary.text,))
    return approval(of, why=canary.text, promise=(canary.text,), resolution=ended)


async def test_discord_is_sent_no_secret_and_no_log_has_the_token(
    setup: DiscordGuild, inbox: RecordingInbox, caplog: pytest.LogCaptureFixture
) -> None:
    """Prompts of each size, files, edits, groups, threads, notices; every logger at its loudest."""
    caplog.set_level(logging.DEBUG)
    assert isinstance(setup.channel, Groups)
    assert isinstance(setup.channel, Threads)
    await setup.channel.start(inbox)
    groups = 0
    for number, canary in enumerate(CANARIES):
        setup.server.state.nonces.clear()
        of = _everywhere(canary, (10, 3_000, 9_000)[number % 3])
        card = build_prompt(of)
        message = await setup.channel.post(setup.target, card)
        await setup.channel.update(setup.target, message, build_outcome(of))
        await setup.channel.notify(Target("discord", str(CHANNEL)), NoticeCard(redact(canary.text)))
        if setup.channel.fits((card,)):
            groups += 1
            message = await setup.channel.post_group(setup.target, (card,))
            await setup.channel.update_group(setup.target, message, (build_outcome(of),))
        await setup.channel.open_thread(setup.target, redact(canary.text))
    await setup.channel.stop()

    files = [one["attachments"] for one in setup.server.messages(CHANNEL)]
    sent = repr([call.body for call in setup.server.calls]) + repr(files)
    assert sum(bool(kept) for kept in files) > 5
    assert groups > 5
    for canary in CANARIES:
        assert [secret for secret in canary.secrets if secret in sent + caplog.text] == []
    assert setup.server.state.token not in caplog.text


def test_the_checker_sees_a_leak() -> None:
    """Negative control: without the mask each canary would be found."""
    assert all(secret in repr(canary.text) for canary in CANARIES for secret in canary.secrets)
