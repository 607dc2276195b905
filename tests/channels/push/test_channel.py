"""Send the channel's messages, and handle each answer of a push service."""

import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from channels.base import Recordable, Reminders
from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard, PromptCard
from channels.push.channel import Browser, PushChannel
from channels.push.payload import is_answerable
from core.errors import ChannelError
from core.model.identity import Target
from core.settings.http import HttpPushSection
from core.store.engine.clock import wall_ms
from core.text.render import Redacted
from core.trust.vapid import new_key, public_key
from tests.contracts.channel_examples import approval, plan
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.web_push import Phone, PushService, push_service

PLACE = Target("push", "a-browser")
QUESTION = approval(plan(("git", "push", "origin", "main")))


@dataclass
class Known:
    """Browsers that are kept in memory, and the key."""

    phone: Phone | None = None
    private: str = field(default_factory=new_key)
    asked: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)

    async def browser(self, place: str) -> Browser | None:
        """Return the one browser."""
        assert place == PLACE.to
        return None if self.phone is None else Browser(**self.phone.fields)

    async def answer(self, place: str, card: PromptCard) -> str:
        """Return the same answer for each question."""
        self.asked.append(f"{place} {card.id}")
        return "the-answer"

    async def forget(self, place: str) -> None:
        """Record it."""
        self.forgotten.append(place)

    async def key(self) -> str:
        """Return the key."""
        return self.private


@pytest.fixture(scope="module")
def service() -> Iterator[PushService]:
    """Run a push service."""
    with push_service() as running:
        yield running


@pytest.fixture
def known(service: PushService) -> Known:
    """Keep one browser of the service."""
    service.taken.clear()
    return Known(service.subscribe())


@pytest.fixture
async def channel(service: PushService, known: Known) -> AsyncIterator[PushChannel]:
    """Run the channel."""
    section = HttpPushSection(services=(service.url,))
    made = PushChannel(known, section, "https://sayso.example")
    await made.start(RecordingInbox())  # answers come over the page
    yield made
    await made.stop()


def _card(**change: Any) -> PromptCard:
    return replace(build_prompt(QUESTION), expires_at_ms=wall_ms() + 90_000, **change)


async def test_a_prompt_is_signed_and_answerable(
    channel: PushChannel, known: Known, service: PushService
) -> None:
    """With the one key, for its own time, with its answers; evidence has all except those."""
    tag = await channel.post(PLACE, _card())
    (pushed,) = service.taken
    assert pushed.key == public_key(known.private)
    assert 80 <= pushed.ttl <= 90
    assert pushed.topic == tag == pushed.note["tag"]
    assert pushed.note.pop("answer") == "the-answer"
    assert isinstance(channel, Recordable)
    assert isinstance(channel, Reminders)
    (kept,) = channel.rendering(PLACE, (_card(),))
    assert kept | {"until": 0} == pushed.note | {"until": 0}
    assert (await channel.check()).ok


async def test_what_is_not_answerable_draws_no_answer(
    channel: PushChannel, known: Known, service: PushService
) -> None:
    """Nothing is drawn, so nothing can be sent by mistake."""
    card = _card(env_names=(Redacted("GIT_DIR"),))
    assert not is_answerable(card)
    await channel.post(PLACE, card)
    assert known.asked == []
    assert "answer" not in service.taken[-1].note


async def test_states_and_reminders_have_their_places(
    channel: PushChannel, service: PushService
) -> None:
    """An end replaces the question; a reminder has its own place, and its end replaces that."""
    tag = await channel.post(PLACE, _card())
    reminder = await channel.remind(PLACE, tag, NoticeCard(Redacted("Still waiting")))
    await channel.end_reminder(PLACE, reminder, NoticeCard(Redacted("Denied")))
    await channel.update(PLACE, tag, build_outcome(QUESTION))
    notice = await channel.notify(PLACE, NoticeCard(Redacted("Something else")))
    topics = [one.topic for one in service.taken]
    assert topics == [tag, reminder, reminder, tag, notice]
    assert len({tag, reminder, notice}) == 3


@pytest.mark.parametrize(
    ("status", "headers", "permanent", "again_ms", "forgotten"),
    [
        (404, {}, True, None, True),
        (410, {}, True, None, True),
        (400, {}, True, None, False),
        (403, {}, True, None, False),
        (413, {}, True, None, False),
        (429, {"Retry-After": "7"}, False, 7_000, False),
        (429, {}, False, None, False),
        (500, {}, False, None, False),
        (503, {"Retry-After": "soon"}, False, None, False),
    ],
)
async def test_each_refusal_is_taken_as_it_is_meant(
    channel: PushChannel,
    known: Known,
    service: PushService,
    status: int,
    headers: dict[str, str],
    permanent: bool,
    again_ms: int | None,
    forgotten: bool,
) -> None:
    """Gone, never, later, or later by a stated time; what follows is accepted again."""
    service.answers.append((status, headers))
    with pytest.raises(ChannelError) as caught:
        await channel.post(PLACE, _card())
    assert (caught.value.permanent, caught.value.retry_after_ms) == (permanent, again_ms)
    assert known.forgotten == ([PLACE.to] if forgotten else [])
    await channel.post(PLACE, _card())
    assert len(service.taken) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed(
    channel: PushChannel, service: PushService, status: int
) -> None:
    """Wherever it leads; the service is tried again."""
    trap = service.subscribe()
    service.answers.append((status, {"Location": trap.endpoint}))
    with pytest.raises(ChannelError) as caught:
        await channel.post(PLACE, _card())
    assert not caught.value.permanent
    assert service.taken == []


def _endless() -> Iterator[bytes]:
    """Yield more than anyone would read, for 30 s at most."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        yield b"x" * 65_536


def _slow() -> Iterator[bytes]:
    for _ in range(300):
        yield b"x"
        time.sleep(0.1)


def _packed() -> Iterator[bytes]:
    """Pack 128 MiB, one after the other."""
    packer = zlib.compressobj(wbits=31)
    for _ in range(128):
        yield packer.compress(bytes(1 << 20))
    yield packer.flush()


_BODIES: dict[str, tuple[dict[str, str], Iterable[bytes]]] = {
    "endless": ({}, _endless()),
    "slow": ({}, _slow()),
    "packed": ({"Content-Encoding": "gzip"}, _packed()),
    "badly packed": ({"Content-Encoding": "gzip"}, [b"no gzip"]),
    "no text": ({"Content-Type": "text/plain; charset=utf-8"}, [b"\xff\xfe\x80"]),
    "of no known charset": ({"Content-Type": "text/plain; charset=x"}, [b"yes"]),
    "cut": ({"Content-Length": "1000"}, [b"half"]),
    "large": ({"Content-Length": str(1 << 20)}, [bytes(1 << 20)]),
}


@pytest.mark.parametrize("kind", _BODIES)
async def test_what_was_taken_is_taken_whatever_else_the_answer_says(
    channel: PushChannel, service: PushService, kind: str
) -> None:
    """Pushed once, in little time and memory: no body of an answer is unpacked or read whole."""
    service.bodies.append(_BODIES[kind])
    service.written, began = 0, time.monotonic()
    tracemalloc.start()
    try:
        await channel.post(PLACE, _card())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(service.taken) == 1
    assert time.monotonic() - began < 5
    assert most < 16 << 20
    assert service.written < 32 << 20
    assert (await channel.check()).ok


async def test_a_refusal_counts_whatever_its_body(
    channel: PushChannel, known: Known, service: PushService
) -> None:
    """By its status as well: gone is gone."""
    service.answers.append((410, {}))
    service.bodies.append(({}, _endless()))
    with pytest.raises(ChannelError) as caught:
        await channel.post(PLACE, _card())
    assert (caught.value.permanent, known.forgotten) == (True, [PLACE.to])


async def test_only_who_is_signed_in_at_a_known_service_is_sent_to(
    channel: PushChannel, known: Known, service: PushService
) -> None:
    """Checked again for each message; both are final."""
    phone = known.phone
    assert phone is not None
    for changed in (None, Phone(phone.endpoint.replace("127.0.0.1", "localhost"))):
        known.phone = changed
        with pytest.raises(ChannelError) as caught:
            await channel.post(PLACE, _card())
        assert caught.value.permanent
    known.phone = phone
    await channel.post(PLACE, _card())
    assert len(service.taken) == 1


async def test_a_service_that_is_away_is_tried_again(known: Known) -> None:
    """It is named in the channel's health, without the browser's own address."""
    with push_service() as gone:
        known.phone = gone.subscribe()
    made = PushChannel(known, HttpPushSection(services=(gone.url,)))
    with pytest.raises(ChannelError, match="not started"):
        await made.post(PLACE, _card())
    await made.start(RecordingInbox())
    with pytest.raises(ChannelError) as caught:
        await made.post(PLACE, _card())
    await made.stop()
    assert not caught.value.permanent
    health = await made.check()
    assert not health.ok
    assert gone.url in health.detail
    assert known.phone.endpoint not in health.detail


@pytest.mark.parametrize(
    ("page", "contact", "found"),
    [
        ("https://sayso.example", None, "https://sayso.example"),
        ("https://sayso.example", "mailto:ops@b.example", "mailto:ops@b.example"),
        ("http://127.0.0.1:1", None, "mailto:root@localhost"),
    ],
)
def test_services_can_write_to_somebody(
    known: Known, page: str, contact: str | None, found: str
) -> None:
    """The contact in the settings, else the page's own address."""
    assert PushChannel(known, HttpPushSection(contact=contact), page).contact == found
