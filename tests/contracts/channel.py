"""State once what every channel does; each implementation's tests inherit it."""

import asyncio
from dataclasses import replace

import pytest

from channels.base import Groups, Threads
from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from channels.cards.lines import facts
from channels.commands import Approve, Choose, Command, Malformed, PendingList
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.identity import ApprovalId, Target
from core.text.render import redact
from tests.contracts.channel_examples import ID, OTHER_ID, approval, plan, resolved
from tests.contracts.channel_setup import CHOICES, ChannelSetup, RecordingInbox


class ChannelContract:
    """Inherit and provide the fixture ``setup``; ``inbox`` is in ``tests/channels/conftest.py``."""

    async def test_press_arrives_as_a_typed_command(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """A pressed answer names the approval by its whole id, the person and the place."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.press(message, ApprovalReply.ALLOW_ONCE)

        (inbound,) = await inbox.take()

        assert inbound.command == Approve(ID, ApprovalReply.ALLOW_ONCE)
        assert _typed(inbound.command) is not self.buttons
        assert inbound.actor.channel == setup.channel.name
        assert inbound.actor.account
        assert inbound.place.channel == setup.channel.name
        await setup.sees("Allowed once: 7K3F9Q.")
        await setup.channel.stop()

    buttons = True
    """Whether a press is less than the typed word; without buttons, the word replaces it."""
    two_steps = True
    """Whether "Always allow…" asks how long before it decides; a terminal has no second step."""
    groups = True
    """Whether the channel can show several prompts in one message."""
    threads = True
    """Whether the channel can open a thread for a session."""

    async def test_each_button_is_pressed(self, setup: ChannelSetup, inbox: RecordingInbox) -> None:
        """Each button of a prompt arrives as what it says, with the message that was pressed."""
        await setup.channel.start(inbox)
        for number, reply in enumerate(ApprovalReply, 1):
            asked = ApprovalId(f"{number}{ID[1:]}")
            message = await setup.channel.post(setup.target, build_prompt(approval(id=asked)))
            await setup.press(message, reply)
            inbound = (await inbox.take(number))[-1]

            second = self.two_steps and reply is ApprovalReply.ALLOW_ALWAYS
            assert inbound.command == (Choose(asked) if second else Approve(asked, reply))
            outcome = build_outcome(approval(id=asked, resolution=resolved()))
            await setup.channel.update(setup.target, message, outcome)
        await setup.channel.stop()

    @pytest.mark.parametrize("number", range(len(CHOICES)))
    async def test_always_allow_shows_what_is_stored_and_for_how_long(
        self, setup: ChannelSetup, inbox: RecordingInbox, number: int
    ) -> None:
        """Behind "Always allow…" is what would be stored; each choice is one answer."""
        if not self.two_steps:
            return
        choice = CHOICES[number]
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.press(message, ApprovalReply.ALLOW_ALWAYS)
        await setup.sees("Always allow would store: /usr/bin/ls")
        await setup.press_choice(choice.label)

        inbound = (await inbox.take(2))[-1]

        assert choice.command == inbound.command
        assert not _typed(inbound.command)
        assert "" == inbound.replied_to
        await setup.sees("Allowed once: 7K3F9Q.")
        await setup.channel.stop()

    @pytest.mark.parametrize("reply", list(ApprovalReply))
    async def test_each_reply_can_be_typed(
        self, setup: ChannelSetup, inbox: RecordingInbox, reply: ApprovalReply
    ) -> None:
        """Each decision can be typed with the short code."""
        await setup.channel.start(inbox)
        await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.type(f"/approve 7K3F9Q {reply}")

        (inbound,) = await inbox.take()

        assert inbound.command == Approve("7k3f9q", reply)
        assert _typed(inbound.command)
        await setup.channel.stop()

    async def test_a_prompt_says_that_buttons_do_not_allow_it(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """If only typed answers count, people read it beforehand; otherwise no one does."""
        await setup.channel.start(inbox)
        asked = replace(approval(), step_up=True)
        message = await setup.channel.post(setup.target, build_prompt(asked))

        await setup.shows(message, "type /approve 7K3F9Q allow-once; a button is not enough")
        assert "To allow" not in {fact.label for fact in facts(build_prompt(approval()))}
        await setup.channel.stop()

    async def test_final_state_is_shown_and_takes_the_answers_away(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """An updated prompt says who decided and when, and offers nothing more."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        assert setup.can_press(message)

        decided = approval(resolution=resolved())
        await setup.channel.update(setup.target, message, build_outcome(decided))

        await setup.shows(message, "Allowed once by Ana (telegram 42) at 10:02 UTC")
        assert not setup.can_press(message)
        await setup.channel.stop()

    @pytest.mark.parametrize(
        ("state", "words"),
        [
            (ApprovalState.DENIED, "Denied by Ana (telegram 42) at 10:02 UTC"),
            (ApprovalState.EXPIRED, "Expired at 10:02 UTC: nobody answered, so nothing ran"),
            (ApprovalState.CANCELLED, "Withdrawn at 10:02 UTC: nothing ran"),
        ],
    )
    async def test_each_ending_has_its_words(
        self, setup: ChannelSetup, inbox: RecordingInbox, state: ApprovalState, words: str
    ) -> None:
        """Denied, expired and withdrawn prompts say so."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        ended: Approval = approval(resolution=resolved(state, None))
        await setup.channel.update(setup.target, message, build_outcome(ended))

        await setup.shows(message, words)
        await setup.channel.stop()

    async def test_malformed_answer_is_told(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """A command that is not understood is answered with its usage."""
        await setup.channel.start(inbox)
        await setup.type("/approve 7K3F9Q perhaps")

        await setup.sees("Not understood, so nothing was changed")

        assert isinstance(inbox.got[0].command, Malformed)
        await setup.channel.stop()

    async def test_pending_list_can_be_asked_for(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """``/pending`` reaches the inbox."""
        await setup.channel.start(inbox)
        await setup.type("/pending")

        (inbound,) = await inbox.take()

        assert inbound.command == PendingList()
        await setup.channel.stop()

    async def test_each_event_has_its_own_key(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """Two answers never share a key, so that neither is taken for a redelivery."""
        await setup.channel.start(inbox)
        await setup.type("/approve 7K3F9Q deny not now")
        await setup.type("/approve 7K3F9Q deny not now")

        first, second = await inbox.take(2)

        assert first.key != second.key
        await setup.channel.stop()

    async def test_answers_given_while_stopped_count_after_a_restart(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """A press that no one listened to arrives after the next start."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.channel.stop()
        await setup.press(message, ApprovalReply.DENY)
        assert inbox.got == []

        await setup.channel.start(inbox)
        (inbound,) = await inbox.take()

        assert inbound.command == Approve(ID, ApprovalReply.DENY)
        await setup.channel.stop()

    async def test_a_notice_is_shown(self, setup: ChannelSetup, inbox: RecordingInbox) -> None:
        """A notice appears in the place that it is sent to."""
        await setup.channel.start(inbox)
        message = await setup.channel.notify(setup.target, NoticeCard(redact("Half time passed")))

        await setup.shows(message, "Half time passed")
        await setup.channel.stop()

    async def test_update_of_a_vanished_message_is_no_error(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """If there is nothing left to edit, the update just ends."""
        await setup.channel.start(inbox)
        outcome = build_outcome(approval(resolution=resolved()))

        await setup.channel.update(setup.target, "999999", outcome)

        await setup.channel.stop()

    async def test_two_updates_alike_are_no_error(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """An edit repeated after a crash changes nothing and raises nothing."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        outcome = build_outcome(approval(resolution=resolved()))

        await setup.channel.update(setup.target, message, outcome)
        await setup.channel.update(setup.target, message, outcome)

        await setup.shows(message, "Allowed once by Ana")
        await setup.channel.stop()

    async def test_two_prompts_alike_are_distinguished(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """The same command asked twice shows two codes, and an answer names one of them."""
        await setup.channel.start(inbox)
        of = plan(("ls",))
        first = await setup.channel.post(setup.target, build_prompt(approval(of)))
        second = await setup.channel.post(setup.target, build_prompt(approval(of, id=OTHER_ID)))

        await setup.shows(first, "7K3F9Q")
        await setup.shows(second, "2MZZ8X")
        await setup.type("/approve 2MZZ8X allow-once")

        (inbound,) = await inbox.take()
        assert inbound.command == Approve("2mzz8x", ApprovalReply.ALLOW_ONCE)
        await setup.channel.stop()

    async def test_a_group_shows_each_prompt_with_its_own_buttons(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """Several prompts in one message end one by one, and the others stay open."""
        channel = setup.channel
        assert isinstance(channel, Groups) is self.groups
        if not isinstance(channel, Groups):
            return
        await channel.start(inbox)
        first, second = build_prompt(approval()), build_prompt(approval(id=OTHER_ID))
        assert channel.fits((first, second))
        message = await channel.post_group(setup.target, (first, second))
        await setup.shows(message, "7K3F9Q")
        await setup.shows(message, "2MZZ8X")

        ended = build_outcome(approval(resolution=resolved()))
        await channel.update_group(setup.target, message, (ended, second))
        await setup.shows(message, "Allowed once by Ana")
        assert setup.can_press(message)

        last = build_outcome(approval(id=OTHER_ID, resolution=resolved(ApprovalState.DENIED, None)))
        await channel.update_group(setup.target, message, (ended, last))
        await setup.shows(message, "Denied by Ana")
        assert not setup.can_press(message)
        await channel.stop()

    async def test_a_group_that_is_too_long_does_not_fit(self, setup: ChannelSetup) -> None:
        """What one message cannot show in full is never grouped."""
        channel = setup.channel
        if isinstance(channel, Groups):
            long = build_prompt(approval(plan(text="echo " + "x" * 50_000)))
            assert not channel.fits((long, build_prompt(approval(id=OTHER_ID))))

    async def test_a_session_has_its_own_thread(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """A prompt in an opened thread is shown, and brought to its end there."""
        channel = setup.channel
        assert isinstance(channel, Threads) is self.threads
        if not isinstance(channel, Threads):
            return
        await channel.start(inbox)
        place = await channel.open_thread(self.thread_parent(setup), redact("Session main"))
        message = await channel.post(place, build_prompt(approval()))
        await channel.update(place, message, build_outcome(approval(resolution=resolved())))

        assert place.channel == setup.target.channel
        assert place != self.thread_parent(setup)
        await channel.stop()

    def thread_parent(self, setup: ChannelSetup) -> Target:
        """Return the place in which threads are opened."""
        return setup.target

    async def test_check_follows_start_and_stop(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """Health is good only between start and stop."""
        before = await setup.channel.check()
        await setup.channel.start(inbox)
        during = await setup.channel.check()
        await setup.channel.stop()
        after = await setup.channel.check()

        assert (before.ok, during.ok, after.ok) == (False, True, False)
        assert during.detail

    async def test_stop_leaves_no_task_behind(
        self, setup: ChannelSetup, inbox: RecordingInbox
    ) -> None:
        """After stop nothing of the channel runs, and a second stop is harmless."""
        before = asyncio.all_tasks()
        await setup.channel.start(inbox)
        await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.channel.stop()
        await setup.channel.stop()

        left = {task for task in asyncio.all_tasks() - before if _of_a_channel(task)}
        assert left == set()


def _typed(command: Command) -> bool:
    return isinstance(command, Approve) and command.typed


def _of_a_channel(task: asyncio.Task[object]) -> bool:
    coroutine = task.get_coro()
    # The emulator's own connections stay; everything else belongs to the channel.
    code = getattr(coroutine, "cr_code", None)
    return code is None or "aiohttp" not in code.co_filename
