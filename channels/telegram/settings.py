"""Define the section ``channels.telegram``."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from core.settings import PlatformId, Section


def _numeric(account: str) -> str:
    if not account.isascii() or not account.isdigit() or account.startswith("0"):
        raise ValueError('must be a numeric user id such as "123456789", never a user name')
    return account


def _http(url: str) -> str:
    if not url.startswith(("https://", "http://")) or not url.isprintable() or " " in url:
        raise ValueError("must be an http(s) URL")
    return url.rstrip("/")


def _token(token: SecretStr) -> SecretStr:
    bot_id, colon, secret = token.get_secret_value().partition(":")
    if not (bot_id.isascii() and bot_id.isdigit() and colon and secret.isascii() and secret):
        raise ValueError("must look like 123456789:AA…, as @BotFather gave it")
    return token


class Mode(StrEnum):
    """How updates come in."""

    POLLING = "polling"


UserId = Annotated[PlatformId, AfterValidator(_numeric)]
"""A Telegram user id in decimal digits; user names can change hands, ids cannot."""
UserIds = Annotated[tuple[UserId, ...], Field(strict=False)]
"""A list of Telegram user ids."""


class TelegramSettings(Section):
    """A Telegram bot that asks people in chats."""

    token: Annotated[SecretStr, AfterValidator(_token)] = Field(
        description="the bot's token, as @BotFather gave it"
    )
    mode: Annotated[Mode, Field(strict=False)] = Field(
        default=Mode.POLLING, description="how answers come in: polling needs no public address"
    )
    api_base_url: Annotated[str, AfterValidator(_http)] = Field(
        default="https://api.telegram.org", description="where the Bot API is"
    )
    approvers: UserIds = Field(
        default=(), description="numeric ids of those who may answer; empty: nobody"
    )
    senders: UserIds = Field(
        default=(), description="numeric ids of those who may send /exec, /elevated and /run"
    )
    poll_timeout: Annotated[int, Field(ge=1, le=50)] = Field(
        default=25, description="seconds that one long poll stays open"
    )
