"""Keep the contract on the webhook channel, and trust nothing that is not signed for it."""

import json
import time
from collections.abc import AsyncIterator

import pytest

from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from channels.webhook.channel import WebhookChannel
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import redact
from tests.channels.webhook.desk import WebhookDesk, channel_for
from tests.contracts.channel import ChannelContract
from tests.contracts.channel_examples import ID, approval, resolved
from tests.contracts.channel_setup import BROKEN_STORE, RecordingInbox
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.webhook import WebhookService, signature
from tests.support.ports import free_port

PLACE = Target("webhook", "desk")
PRESS = {"event": "e", "account": "ana", "to": "desk", "press": f"o:{ID}"}


@pytest.fixture
async def service() -> AsyncIterator[WebhookService]:
    """Run a service."""
    async with WebhookService() as running:
        yield running


@pytest.fixture
async def channel(service: WebhookService, inbox: RecordingInbox) -> AsyncIterator[WebhookChannel]:
    """Run a channel to it."""
    made = channel_for(service)
    await made.start(inbox)
    yield made
    await made.stop()


class TestWebhook(ChannelContract):
    """The contract, over signed HTTP; grouping and threads are up to the service."""

    groups = threads = False

    @pytest.fixture
    async def setup(self, service: WebhookService) -> AsyncIterator[WebhookDesk]:
        """Return Ana at her service."""
        setup = WebhookDesk(service, channel_for(service))
        yield setup
        for retry in setup.retries:
            retry.cancel()


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ({"secret": "another key of thirty-two letters"}, 401),
        ({"way": "out"}, 401),
        ({"after_s": -301}, 401),
        ({"after_s": 400}, 401),
    ],
    ids=["foreign key", "played back", "stale", "from the future"],
)
async def test_what_is_not_signed_for_us_now_changes_nothing(
    service: WebhookService,
    channel: WebhookChannel,
    inbox: RecordingInbox,
    how: dict[str, object],
    status: int,
) -> None:
    """A wrong key, the other direction's signature and an old one are all refused."""
    how = dict(how)
    later = how.pop("after_s", 0)
    assert isinstance(later, int)
    at = int(time.time()) + later
    got, _ = await service.send(json.dumps(PRESS).encode(), at=at, **how)  # type: ignore[arg-type] # a table

    assert status == got
    assert [] == inbox.got
    assert (await channel.check()).ok


async def test_a_changed_body_is_refused(
    service: WebhookService, channel: WebhookChannel, inbox: RecordingInbox
) -> None:
    """A signature over deny does not let an allow in (negative control: unchanged, it does)."""
    body, at = json.dumps(PRESS).encode(), int(time.time())
    changed = body.replace(b"o:", b"a:")
    headers = {
        "X-Sayso-Timestamp": str(at),
        "X-Sayso-Signature": signature("in", str(at), body),
    }
    assert service._session is not None
    async with service._session.post(service.answers_to, data=changed, headers=headers) as response:
        assert 401 == response.status
    assert [] == inbox.got

    assert (200, "ok") == _said(await service.send(body, at=at))
    assert channel.name == inbox.got[0].actor.channel


def _said(answered: tuple[int, dict[str, object]]) -> tuple[int, object]:
    return answered[0], answered[1]["tone"]


async def test_a_replayed_request_is_answered_as_before_and_counts_once(
    service: WebhookService, channel: WebhookChannel, inbox: RecordingInbox
) -> None:
    """The very same request again reaches no one and gets the same answer."""
    body, at = json.dumps(PRESS).encode(), int(time.time())

    first = await service.send(body, at=at)
    second = await service.send(body, at=at)

    assert first == second
    assert 1 == len(inbox.got)
    assert (await channel.check()).ok


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"event": "e", "account": "ana", "to": "desk"}',
        b'{"event": "e", "account": "ana", "to": "desk", "text": "/help", "press": "o:x"}',
        b'{"event": "e", "account": "ana", "to": "desk", "text": "/help", "extra": 1}',
        b'{"event": "", "account": "ana", "to": "desk", "text": "/help"}',
        b'{"event": "e", "account": 7, "to": "desk", "text": "/help"}',
        b'{"event": "e", "account": "ana", "to": "desk", "text": "\xff"}',
    ],
)
async def test_a_body_of_another_shape_is_told_what_is_wrong(
    service: WebhookService, channel: WebhookChannel, inbox: RecordingInbox, body: bytes
) -> None:
    """Signed nonsense gets 400 and the name of the key, and changes nothing."""
    status, told = await service.send(body)

    assert 400 == status
    assert told["error"]
    assert [] == inbox.got
    assert (await channel.check()).ok


async def test_ordinary_talk_is_no_answer(
    service: WebhookService, channel: WebhookChannel, inbox: RecordingInbox
) -> None:
    """Text that is not meant for us gets 422."""
    status, _ = await service.answer(text="shall we have lunch?")

    assert 422 == status
    assert [] == inbox.got
    assert (await channel.check()).ok


async def test_an_answer_that_could_not_be_stored_may_come_again(
    service: WebhookService, channel: WebhookChannel, inbox: RecordingInbox
) -> None:
    """A store that is away gives 503 once, and the same event counts the next time."""
    inbox.failures.append(BROKEN_STORE)

    first, _ = await service.answer(event="same", press=f"o:{ID}")
    second, _ = await service.answer(event="same", press=f"o:{ID}")

    assert (503, 200) == (first, second)
    assert 1 == len(inbox.got)
    assert (await channel.check()).ok


@pytest.mark.parametrize(
    ("fault", "permanent", "wait"),
    [
        (Fault(FaultKind.STATUS, status=500), False, None),
        (Fault(FaultKind.STATUS, status=429, retry_after=7), False, 7000),
        (Fault(FaultKind.STATUS, status=403), True, None),
        (Fault(FaultKind.STATUS, status=302), True, None),
        (Fault(FaultKind.DROP), False, None),
    ],
    ids=str,
)
async def test_each_refusal_says_whether_to_try_again(
    service: WebhookService,
    channel: WebhookChannel,
    fault: Fault,
    permanent: bool,
    wait: int | None,
) -> None:
    """5xx, 429 and a dropped line may be retried, the rest is permanent; health reports it."""
    service.faults.add(fault)

    with pytest.raises(ChannelError) as refused:
        await channel.post(PLACE, build_prompt(approval()))

    assert (permanent, wait) == (refused.value.permanent, refused.value.retry_after_ms)
    assert not (await channel.check()).ok
    await channel.post(PLACE, build_prompt(approval()))
    assert (await channel.check()).ok


async def test_a_repeated_prompt_is_the_same_message(
    service: WebhookService, channel: WebhookChannel
) -> None:
    """A prompt whose first post was perhaps lost does not appear twice."""
    service.faults.add(Fault(FaultKind.LOSE))
    with pytest.raises(ChannelError):
        await channel.post(PLACE, build_prompt(approval()))

    message = await channel.post(PLACE, build_prompt(approval()))

    assert [message] == list(service.messages)


async def test_a_prompt_that_the_service_forgot_needs_no_edit(
    service: WebhookService, channel: WebhookChannel
) -> None:
    """404 to an outcome is not an error, 404 to a notice is."""
    gone = Fault(FaultKind.STATUS, status=404)
    service.faults.add(gone, 2)

    await channel.update(PLACE, "m", build_outcome(approval(resolution=resolved())))
    with pytest.raises(ChannelError):
        await channel.notify(PLACE, NoticeCard(redact("words")))


async def test_an_address_in_use_is_named(service: WebhookService, inbox: RecordingInbox) -> None:
    """A second channel on the same address says which setting to change."""
    first = channel_for(service)
    await first.start(inbox)
    second = WebhookChannel(first.settings)

    with pytest.raises(ChannelError, match=r"channels\.webhook\.listen"):
        await second.start(inbox)
    await second.stop()
    await first.stop()


async def test_a_service_that_is_away_is_named_with_the_reason(
    service: WebhookService, inbox: RecordingInbox
) -> None:
    """The reader knows which address, and what the machine says about it."""
    service.url = f"http://127.0.0.1:{free_port()}/"
    channel = channel_for(service)
    await channel.start(inbox)

    with pytest.raises(ChannelError) as raised:
        await channel.post(PLACE, build_prompt(approval()))
    await channel.stop()

    assert str(raised.value).startswith(f"The webhook {service.url} cannot be reached: Cannot ")
    assert not raised.value.permanent
