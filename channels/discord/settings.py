"""Define the section ``channels.discord``."""

from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from core.settings import PlatformId, Section

_TOKEN_PARTS = 3


def _snowflake(number: str) -> str:
    if not number.isascii() or not number.isdigit() or number.startswith("0"):
        raise ValueError(
            'must be a numeric id such as "80351110224678912", never a name: turn on Developer '
            "Mode in Discord, then right-click and choose Copy ID"
        )
    return number


def _url(url: str, *schemes: str) -> str:
    if not url.startswith(schemes) or not url.isprintable() or " " in url:
        raise ValueError(f"must be a URL that starts with {' or '.join(schemes)}")
    return url.rstrip("/")


def _http(url: str) -> str:
    return _url(url, "https://", "http://")


def _socket(url: str) -> str:
    return _url(url, "wss://", "ws://")


def _token(token: SecretStr) -> SecretStr:
    parts = token.get_secret_value().split(".")
    readable = all(part and part.isascii() and part.isprintable() for part in parts)
    if len(parts) != _TOKEN_PARTS or not readable or " " in token.get_secret_value():
        raise ValueError("must look like MTIz….Gabc12.…, as the Developer Portal showed it")
    return token


Snowflake = Annotated[PlatformId, AfterValidator(_snowflake)]
"""A Discord id in decimal digits; names can change hands, ids cannot."""
Snowflakes = Annotated[tuple[Snowflake, ...], Field(strict=False)]
"""A list of Discord ids."""


class DiscordSettings(Section):
    """A Discord bot that asks people in servers and direct messages."""

    token: Annotated[SecretStr, AfterValidator(_token)] = Field(
        description="the bot's token, as the Developer Portal showed it (Bot, Reset Token)"
    )
    guilds: Snowflakes = Field(
        default=(),
        description="ids of the servers whose answers count; empty: all that the bot is in",
    )
    api_base_url: Annotated[str, AfterValidator(_http)] = Field(
        default="https://discord.com/api/v10", description="where the REST API is"
    )
    gateway_url: Annotated[str, AfterValidator(_socket)] | None = Field(
        default=None, description="where the gateway is; null: where the REST API says"
    )
    message_content: bool = Field(
        default=False,
        description="whether plain text in servers counts without a mention of the bot; needs the "
        "privileged Message Content intent",
    )
    approvers: Snowflakes = Field(
        default=(), description="user ids of those who may answer; empty: nobody"
    )
    senders: Snowflakes = Field(
        default=(), description="user ids of those who may send /exec, /elevated and /run"
    )
