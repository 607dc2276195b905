"""Read what a person did from an update, and ignore the updates that say nothing."""

from typing import Any

import pytest
from telegram import Update

from channels import button_payload
from channels.base import Inbound
from channels.commands import Approve, BareReply
from channels.telegram.inbound_events import Identity, inbound_from
from core.model.approval import ApprovalReply
from core.model.identity import Actor, Target

US = Identity(7, "sayso_bot")
ANA = {"id": 42, "is_bot": False, "first_name": "Ana"}
BOT = {"id": 7, "is_bot": True, "first_name": "Sayso", "username": "sayso_bot"}
OTHER_BOT = {"id": 8, "is_bot": True, "first_name": "Other"}
GROUP = {"id": -100, "type": "supergroup", "title": "Ops"}
PRIVATE = {"id": 42, "type": "private"}
ONCE = Approve("7k3f9q", ApprovalReply.ALLOW_ONCE)
PRESSED = Approve("01jz0000000000000000000000", ApprovalReply.ALLOW_ONCE)
PRESS = f"p|{button_payload.encode(PRESSED)}"


def message(text: str, /, **more: Any) -> dict[str, Any]:
    """Return a message of Ana's in the group."""
    return {"message_id": 5, "date": 1, "chat": GROUP, "from": ANA, "text": text, **more}


def read(**update: Any) -> Inbound | None:
    """Return what is read from an update."""
    found = Update.de_json({"update_id": 9, **update}, None)
    assert found is not None
    return inbound_from(found, US)


def typed(text: str, /, **more: Any) -> Inbound | None:
    """Return what is read from a message."""
    return read(message=message(text, **more))


def test_a_typed_command_is_its_senders() -> None:
    """With the place, and a key that makes a second delivery the same."""
    found = typed("/approve 7K3F9Q allow-once")

    assert found is not None
    assert (found.actor, found.command) == (Actor("telegram", "42", "Ana"), ONCE)
    assert (found.place, found.key) == (Target("telegram", "-100"), "telegram:7:9")
    assert (found.replied_to, found.private, found.message) == ("", False, "5")


@pytest.mark.parametrize(
    "more",
    [
        {"from": OTHER_BOT},
        {"sender_chat": GROUP},
        {"forward_origin": {"type": "hidden_user", "date": 1, "sender_user_name": "Ana"}},
        {"via_bot": OTHER_BOT},
        {"sender_business_bot": OTHER_BOT},
        {"text": ""},
        {"from": None},
    ],
)
def test_who_did_not_write_it_answers_nothing(more: dict[str, Any]) -> None:
    """Another bot, an anonymous admin, a forwarded message, one of an inline or a business bot."""
    assert typed("/approve 7K3F9Q allow-once", **more) is None


def test_an_update_of_another_kind_is_nobodys() -> None:
    """What was edited or posted by a channel."""
    assert read(edited_message=message("/approve 7K3F9Q allow-once")) is None


@pytest.mark.parametrize(
    ("whose", "command"),
    [(BOT, BareReply(ApprovalReply.DENY)), (ANA, None), (OTHER_BOT, None), (None, None)],
)
def test_a_bare_word_counts_under_our_own_message_alone(
    whose: dict[str, Any] | None, command: BareReply | None
) -> None:
    """Under a person's, another bot's or an unknown one's it is talk."""
    prompt = {"message_id": 3, "date": 1, "chat": GROUP, "from": whose, "text": "a prompt"}
    found = typed("deny", reply_to_message=prompt)

    assert (None if found is None else found.command) == command
    assert found is None or found.replied_to == "3"


def test_a_topic_is_a_place_of_its_own() -> None:
    """Elsewhere the number of a thread names the first message, to which no one can write."""
    for is_topic, thread in ((True, "11"), (False, "")):
        found = typed("/pending", message_thread_id=11, is_topic_message=is_topic)
        assert found is not None
        assert found.place == Target("telegram", "-100", thread=thread)


def test_a_private_chat_is_private() -> None:
    """Where no one else reads along."""
    found = typed("/pending", chat=PRIVATE)

    assert found is not None
    assert found.private
    assert found.place == Target("telegram", "42")


@pytest.mark.parametrize(
    ("more", "place", "replied_to"),
    [
        ({"message": message("a prompt", **{"from": BOT})}, "-100", "5"),
        ({"message": {"message_id": 5, "date": 0, "chat": GROUP}}, "-100", "5"),
        ({}, "42", ""),
    ],
)
def test_a_press_counts_whatever_is_left_of_the_message(
    more: dict[str, Any], place: str, replied_to: str
) -> None:
    """The button says what it answers; a message that is too old still has its chat and number."""
    query = {"id": "1", "from": ANA, "chat_instance": "1", "data": PRESS, **more}
    found = read(callback_query=query)

    assert found is not None
    assert (found.actor.account, found.command) == ("42", PRESSED)
    assert (found.place.to, found.replied_to) == (place, replied_to)


@pytest.mark.parametrize("more", [{"from": OTHER_BOT}, {"data": None}, {"data": ""}])
def test_a_press_of_a_bot_or_without_words_is_nobodys(more: dict[str, Any]) -> None:
    """There is nothing to answer."""
    query = {"id": "1", "from": ANA, "chat_instance": "1", "data": PRESS, **more}

    assert read(callback_query=query) is None
