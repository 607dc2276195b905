"""Show choices behind "Always allow…" to the one who pressed; the answer removes them."""

from dataclasses import dataclass, field

import pytest

from channels.base import Inbound, Reply, Tone
from channels.cards.build import build_prompt
from channels.cards.card import Choice
from channels.commands import Approve, Choose
from core.errors import SaysoError
from core.model.approval import HALF_HOUR, THIS_SESSION, ApprovalReply
from core.model.identity import Target
from core.text.render import redact
from tests.channels.slack.workspace import (
    ANA,
    BOB,
    CHANNEL,
    SlackWorkspace,
    channel_for,
    labels,
    prompts,
    ts_of,
)
from tests.contracts.channel_examples import ID, approval
from tests.contracts.channel_setup import BROKEN_STORE
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack_rules import seen

ALWAYS = ApprovalReply.ALLOW_ALWAYS
CHOICES = {
    "Always": Approve(ID, ALWAYS),
    "30 min": Approve(ID, ALWAYS, terms=HALF_HOUR),
    "This session": Approve(ID, ALWAYS, terms=THIS_SESSION),
}
STORED = "Stored for main: /usr/bin/rm"


@dataclass(slots=True)
class ChoosingInbox:
    """Offer the choices for a ``Choose``, and report what was chosen."""

    got: list[Inbound] = field(default_factory=list)
    failures: list[SaysoError] = field(default_factory=list)
    told: str = "Allowed always: 7K3F9Q."

    async def receive(self, inbound: Inbound) -> Reply:
        """Record what arrives and answer it."""
        if self.failures and not isinstance(inbound.command, Choose):
            raise self.failures.pop(0)
        self.got.append(inbound)
        if isinstance(inbound.command, Choose):
            offered = tuple(Choice(label, command) for label, command in CHOICES.items())
            return Reply(redact(STORED), choices=offered)
        return Reply(redact(self.told), Tone.OK)


@pytest.mark.parametrize("label", list(CHOICES))
async def test_each_choice_comes_in_and_its_buttons_go(setup: SlackWorkspace, label: str) -> None:
    """The press names the terms and no prompt; the answer replaces the choices."""
    inbox = ChoosingInbox()
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.choose(message, label)
    await setup.sees("Allowed always: 7K3F9Q.")
    await setup.channel.stop()

    asked, chosen = inbox.got
    assert (asked.command, asked.replied_to) == (Choose(ID), message)
    assert (chosen.command, chosen.replied_to) == (CHOICES[label], "")
    assert (chosen.actor.account, chosen.place) == (ANA, Target("slack", CHANNEL))
    (note,) = setup.server.state.whispers
    assert labels(note["blocks"]) == []
    assert seen(note["blocks"]) == "Allowed always: 7K3F9Q."
    assert setup.can_press(message)


async def test_only_whoever_pressed_sees_the_choices(setup: SlackWorkspace) -> None:
    """They say what would be stored, privately; the channel keeps its one message."""
    await setup.channel.start(ChoosingInbox())
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ALWAYS)
    await setup.sees(STORED)
    await setup.channel.stop()

    (note,) = setup.server.state.whispers
    assert (note["channel"], note["user"]) == (CHANNEL, ANA)
    assert labels(note["blocks"]) == list(CHOICES)
    with pytest.raises(LookupError):
        await setup.server.people.press_choice(BOB, "Always")
    assert prompts(setup) == [ts_of(message)]


async def test_choices_outlive_the_gateway_that_showed_them(setup: SlackWorkspace) -> None:
    """A new process takes the press, although it never showed the choices."""
    await setup.channel.start(ChoosingInbox())
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ALWAYS)
    await setup.sees(STORED)
    await setup.channel.stop()
    inbox = ChoosingInbox()
    successor = channel_for(setup.server)
    await successor.start(inbox)
    await setup.press_choice("30 min")
    await setup.sees("Allowed always: 7K3F9Q.")
    await successor.stop()

    assert [inbound.command for inbound in inbox.got] == [CHOICES["30 min"]]


async def test_choices_in_direct_messages_are_replaced_too(setup: SlackWorkspace) -> None:
    """There they are a message of the conversation; none of its presses is taken for a prompt's."""
    inbox = ChoosingInbox()
    await setup.channel.start(inbox)
    message = await setup.channel.post(Target("slack", ANA), build_prompt(approval()))
    place = message.partition(":")[0]
    await setup.server.people.press(place, ts_of(message), ANA, "Always allow…")
    await setup.server.until(lambda: list(CHOICES) in setup.offered())
    await setup.press_choice("This session")
    await setup.server.until(lambda: list(CHOICES) not in setup.offered())
    await setup.channel.stop()

    assert [inbound.replied_to for inbound in inbox.got] == [message, ""]
    assert {inbound.place for inbound in inbox.got} == {Target("slack", ANA)}
    _, reply = setup.server.state.places[place].messages.values()
    assert seen(reply["blocks"]) == "Allowed always: 7K3F9Q."
    assert setup.can_press(message)


async def test_choices_in_a_thread_stay_there(setup: SlackWorkspace) -> None:
    """The reply and what is chosen below it belong to the thread of the prompt."""
    inbox = ChoosingInbox()
    root = setup.server.state.typed(CHANNEL, BOB, "the deployment")["ts"]
    target = Target("slack", CHANNEL, thread=root)
    await setup.channel.start(inbox)
    message = await setup.channel.post(target, build_prompt(approval()))
    await setup.choose(message, "Always")
    await setup.sees("Allowed always: 7K3F9Q.")
    await setup.channel.stop()

    assert setup.server.state.whispers[0]["thread_ts"] == root
    assert [inbound.place for inbound in inbox.got] == [target, target]


async def test_a_long_answer_to_a_choice_is_told_whole(setup: SlackWorkspace) -> None:
    """The first message replaces the choices, the rest follows it."""
    inbox = ChoosingInbox(told="x" * 20_000)
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.choose(message, "Always")
    await setup.server.until(lambda: len(setup.server.state.whispers) == 3)
    await setup.channel.stop()

    assert sum(note.count("x") for note in setup.notes()) == 20_000
    assert [found for found in setup.offered() if found] == []


async def test_a_choice_that_cannot_be_stored_yet_is_kept(setup: SlackWorkspace) -> None:
    """The member reads that it waits, then the result, in the same place."""
    inbox = ChoosingInbox(failures=[BROKEN_STORE])
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.choose(message, "Always")
    await setup.sees("Allowed always: 7K3F9Q.")
    await setup.channel.stop()

    assert len(setup.server.state.whispers) == 1
    assert inbox.got[-1].command == CHOICES["Always"]


async def test_an_answer_that_cannot_replace_the_choices_comes_beside_them(
    setup: SlackWorkspace,
) -> None:
    """Slack no longer takes the address: the member is still told."""
    await setup.channel.start(ChoosingInbox())
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    setup.server.faults.add(Fault(FaultKind.STATUS, "respond", 404))
    await setup.choose(message, "Always")
    await setup.sees("Allowed always: 7K3F9Q.")
    await setup.channel.stop()

    assert [bool(found) for found in setup.offered()] == [True, False]


async def test_a_slash_command_can_be_answered_with_choices(setup: SlackWorkspace) -> None:
    """A typed command's private answer has buttons like any other."""

    @dataclass
    class Offering(ChoosingInbox):
        async def receive(self, inbound: Inbound) -> Reply:
            self.got.append(inbound)
            offered = (Choice("Always", CHOICES["Always"]),) * (len(self.got) == 1)
            return Reply(redact("Done." if len(self.got) > 1 else STORED), choices=offered)

    inbox = Offering()
    await setup.channel.start(inbox)
    await setup.type("/pending")
    await setup.sees(STORED)
    await setup.press_choice("Always")
    await setup.sees("Done.")
    await setup.channel.stop()

    assert (inbox.got[1].command, inbox.got[1].replied_to) == (CHOICES["Always"], "")
    assert labels(setup.server.state.whispers[0]["blocks"]) == []
