"""Define the section ``channels.slack``."""

import re
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from core.model.identity import PERSON_NAME
from core.settings.base import Seconds, Section, host_and_port, listen_address

PATH = "/slack/events"
"""The path of Slack's requests in HTTP mode."""

GROUP, PERSON = "group:", "person:"
"""Prefixes of references to a user group and to the people directory."""

_ACCOUNT = re.compile(r"[UW][A-Z0-9]{5,20}")
_GROUP = re.compile(r"group:S[A-Z0-9]{5,20}")
_PERSON = re.compile(rf"person:{PERSON_NAME.pattern}")


def _reference(reference: str) -> str:
    if reference.startswith(PERSON) and not _PERSON.fullmatch(reference):
        raise ValueError('must name a person as in "person:ana": a-z, 0-9, "_" and "-"')
    if reference.startswith(GROUP) and not _GROUP.fullmatch(reference):
        raise ValueError('must name a user group by its id such as "group:S012AB3CD"')
    if not any(kind.fullmatch(reference) for kind in (_ACCOUNT, _GROUP, _PERSON)):
        raise ValueError('must be a member id such as "U012AB3CD", never a name')
    return reference


def _token(kind: str, secret: SecretStr) -> SecretStr:
    value = secret.get_secret_value()
    if not value.startswith(f"{kind}-") or not value.isascii() or not value.isprintable():
        raise ValueError(f"must start with {kind}-, as the app's pages at Slack show it")
    return secret


def _bot_token(secret: SecretStr) -> SecretStr:
    return _token("xoxb", secret)


def _app_token(secret: SecretStr) -> SecretStr:
    return _token("xapp", secret)


def _signing_secret(secret: SecretStr) -> SecretStr:
    value = secret.get_secret_value()
    if not value.isascii() or not value.isalnum():
        raise ValueError("must be the Signing Secret of the app's Basic Information page")
    return secret


def _base_url(url: str) -> str:
    if not url.startswith(("https://", "http://")) or not url.isprintable() or " " in url:
        raise ValueError("must be an http(s) URL")
    return url.rstrip("/") + "/"


class Mode(StrEnum):
    """How answers come in."""

    SOCKET = "socket"
    HTTP = "http"


Reference = Annotated[str, AfterValidator(_reference)]
"""A member id, ``group:`` with a user group's id, or ``person:NAME``; names can change hands."""
References = Annotated[tuple[Reference, ...], Field(strict=False)]
"""A list of Slack members, user groups and people."""


class SlackSettings(Section):
    """A Slack app that asks people in channels and direct messages."""

    bot_token: Annotated[SecretStr, AfterValidator(_bot_token)] = Field(
        description="the Bot User OAuth Token, xoxb-…"
    )
    mode: Annotated[Mode, Field(strict=False)] = Field(
        default=Mode.SOCKET, description="how to receive answers: socket needs no public address"
    )
    app_token: Annotated[SecretStr, AfterValidator(_app_token)] | None = Field(
        default=None, description="the app-level token, xapp-…; needed for mode socket"
    )
    signing_secret: Annotated[SecretStr, AfterValidator(_signing_secret)] | None = Field(
        default=None, description="the Signing Secret; needed for mode http"
    )
    api_base_url: Annotated[str, AfterValidator(_base_url)] = Field(
        default="https://slack.com/api/", description="where the Web API is"
    )
    listen: Annotated[str, AfterValidator(listen_address("127.0.0.1:3000"))] = Field(
        default="127.0.0.1:3000",
        description=f"HOST:PORT for mode http; Slack sends requests to {PATH}",
    )
    approvers: References = Field(
        default=(),
        description="member ids, group:ID or person:NAME of those who may answer; empty: nobody",
    )
    senders: References = Field(
        default=(),
        description="ids of those who may send /agent, /exec, /elevated and /run; empty: nobody",
    )
    ping_interval: Seconds = Field(default=3.0, description="heartbeat interval in seconds")

    @property
    def address(self) -> tuple[str, int]:
        """Return the host and port of ``listen``."""
        return host_and_port(self.listen)

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the user groups among those who may answer or send, each once."""
        named = (one for one in (*self.approvers, *self.senders) if one.startswith(GROUP))
        return tuple(dict.fromkeys(named))

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.mode is Mode.SOCKET and self.app_token is None:
            raise ValueError("mode socket needs appToken: make one with connections:write")
        if self.mode is Mode.HTTP and self.signing_secret is None:
            raise ValueError("mode http needs signingSecret: without it anyone could answer")
        return self
