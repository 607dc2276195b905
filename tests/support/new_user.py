"""Do what people do while `sayso init` waits: send the code, answer the test prompt."""

from typing import Any
from urllib.error import HTTPError

from tests.emulators.discord_objects import CHANNEL
from tests.support.platform_processes import ANA, SLACK_ANA, Chat
from tests.support.prompt_copies import Copy
from tests.support.waiting import wait_until

BOB = 1002


def say(chat: Chat, user: int, text: str) -> None:
    """Send the bot a message, in the chat that prompts should appear in."""
    match chat.name:
        case "telegram":
            chat.control("say", chat=101, user=user, text=text)
        case "slack":
            member = {ANA: SLACK_ANA, BOB: "U0BOB0001"}[user]
            chat.control("slash", channel="C0OPS0001", user=member, line=text)
        case _:
            command, code = text.removeprefix("/").split()
            given = {"options": {"code": code}}
            wait_until("the commands", lambda: _sent(chat, CHANNEL, user, command, given))


def _sent(chat: Chat, channel: int, user: int, command: str, given: dict[str, Any]) -> bool:
    try:
        chat.control("slash", channel=channel, user=user, name=command, **given)
    except HTTPError:  # the bot registers its commands after it has connected
        return False
    return True


def allow(chat: Chat) -> None:
    """Press Allow once on the test prompt, as Ana."""

    def asked() -> Copy | None:
        return next((one for one in chat.copies() if one.buttons), None)

    chat.press(wait_until("the test prompt", asked), "Allow once")
