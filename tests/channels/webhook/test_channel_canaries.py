"""Post no fake secret of any shape to a webhook."""

from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from core.model.identity import Target
from core.text.render import redact
from tests.channels.canary_checks import everywhere, leaks
from tests.channels.webhook.desk import channel_for
from tests.contracts.channel_setup import RecordingInbox
from tests.core.text.canaries import CANARIES
from tests.emulators.webhook import WebhookService


async def test_the_service_is_sent_no_secret() -> None:
    """Everything that was ever posted: prompts, outcomes, notices."""
    place = Target("webhook", "desk")
    async with WebhookService() as service:
        channel = channel_for(service)
        await channel.start(RecordingInbox())
        for canary in CANARIES:
            of = everywhere(canary, 10)
            message = await channel.post(place, build_prompt(of))
            await channel.update(place, message, build_outcome(of))
            await channel.notify(place, NoticeCard(redact(canary.text)))
        await channel.stop()
        posted = repr(service.posts)

    assert 3 * len(CANARIES) == len(service.posts)
    assert [] == [secret for canary in CANARIES for secret in leaks(canary, posted)]
    assert "[secret: " in posted
