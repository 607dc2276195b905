"""Show one message of each platform side by side, each as on a phone."""

from pathlib import Path

from tests.emulators.page import discord, slack, telegram
from tests.emulators.page.markup import Html, Json, element

STYLE = Path(__file__).with_name("page.css")


def sheet(posted: dict[str, Json], bot: str) -> str:
    """Return the page: a message by platform; ``bot`` is the name of the app in Slack."""
    cards = (
        _card("telegram", "Telegram", "a chat with the bot", telegram.message(posted["telegram"])),
        _card("slack", "Slack", "# ops", slack.message(posted["slack"], bot)),
        _card("discord", "Discord", "# ops", discord.message(posted["discord"])),
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<title>One prompt on three platforms</title>"
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="page.css"></head>'
        f"<body>{element('main', '', *cards).text}</body></html>"
    )


def _card(look: str, platform: str, place: str, message: Html) -> Html:
    bar = element("div", "bar", element("b", "", platform), element("span", "", place))
    return element("section", f"card {look}", bar, message)
