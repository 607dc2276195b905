"""Leave each field out of each platform's answers, and answer each call with pages instead.

No lane dies, no traceback is written, and no channel is silent: a question is asked, or the channel
says why not; the other platform notices nothing; once the answers are correct again questions are
asked without a restart.
"""

from pathlib import Path

import pytest

from tests.contracts.odd_answers import ODD, odd
from tests.emulators.alterations import Field
from tests.faults.odd_platforms import BESIDE, Odd, Story, drop, nothing, page, play

NAMES = tuple(BESIDE)
SAMPLE: dict[str, tuple[Field, ...]] = {
    "slack": (("auth.test", "bot_id"), ("message", "payload.event.parent_user_id")),
    "discord": (("getMessages", "[].components"), ("INTERACTION_CREATE", "message.type")),
    "telegram": (
        ("getUpdates", "result[].message.chat"),
        ("getUpdates", "result[].callback_query.message"),
    ),
}
UNKNOWABLE: dict[str, tuple[Field, ...]] = {
    # Without these a message is not a message, has no author, or is ordinary talk; without an
    # action id the person is told that the button is from another version.
    "slack": (
        ("interactive", "payload.actions[].action_id"),
        *(("message", name) for name in ("envelope_id", "type", "payload", "payload.event")),
        *(("message", f"payload.event.{name}") for name in ("type", "user", "text", "thread_ts")),
    ),
    # A reply that names no prompt of the place is answered with what can be said. Without the
    # interval there is no connection, which is reported, but the library leaves its socket
    # unclosed.
    "discord": (
        ("op 10", "heartbeat_interval"),
        ("MESSAGE_CREATE", "message_reference"),
        ("MESSAGE_CREATE", "referenced_message"),
        ("MESSAGE_CREATE", "guild_id"),
    ),
    # Anyone may be the author of a message without a name, or of a reply to no one known.
    "telegram": tuple(
        ("getUpdates", f"result[].{name}")
        for name in (
            *("message", "message.from", "message.text", "message.reply_to_message"),
            *("message.reply_to_message.from", "callback_query", "callback_query.data"),
        )
    ),
}
"""Fields that are left alone: without them nothing can be known for an answer, and why."""
FIELD_PIECES = 8
"""This many tests share a platform's fields, so that several processes can run them."""
CALLS = {
    "slack": (
        *("auth.test", "apps.connections.open", "chat.postMessage", "chat.update"),
        *("chat.postEphemeral", "conversations.history"),
    ),
    "discord": (
        *("getMe", "getApplication", "getGateway", "getCommands", "putCommands"),
        *("getChannel", "createMessage", "getMessages", "editMessage", "callback"),
    ),
    "telegram": (
        *("getMe", "deleteWebhook", "getUpdates", "setMyCommands"),
        *("sendMessage", "editMessageText", "answerCallbackQuery"),
    ),
}
"""The calls of a gateway that asks and is answered; each other call that a channel makes is in
``test_channel_odd_calls.py`` of its platform."""

MAYBE = {"discord": {"followup"}}
"""Calls that are made when a press was answered with the prompt's own end before its reply."""


async def run(
    tmp_path: Path, name: str, cases: dict[str, Odd], caplog: pytest.LogCaptureFixture
) -> list[str]:
    """Play each case with its own home; return the faults."""
    wrong = []
    for number, (case, arrange) in enumerate(cases.items()):
        story = await play(tmp_path / str(number), name, arrange, caplog)
        wrong += [f"{name} {case}: {fault}" for fault in story.faults()]
    return wrong


@pytest.mark.parametrize("name", NAMES)
async def test_a_platform_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """Negative control: without a fault all is asked and answered, and nothing is reported."""
    story = await play(tmp_path / "home", name, nothing, caplog)

    assert [] == story.faults()
    assert (2, 2, 2) == (story.asked, story.shown, story.answered)
    assert [] == story.said
    assert len(story.fields) > 30
    assert story.calls - MAYBE.get(name, set()) == set(CALLS[name])


@pytest.mark.parametrize("name", NAMES)
async def test_some_fields_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """A sample of the deep test below."""
    cases = {": ".join(one): drop(one) for one in SAMPLE[name]}

    assert [] == await run(tmp_path, name, cases, caplog)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("piece", range(FIELD_PIECES))
@pytest.mark.parametrize("name", NAMES)
async def test_every_field_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, piece: int
) -> None:
    """Each field that the platform sends when all goes well is left out once."""
    whole = await play(tmp_path / "whole", name, nothing, caplog)
    known = sorted(one for one in whole.fields if one not in UNKNOWABLE[name])
    cases = {": ".join(one): drop(one) for one in known[piece::FIELD_PIECES]}
    wrong = await run(tmp_path, name, cases, caplog)

    print(f"{name}: {len(cases)} of {len(known)} fields left out, {len(wrong)} faults")
    assert not wrong, "\n".join(wrong)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(("name", "call"), [(name, one) for name in NAMES for one in CALLS[name]])
async def test_every_call_answered_by_a_page(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, call: str
) -> None:
    """404, 403, 5xx, HTML, empty bodies and JSON of another kind at each call."""
    cases = {f"{call}: {how}": page(odd(call, how)) for how in ODD}
    wrong = await run(tmp_path, name, cases, caplog)

    print(f"{name}: {len(cases)} pages in the place of {call}, {len(wrong)} faults")
    assert not wrong, "\n".join(wrong)


def test_the_judge_finds_what_is_wrong() -> None:
    """Negative control: silence, a traceback, a delayed neighbour and no recovery are faults."""
    asked = Story("slack", asked=2, shown=2, answered=2, beside=True, recovered=True)
    silent = Story("slack", asked=2, shown=1, answered=1, beside=True, recovered=True)
    told = Story("slack", asked=2, said=["Slack failed"], beside=True, recovered=True)
    worst = Story("slack", asked=2, tracebacks=["KeyError"])

    assert [] == asked.faults() == told.faults()
    assert 1 == len(silent.faults())
    assert 4 == len(worst.faults())
