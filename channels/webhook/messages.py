"""Format cards as JSON and parse answers from JSON; pure."""

import json
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from channels import button_payload
from channels.base import Inbound, Reply
from channels.cards.card import Choice, NoticeCard, OutcomeCard, PromptCard
from channels.cards.lines import facts
from channels.commands import Command
from channels.grammar import parse
from core.errors import BadRequest
from core.model.approval import ApprovalReply
from core.model.identity import Actor, Target

NAME = "webhook"
_Name = Annotated[str, Field(min_length=1, max_length=200)]
_Json = dict[str, object]


def prompt(card: PromptCard) -> _Json:
    """Return a question: every fact in the order in which it should be read, and the buttons."""
    return {
        "type": "prompt",
        "id": card.id,
        "code": card.code,
        "command": card.command.text,
        "shell": card.shell.text,
        "facts": [{"label": fact.label, "value": fact.value.text} for fact in facts(card)],
        "check": card.digest,
        "expiresAtMs": card.expires_at_ms,
        "buttons": [{"label": label, "press": press} for label, press in _buttons(card)],
        "typed": f"/approve {card.code} {card.replies}",
    }


def _buttons(card: PromptCard) -> tuple[tuple[str, str], ...]:
    once = (("Allow once", button_payload.answer(ApprovalReply.ALLOW_ONCE, card.id)),)
    always = (("Always allow…", f"c:{card.id}"),)
    deny = (("Deny", button_payload.answer(ApprovalReply.DENY, card.id)),)
    return (once if card.approvable else ()) + (always if card.offers_always else ()) + deny


def outcome(card: OutcomeCard) -> _Json:
    """Return the final state of a question."""
    return {
        "type": "outcome",
        "id": card.id,
        "code": card.code,
        "state": card.state,
        "command": card.command.text,
        "headline": card.headline.text,
        "detail": card.detail.text,
        "agent": card.agent.text,
        "why": card.clause.text,
        "stored": [one.text for one in card.stored],
        "check": card.digest,
    }


def notice(card: NoticeCard) -> _Json:
    """Return a message that asks for nothing."""
    choices = {"choices": _choices(card.choices)} if card.choices else {}
    return {"type": "notice", "text": card.text.text, **choices}


def body_of(target: Target, message: str, content: _Json) -> bytes:
    """Return what is posted: the content with its place and the message's id."""
    place = {"to": target.to, "account": target.account, "thread": target.thread}
    return json.dumps({"message": message, "place": place, **content}).encode()


def encode_reply(reply: Reply) -> bytes:
    """Return the response to an answer."""
    choices = _choices(reply.choices)
    return json.dumps({"tone": reply.tone, "text": reply.text.text, "choices": choices}).encode()


def _choices(offered: tuple[Choice, ...]) -> list[dict[str, str]]:
    return [
        {"label": choice.label, "press": button_payload.encode(choice.command)}
        for choice in offered
    ]


class AnswerBody(BaseModel):
    """What your service sends: ``text`` as typed, or ``press`` as a button carried it.

    ``event`` is the same if an event is repeated; ``message`` is the id of the message that was
    pressed or replied to.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)

    event: _Name
    account: _Name
    name: Annotated[str, Field(max_length=200)] = ""
    to: _Name
    thread: Annotated[str, Field(max_length=200)] = ""
    message: Annotated[str, Field(max_length=200)] = ""
    text: Annotated[str, Field(max_length=4000)] | None = None
    press: Annotated[str, Field(max_length=64)] | None = None


def read(body: bytes) -> Inbound | None:
    """Parse an answer; ``None`` if the text is ordinary talk.

    Raises:
        BadRequest: the body does not have this shape; the message names the key.
    """
    try:
        said = AnswerBody.model_validate_json(body)
    except ValidationError as wrong:
        faults = (
            f"{'.'.join(str(part) for part in fault['loc']) or 'body'}: {fault['msg']}"
            for fault in wrong.errors(include_url=False, include_input=False)
        )
        raise BadRequest("; ".join(faults)) from None
    if (said.text is None) == (said.press is None):
        raise BadRequest("give either text or press")
    command = _command(said)
    if command is None:
        return None
    actor = Actor(NAME, said.account, said.name)
    place = Target(NAME, said.to, thread=said.thread)
    return Inbound(actor, place, command, f"{NAME}:{said.event}", said.message)


def _command(said: AnswerBody) -> Command | None:
    if said.press is not None:
        return button_payload.decode(said.press)
    return parse(said.text or "", bot_name="sayso", is_reply=bool(said.message))
