"""Define the section ``channels.telegram``."""

import re
from enum import StrEnum
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from core.model.identity import PERSON_NAME
from core.settings.base import PlatformId, Section

PUBLIC_API = "https://api.telegram.org"
_PORTS = (443, 80, 88, 8443)
_PERSON = re.compile(rf"person:{PERSON_NAME.pattern}")
_SECRET = re.compile(r"[A-Za-z0-9_-]{16,256}")


def _reference(account: str) -> str:
    if _PERSON.fullmatch(account):
        return account
    if account.startswith("person:"):
        raise ValueError('must name a person as in "person:ana": a-z, 0-9, "_" and "-"')
    if not account.isascii() or not account.isdigit() or account.startswith("0"):
        raise ValueError('must be a numeric user id such as "123456789", not a user name')
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


def _webhook_secret(secret: SecretStr) -> SecretStr:
    if not _SECRET.fullmatch(secret.get_secret_value()):
        raise ValueError('must be 16 to 256 random letters, digits, "_" and "-"')
    return secret


def _address(listen: str) -> str:
    try:
        parts = urlsplit(f"//{listen}")
        usable = parts.hostname and parts.port and parts.netloc == listen and "@" not in listen
    except ValueError:
        usable = None
    if not usable:
        raise ValueError('must be HOST:PORT such as "127.0.0.1:8443"')
    return listen


class Mode(StrEnum):
    """How updates come in."""

    POLLING = "polling"
    WEBHOOK = "webhook"


Reference = Annotated[PlatformId, AfterValidator(_reference)]
"""A Telegram user id in decimal digits, or ``person:NAME``; user names can change hands."""
References = Annotated[tuple[Reference, ...], Field(strict=False)]
"""A list of Telegram user ids and people."""


class WebhookSection(Section):
    """``channels.telegram.webhook``: where Telegram delivers updates in mode webhook."""

    url: Annotated[str, AfterValidator(_http)] = Field(
        description="the public https URL of this gateway; its path is the one listened on"
    )
    listen: Annotated[str, AfterValidator(_address)] = Field(
        default="127.0.0.1:8443",
        description="HOST:PORT to receive Telegram's requests on, behind a TLS proxy",
    )
    secret: Annotated[SecretStr, AfterValidator(_webhook_secret)] = Field(
        description="16 to 256 random letters, digits, _ and -; proves that Telegram is asking"
    )

    @property
    def address(self) -> tuple[str, int]:
        """Return the host and port of ``listen``."""
        parts = urlsplit(f"//{self.listen}")
        return parts.hostname or "", parts.port or 0

    @property
    def path(self) -> str:
        """Return the path of ``url``."""
        return urlsplit(self.url).path or "/"


class TelegramSettings(Section):
    """A Telegram bot that asks people in chats."""

    token: Annotated[SecretStr, AfterValidator(_token)] = Field(
        description="the bot's token, as @BotFather gave it"
    )
    mode: Annotated[Mode, Field(strict=False)] = Field(
        default=Mode.POLLING,
        description="how to receive updates: polling needs no public address, webhook does",
    )
    webhook: WebhookSection | None = Field(
        default=None, description="where Telegram delivers updates; needed for mode webhook"
    )
    api_base_url: Annotated[str, AfterValidator(_http)] = Field(
        default=PUBLIC_API, description="where the Bot API is"
    )
    approvers: References = Field(
        default=(), description="numeric ids or person:NAME who may answer; empty: nobody"
    )
    senders: References = Field(
        default=(),
        description="numeric ids or person:NAME who may send /agent, /exec, /elevated and /run",
    )
    poll_timeout: Annotated[int, Field(ge=1, le=50)] = Field(
        default=25, description="timeout of a long poll, in seconds"
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.mode is Mode.WEBHOOK and self.webhook is None:
            raise ValueError("mode webhook needs webhook.url and webhook.secret")
        if self.webhook is not None and self.api_base_url == PUBLIC_API:
            _public(self.webhook.url)
        return self


def _public(url: str) -> None:
    # A self-hosted Bot API server delivers to any address; Telegram's does not.
    parts = urlsplit(url)
    if parts.scheme != "https" or (parts.port or 443) not in _PORTS:
        ports = ", ".join(str(port) for port in _PORTS)
        raise ValueError(f"webhook.url must be https on one of the ports {ports}")
