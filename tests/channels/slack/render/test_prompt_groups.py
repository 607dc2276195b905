"""Put several prompts in one message: each whole, with its own buttons, to its own end."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from channels.base import Groups
from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import PromptCard
from channels.commands import Approve, Choose
from channels.slack.render.layout import MAX_BLOCKS, MAX_MESSAGE, size
from channels.slack.render.prompt_groups import fits, render_group
from core.model.approval import Approval, ApprovalReply
from core.model.command import PinnedDirectory
from core.model.identity import Actor, ApprovalId
from tests.channels.slack.workspace import (
    ANA,
    CHANNEL,
    SlackWorkspace,
    boxed,
    channel_for,
    labels,
    prompts,
    ts_of,
)
from tests.contracts.channel_examples import ID, OTHER_ID, approval, plan, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack_rules import check_blocks, seen

FIRST = approval(plan(("rm", "-rf", "/srv/x")))
SECOND = approval(plan(("make", "deploy")), id=OTHER_ID, promise=())
CARDS = (build_prompt(FIRST), build_prompt(SECOND))
_TEXT = st.text(st.characters(exclude_categories=()), min_size=1, max_size=120)


def ended(of: Approval, **more: object) -> Approval:
    """Return an approval that Ana allowed."""
    return replace(of, resolution=resolved(**more))  # type: ignore[arg-type]


def many(count: int) -> tuple[PromptCard, ...]:
    """Return short prompts with ids of their own."""
    ids = (ApprovalId(f"{number:06d}{ID[6:]}") for number in range(count))
    return tuple(build_prompt(approval(plan(("make", "deploy")), id=one)) for one in ids)


def test_each_prompt_is_whole_and_has_its_own_buttons() -> None:
    """Command, code and facts of each; the labels name the code they are for."""
    message = render_group(CARDS)
    words = seen(message.blocks)

    assert boxed(message.blocks) == ["rm -rf /srv/x", "make deploy"]
    assert labels(message.blocks) == [
        *("7K3F9Q once", "7K3F9Q always…", "7K3F9Q deny", "7K3F9Q details"),
        *("2MZZ8X once", "2MZZ8X deny", "2MZZ8X details"),
    ]
    for line in (
        "Folder: /home/dev/proj",
        "Agent: main · on gateway",
        "Does: deletes /srv/x, with everything below · deletes files",
        "Why: /usr/bin/rm is not on the allowlist of main",
        "Answer by: 10:10:00 UTC (10 min); no answer means deny",
    ):
        assert line in words
    assert "Allow these 2 commands?" in words
    assert "rm" not in message.text


def test_a_group_says_what_still_waits() -> None:
    """Ended ones have their ending and no buttons, open ones keep theirs."""
    message = render_group((build_outcome(ended(FIRST)), CARDS[1]))

    assert "7K3F9Q · Allowed once by Ana (telegram 42) at 10:02 UTC" in seen(message.blocks)
    assert labels(message.blocks) == ["2MZZ8X once", "2MZZ8X deny", "2MZZ8X details"]
    assert "1 of these 2 commands still waits" in seen(message.blocks)
    done = render_group((build_outcome(ended(FIRST)), build_outcome(ended(SECOND))))
    assert labels(done.blocks) == []
    assert "Or type" not in seen(done.blocks)


def test_fits_is_exact() -> None:
    """Its size is within both limits, and one prompt more exceeds one of them."""
    most = max(count for count in range(1, 30) if fits(many(count)))
    blocks, beyond = render_group(many(most)).blocks, render_group(many(most + 1)).blocks

    assert most >= 6
    assert len(blocks) <= MAX_BLOCKS
    assert size(blocks) <= MAX_MESSAGE
    assert len(beyond) > MAX_BLOCKS or size(beyond) > MAX_MESSAGE


def test_what_is_not_whole_goes_alone() -> None:
    """Nothing, an empty command, one that is too long, and facts beyond a block."""
    long = build_prompt(approval(plan(text="x" * 9_000)))
    far = build_prompt(approval(plan(("ls",), cwd="/" + "d" * 3_000)))

    assert not fits(())
    assert not fits((CARDS[0], build_prompt(approval(plan(text="")))))
    assert not fits((CARDS[0], long))
    assert not fits((CARDS[0], far))
    assert fits(CARDS)


@settings(max_examples=60)
@given(st.lists(st.tuples(_TEXT, _TEXT, _TEXT, st.booleans()), min_size=1, max_size=6))
def test_what_fitted_once_fits_in_every_state(rows: list[tuple[str, str, str, bool]]) -> None:
    """Whatever is in the fields, an ended item weighs less than the prompt it replaces."""
    asked = [
        approval(
            replace(plan(text=text), cwd=PinnedDirectory(folder, 1, 2)),
            id=ApprovalId(f"{number:06d}{ID[6:]}"),
        )
        for number, (text, folder, _, _) in enumerate(rows)
    ]
    cards = tuple(build_prompt(one) for one in asked)
    if not fits(cards):
        return
    check_blocks(render_group(cards).blocks)
    mixed = tuple(
        build_outcome(ended(one, note=note * 5, by=Actor("slack", "U0X", note))) if over else card
        for one, card, (_, _, note, over) in zip(asked, cards, rows, strict=True)
    )
    blocks = render_group(mixed).blocks
    check_blocks(blocks)
    assert size(blocks) <= MAX_MESSAGE


async def test_a_press_names_its_approval_and_the_groups_message(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Each button of the message is an answer to one prompt of it."""
    await setup.channel.start(inbox)
    assert isinstance(setup.channel, Groups)
    message = await setup.channel.post_group(setup.target, CARDS)
    for label in ("2MZZ8X once", "7K3F9Q always…", "7K3F9Q deny"):
        await setup.server.people.press(CHANNEL, ts_of(message), ANA, label)
    await setup.channel.stop()

    assert [inbound.command for inbound in inbox.got] == [
        Approve(OTHER_ID, ApprovalReply.ALLOW_ONCE),
        Choose(ID),
        Approve(ID, ApprovalReply.DENY),
    ]
    assert {inbound.replied_to for inbound in inbox.got} == {message}


async def test_a_group_is_edited_to_what_is_true(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """First one ends, then the other; a group that vanished is not an error."""
    await setup.channel.start(inbox)
    assert isinstance(setup.channel, Groups)
    message = await setup.channel.post_group(setup.target, CARDS)
    first = build_outcome(ended(FIRST))
    await setup.channel.update_group(setup.target, message, (first, CARDS[1]))
    assert labels(setup.sent(message)["blocks"]) == ["2MZZ8X once", "2MZZ8X deny", "2MZZ8X details"]
    final = (first, build_outcome(ended(SECOND)))
    await setup.channel.update_group(setup.target, message, final)
    await setup.channel.update_group(setup.target, f"{CHANNEL}:1.000009", final)
    await setup.channel.stop()

    assert not setup.can_press(message)
    assert prompts(setup) == [ts_of(message)]


async def test_a_group_whose_sending_was_not_confirmed_is_found(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """The answer got lost, then the gateway died: there is one message, also for one of them."""
    setup.server.faults.add(Fault(FaultKind.LOSE, "chat.postMessage"))
    await setup.channel.start(inbox)
    assert isinstance(setup.channel, Groups)
    message = await setup.channel.post_group(setup.target, CARDS)
    await setup.channel.stop()
    successor = channel_for(setup.server)
    await successor.start(inbox)
    again = await successor.post_group(setup.target, CARDS[::-1])
    alone = await successor.post(setup.target, CARDS[1])
    await successor.stop()

    assert again == alone == message
    assert prompts(setup) == [ts_of(message)]
