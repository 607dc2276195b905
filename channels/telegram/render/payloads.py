"""Render a prompt as the bodies of Bot API calls; pure."""

from channels.cards import PromptCard
from channels.telegram.render.messages import Message, render_prompt
from core.model.identity import Target


def payloads(card: PromptCard, target: Target, bot_name: str = "") -> list[dict[str, object]]:
    """Return the bodies of the sendMessage and sendDocument calls that post a prompt, in order.

    A file travels beside its body as a form field; its text is shown here as ``document``.
    """
    return [body(message, target) for message in render_prompt(card, bot_name)]


def approvable(card: PromptCard) -> bool:
    """Return whether Telegram is offered the whole command, so that it may be allowed here."""
    return card.approvable


def body(message: Message, target: Target) -> dict[str, object]:
    """Return the body of one call."""
    made: dict[str, object] = {"chat_id": target.to}
    if target.thread:
        made["message_thread_id"] = int(target.thread)
    entities = [entity.to_dict() for entity in message.entities]
    if message.file is not None:
        made |= {"caption": message.text, "caption_entities": entities}
        return made | {"document": message.file.decode(), "file_name": message.file_name}
    made |= {"text": message.text, "entities": entities}
    made["link_preview_options"] = {"is_disabled": True}
    if message.markup is not None:
        made["reply_markup"] = message.markup.to_dict()
    return made
