"""Carry out the Bot API's methods on the kept state."""

import json
from collections.abc import Callable

from tests.emulators.telegram_rules import (
    MAX_CAPTION,
    bad,
    check_entities,
    check_markup,
    check_text,
)
from tests.emulators.telegram_state import Json, TelegramState

_MESSAGE = {"chat_id", "message_thread_id", "reply_parameters", "reply_markup"}
PARAMETERS = {
    "getMe": set[str](),
    "deleteWebhook": {"drop_pending_updates"},
    "getUpdates": {"offset", "limit", "timeout", "allowed_updates"},
    "sendMessage": {*_MESSAGE, "text", "entities", "link_preview_options"},
    "sendDocument": {*_MESSAGE, "document", "caption", "caption_entities"},
    "editMessageText": {
        *("chat_id", "message_id", "text", "entities", "link_preview_options", "reply_markup"),
    },
    "answerCallbackQuery": {"callback_query_id", "text", "show_alert"},
}
"""The parameters that each method takes; any other is refused, to catch mistakes."""


def _get_me(state: TelegramState, parameters: dict[str, str]) -> Json:
    return {**state.bot, "can_join_groups": True, "supports_inline_queries": False}


def _delete_webhook(state: TelegramState, parameters: dict[str, str]) -> bool:
    if parameters.get("drop_pending_updates") == "true":
        state.updates.clear()
    return True


def _send_message(state: TelegramState, parameters: dict[str, str]) -> Json:
    text = parameters.get("text", "")
    check_text(text)
    return _send(state, parameters, {"text": text}, text, "entities")


def _send_document(state: TelegramState, parameters: dict[str, str]) -> Json:
    # The library names the file part itself and refers to it as attach://name.
    content = next(v for k, v in parameters.items() if k.startswith("document"))
    caption = parameters.get("caption", "")
    check_text(caption or "-", MAX_CAPTION)
    document = {"file_id": "f", "file_unique_id": "f", "text": content}
    message = {"caption": caption, "document": document}
    return _send(state, parameters, message, caption, "caption_entities")


def _send(
    state: TelegramState, parameters: dict[str, str], content: Json, text: str, entities: str
) -> Json:
    chat = _chat(state, parameters)
    content[entities] = check_entities(text, parameters.get(entities, ""))
    markup = check_markup(parameters.get("reply_markup", ""))
    if markup is not None:
        content["reply_markup"] = markup
    for name in ("link_preview_options", "reply_parameters"):
        if name in parameters:
            content[name] = json.loads(parameters[name])
    if "message_thread_id" in parameters:
        content["message_thread_id"] = int(parameters["message_thread_id"])
    return state.add_message(chat, state.bot, content)


def _edit(state: TelegramState, parameters: dict[str, str]) -> Json:
    chat = _chat(state, parameters)
    message = state.message(chat, int(parameters["message_id"]))
    text = parameters.get("text", "")
    check_text(text)
    entities = check_entities(text, parameters.get("entities", ""))
    markup = check_markup(parameters.get("reply_markup", ""))
    if (text, entities, markup) == (
        message["text"],
        message["entities"],
        message.get("reply_markup"),
    ):
        raise bad("message is not modified: specified new message content is the same")
    message.update(text=text, entities=entities, edit_date=message["date"])
    message.pop("reply_markup", None)
    if markup is not None:
        message["reply_markup"] = markup
    return message


def _answer(state: TelegramState, parameters: dict[str, str]) -> bool:
    alert = parameters.get("show_alert") == "true"
    state.answer(parameters["callback_query_id"], parameters.get("text", ""), alert=alert)
    return True


def _chat(state: TelegramState, parameters: dict[str, str]) -> int:
    chat = int(parameters.get("chat_id", "0"))
    if not chat:
        raise bad("chat_id is empty")
    state.reachable(chat)
    return chat


METHODS: dict[str, Callable[[TelegramState, dict[str, str]], object]] = {
    "getMe": _get_me,
    "deleteWebhook": _delete_webhook,
    "sendMessage": _send_message,
    "sendDocument": _send_document,
    "editMessageText": _edit,
    "answerCallbackQuery": _answer,
}
"""What is answered at once; getUpdates waits and lives in the server."""
