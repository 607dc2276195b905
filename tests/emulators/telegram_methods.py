"""Carry out the Bot API's methods on the emulator's state."""

import json
from collections.abc import Callable

from tests.emulators.telegram_rules import (
    MAX_CAPTION,
    bad,
    check_commands,
    check_entities,
    check_markup,
    check_text,
    check_topic_name,
    check_webhook,
)
from tests.emulators.telegram_state import Json, TelegramState, Webhook

_MESSAGE = {"chat_id", "message_thread_id", "reply_parameters", "reply_markup"}
PARAMETERS = {
    "getMe": set[str](),
    "getChat": {"chat_id"},
    "setWebhook": {"url", "allowed_updates", "drop_pending_updates", "secret_token"},
    "deleteWebhook": {"drop_pending_updates"},
    "getWebhookInfo": set[str](),
    "setMyCommands": {"commands"},
    "createForumTopic": {"chat_id", "name"},
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
    may = {"can_join_groups": True, "can_read_all_group_messages": False}
    return {**state.bot, **may, "supports_inline_queries": False}


def _get_chat(state: TelegramState, parameters: dict[str, str]) -> Json:
    gifts = ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription")
    accepted = dict.fromkeys((*gifts, "gifts_from_channels"), False)
    full = {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": accepted}
    return {**state.chat(_chat(state, parameters)), **full}


def _set_webhook(state: TelegramState, parameters: dict[str, str]) -> bool:
    url, secret = parameters.get("url", ""), parameters.get("secret_token", "")
    if url:
        check_webhook(url, secret, local=state.local)
    _drop_pending(state, parameters)
    if "allowed_updates" in parameters:
        state.allowed = json.loads(parameters["allowed_updates"])
    state.webhook = Webhook(url, secret)
    return True


def _delete_webhook(state: TelegramState, parameters: dict[str, str]) -> bool:
    _drop_pending(state, parameters)
    state.webhook = Webhook()
    return True


def _drop_pending(state: TelegramState, parameters: dict[str, str]) -> None:
    if parameters.get("drop_pending_updates") == "true":
        state.updates.clear()


def _webhook_info(state: TelegramState, parameters: dict[str, str]) -> Json:
    info: Json = {
        "url": state.webhook.url,
        "has_custom_certificate": False,
        "pending_update_count": len(state.updates),
    }
    if state.webhook.error:
        info["last_error_message"] = state.webhook.error
        info["last_error_date"] = state.webhook.error_at
    return info


def _set_commands(state: TelegramState, parameters: dict[str, str]) -> bool:
    state.commands = check_commands(parameters["commands"])
    return True


def _create_topic(state: TelegramState, parameters: dict[str, str]) -> Json:
    chat = _chat(state, parameters)
    return state.open_topic(chat, check_topic_name(parameters.get("name", "")))


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
    if "message_thread_id" in parameters:
        state.topic(chat, int(parameters["message_thread_id"]))
        content["message_thread_id"] = int(parameters["message_thread_id"])
    content[entities] = check_entities(text, parameters.get(entities, ""))
    markup = check_markup(parameters.get("reply_markup", ""))
    if markup is not None:
        content["reply_markup"] = markup
    for name in ("link_preview_options", "reply_parameters"):
        if name in parameters:
            content[name] = json.loads(parameters[name])
    _check_reply(state, chat, content.get("reply_parameters"))
    state.rates.take(chat)
    return state.add_message(chat, state.bot, content)


def _check_reply(state: TelegramState, chat: int, reply: Json | None) -> None:
    if reply is None or reply.get("allow_sending_without_reply"):
        return
    if reply["message_id"] not in state.chats.get(chat, {}):
        raise bad("message to be replied not found")


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
    "getChat": _get_chat,
    "setWebhook": _set_webhook,
    "deleteWebhook": _delete_webhook,
    "getWebhookInfo": _webhook_info,
    "setMyCommands": _set_commands,
    "createForumTopic": _create_topic,
    "sendMessage": _send_message,
    "sendDocument": _send_document,
    "editMessageText": _edit,
    "answerCallbackQuery": _answer,
}
"""Methods that are answered at once; getUpdates waits and is in the server."""
