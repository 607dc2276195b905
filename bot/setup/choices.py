"""Define what a new user chooses: where people are asked, with which secrets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Platform(StrEnum):
    """Where people are asked."""

    TERMINAL = "terminal"
    TELEGRAM = "telegram"
    SLACK = "slack"
    DISCORD = "discord"


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret of a platform: its key in the channel's section, its file, and where to get it."""

    key: str
    file: str
    origin: str


SECRETS: Final[Mapping[Platform, tuple[Secret, ...]]] = MappingProxyType(
    {
        Platform.TERMINAL: (),
        Platform.TELEGRAM: (
            Secret("token", "telegram-token", "send /newbot to @BotFather in Telegram"),
        ),
        Platform.SLACK: (
            Secret("botToken", "slack-bot-token", "xoxb-…: api.slack.com/apps, Install App"),
            Secret("appToken", "slack-app-token", "xapp-…: api.slack.com/apps, Basic Information"),
        ),
        Platform.DISCORD: (
            Secret("token", "discord-token", "discord.com/developers, your application, Bot"),
        ),
    }
)
"""docs/how-to/<platform>.md shows how to create the app or the bot."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A platform, with the text of each of its secrets by key, and where each comes from."""

    platform: Platform
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    origins: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contact:
    """Who answers, and where prompts are shown, as written in the configuration.

    ``name`` is what the platform currently calls the account; it is shown, but not written.
    """

    account: str
    to: str
    name: str = ""
