"""Let no fake secret of any shape leave through any sink of the channels."""

import io

import pytest

from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from channels.memory import MemoryChannel
from channels.telegram.channel import TelegramChannel
from channels.telegram.settings import TelegramSettings
from channels.terminal.channel import TerminalChannel
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import redact
from tests.channels.canary_checks import everywhere, leaks
from tests.contracts.channel_examples import approval
from tests.contracts.channel_setup import RecordingInbox
from tests.core.text.canaries import CANARIES, Canary
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.telegram import TelegramServer


def test_there_are_enough_shapes() -> None:
    """The set of canaries does not shrink by accident."""
    assert len(CANARIES) >= 40


@pytest.mark.parametrize("canary", CANARIES, ids=[canary.kind for canary in CANARIES])
async def test_memory_and_terminal_leak_nothing(canary: Canary) -> None:
    """Prompt, outcome and notice, as shown here."""
    of = everywhere(canary, 10)
    screen = io.StringIO()
    memory, here = MemoryChannel(), Target("memory", "desk")
    for channel in (memory, TerminalChannel(io.StringIO(), screen, width=10_000)):
        message = await channel.post(here, build_prompt(of))
        await channel.update(here, message, build_outcome(of))
        await channel.notify(here, NoticeCard(redact(canary.text)))

    assert leaks(canary, repr(memory.shown)) == []
    assert leaks(canary, screen.getvalue()) == []
    assert "[secret: " in screen.getvalue()


@pytest.mark.timeout(90)
async def test_telegram_leaks_nothing() -> None:
    """Everything that the Bot API server was ever sent: prompts short and long, files, edits."""
    async with TelegramServer() as server:
        channel = TelegramChannel(
            TelegramSettings.model_validate({"token": server.state.token, "apiBaseUrl": server.url})
        )
        await channel.start(RecordingInbox())
        for number, canary in enumerate(CANARIES, 1):
            place = Target("telegram", str(number))
            size = (10, 5_000, 30_000)[number % 3]
            message = await channel.post(place, build_prompt(everywhere(canary, size)))
            await channel.update(place, message, build_outcome(everywhere(canary, size)))
        await channel.stop()

        sent = repr([call.parameters for call in server.calls])
        assert server.count("sendDocument") > 5
        for canary in CANARIES:
            assert leaks(canary, sent) == []


async def test_errors_of_the_platform_leak_nothing(inbox: RecordingInbox) -> None:
    """What a server says is masked before it becomes our words."""
    async with TelegramServer() as server:
        channel = TelegramChannel(
            TelegramSettings.model_validate({"token": server.state.token, "apiBaseUrl": server.url})
        )
        await channel.start(inbox)
        words = f"cannot reach {server.url}/bot{server.state.token}/sendMessage"
        server.faults.add(Fault(FaultKind.STATUS, "sendMessage", 500, words=words))
        with pytest.raises(ChannelError) as raised:
            await channel.post(Target("telegram", "1"), build_prompt(approval()))
        await channel.stop()

        assert "cannot reach" in str(raised.value).lower()
        assert server.state.token.partition(":")[2] not in str(raised.value)


def test_the_checker_sees_a_leak() -> None:
    """Negative control: without the mask each canary would be found."""
    assert all(leaks(canary, repr(canary.text)) for canary in CANARIES)
