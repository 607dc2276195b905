"""Show choices under a reply: whose they are, what a press and a restart do to them."""

import asyncio
from dataclasses import dataclass, field

from channels.base import Inbound, Reply, Tone
from channels.cards.build import build_prompt
from channels.cards.card import Choice
from channels.commands import Approve, Choose, Malformed, Stop, Tail
from channels.telegram.render.buttons import choice_keyboard, decode
from core.model.approval import HALF_HOUR, ApprovalReply, GrantTerms
from core.model.identity import Target
from core.text.render import redact
from tests.channels.telegram.bot_and_user import ANA, CHAT, GROUP, TelegramUsers, channel_for
from tests.contracts.channel_examples import ID, approval
from tests.contracts.channel_setup import CHOICES
from tests.emulators.telegram_state import Json
from tests.support.tables import rows

BOB = 43
STORES = "Always allow would store: /usr/bin/rm"


@dataclass(slots=True)
class StrictInbox:
    """An inbox to which Ana may answer and Bob may not."""

    got: list[Inbound] = field(default_factory=list)

    async def receive(self, inbound: Inbound) -> Reply:
        """Offer choices to any requester, and accept only Ana's answers."""
        self.got.append(inbound)
        if isinstance(inbound.command, Choose):
            return Reply(redact(STORES), Tone.INFO, CHOICES)
        if inbound.actor.account != str(ANA):
            return Reply(redact("You are not among the approvers."), Tone.REFUSED)
        return Reply(redact("Allowed for 30 min: 7K3F9Q."), Tone.OK)


async def _offered(setup: TelegramUsers, chat: int = CHAT) -> Json:
    """Ask for the choices as Ana, and return the message that shows them."""
    place = Target("telegram", str(chat))
    prompt = await setup.channel.post(place, build_prompt(approval()))
    await setup.server.press(chat, int(prompt), ANA, "Always allow…")
    await setup.server.until(lambda: len(setup.server.messages(chat)) == 2)
    return setup.server.messages(chat)[-1]


def _labels(message: Json) -> list[str]:
    rows = message.get("reply_markup", {}).get("inline_keyboard", [])
    return [button["text"] for row in rows for button in row]


async def test_choices_stand_under_a_reply_and_end_with_it(setup: TelegramUsers) -> None:
    """The reply says what would be stored; after the press it says what was."""
    await setup.channel.start(StrictInbox())
    message = await _offered(setup)
    assert [choice.label for choice in CHOICES] == _labels(message)
    assert STORES == message["text"]

    await setup.press_choice("30 min")
    await setup.server.until(lambda: message["text"] == "Allowed for 30 min: 7K3F9Q.")
    await setup.channel.stop()

    assert [] == _labels(message)
    assert all(press.answered for press in setup.server.state.presses.values())
    assert 2 == len(setup.server.messages(CHAT))


async def test_a_stranger_leaves_the_choices_to_whom_they_are(setup: TelegramUsers) -> None:
    """In a group everyone sees them; Bob is told privately and nothing else changes."""
    await setup.channel.start(StrictInbox())
    message = await _offered(setup, GROUP)
    query = await setup.server.press_choice(GROUP, BOB, "Always")
    press = setup.server.state.presses[query]
    await setup.server.until(lambda: press.answered)
    assert (True, "You are not among the approvers.") == (press.alert, press.text)
    assert STORES == message["text"]

    await setup.server.press_choice(GROUP, ANA, "Always")
    await setup.server.until(lambda: message["text"].startswith("Allowed"))
    await setup.channel.stop()
    assert 2 == len(setup.server.messages(GROUP))


async def test_choices_outlive_the_gateway(setup: TelegramUsers) -> None:
    """A press on them after a restart is the same answer: nothing about them is in memory."""
    await setup.channel.start(StrictInbox())
    message = await _offered(setup)
    await setup.channel.stop()
    await setup.server.press_choice(CHAT, ANA, "30 min")
    inbox = StrictInbox()
    successor = channel_for(setup.server)
    await successor.start(inbox)
    await setup.server.until(lambda: message["text"].startswith("Allowed"))
    await successor.stop()

    (inbound,) = inbox.got
    assert Approve(ID, ApprovalReply.ALLOW_ALWAYS, terms=HALF_HOUR) == inbound.command
    assert "" == inbound.replied_to


async def test_choices_that_are_gone_are_answered_anew(setup: TelegramUsers) -> None:
    """The message was deleted: the reply comes as a new one."""
    await setup.channel.start(StrictInbox())
    message = await _offered(setup)
    await setup.press_choice("Always")
    setup.server.state.chats[CHAT].pop(message["message_id"])
    await setup.server.until(
        lambda: setup.server.messages(CHAT)[-1]["text"].startswith("Allowed"), 5
    )
    await setup.channel.stop()


async def test_a_slow_answer_to_choices_still_takes_their_place(setup: TelegramUsers) -> None:
    """The button stops waiting first; the words appear when they are true."""
    committed = asyncio.Event()

    @dataclass(slots=True)
    class Slow(StrictInbox):
        async def receive(self, inbound: Inbound) -> Reply:
            if isinstance(inbound.command, Approve):
                await committed.wait()
            return await StrictInbox.receive(self, inbound)

    await setup.channel.start(Slow())
    message = await _offered(setup)
    query = await setup.server.press_choice(CHAT, ANA, "Always")
    await setup.server.until(lambda: setup.server.state.presses[query].answered)
    assert STORES == message["text"]
    committed.set()
    await setup.server.until(lambda: message["text"].startswith("Allowed"))
    await setup.channel.stop()


async def test_a_typed_command_can_be_answered_with_choices(setup: TelegramUsers) -> None:
    """A running command offers to be watched and to be stopped."""
    choices = (Choice("Tail", Tail(ID)), Choice("Stop", Stop(ID)))

    @dataclass(slots=True)
    class Running:
        got: list[Inbound] = field(default_factory=list)

        async def receive(self, inbound: Inbound) -> Reply:
            self.got.append(inbound)
            if isinstance(inbound.command, Stop):
                return Reply(redact("Stopped."), Tone.OK)
            return Reply(redact("line\n" * 1_000, multiline=True), Tone.INFO, choices)

    inbox = Running()
    await setup.channel.start(inbox)
    await setup.type("/run make")
    await setup.server.until(lambda: "Stop" in setup.offered())
    parts = [one for one in setup.server.messages(CHAT) if one["from"]["is_bot"]]
    assert [False] * (len(parts) - 1) + [True] == [bool(_labels(one)) for one in parts]
    assert len(parts) > 1
    await setup.press_choice("Stop")
    await setup.sees("Stopped.")
    await setup.channel.stop()
    assert Stop(ID) == inbox.got[-1].command


@rows(
    "data",
    [
        *(f"a1|o|{ID}", f"o:{ID}", f"p|z:{ID}", "p|", "", f"r|o:{ID}", f"r0|o:{ID}", f"r-1|o:{ID}"),
        *(f"p|o:{ID}x", f"p|O:{ID}", f"r42|o:{ID[:-1]}", f"r42|m0:{ID}"),
    ],
)
def test_what_this_version_did_not_make_is_foreign(data: str) -> None:
    """Buttons of earlier prompts and made-up data decide nothing."""
    assert isinstance(decode(data).command, Malformed)


def test_the_longest_data_fits() -> None:
    """The longest user id and the longest grant, in 64 bytes."""
    longest = GrantTerms(for_ms=99_999 * 60_000)
    command = Approve(ID, ApprovalReply.ALLOW_ALWAYS, terms=longest)
    markup = choice_keyboard((Choice("Long", command),), 10**15)

    assert markup is not None
    data = str(markup.inline_keyboard[0][0].callback_data)
    assert 64 >= len(data.encode())
    assert (command, str(10**15)) == (decode(data).command, decode(data).asked_by)
