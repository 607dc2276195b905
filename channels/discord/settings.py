"""Define the section ``channels.discord``."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from core.model.identity import PERSON_NAME
from core.settings.base import PlatformId, Section

ROLE = "role:"
"""How an approver or sender that names a role of a server begins."""
PERSON = "person:"
"""How an approver or sender that names a person in the people directory begins."""

_TOKEN_PARTS = 3


def _snowflake(number: str) -> str:
    if not number.isascii() or not number.isdigit() or number.startswith("0"):
        raise ValueError(
            'must be a numeric id such as "80351110224678912", never a name: turn on Developer '
            "Mode in Discord, then right-click and choose Copy ID"
        )
    return number


def _reference(text: str) -> str:
    if text.startswith(ROLE):
        return ROLE + _snowflake(text.removeprefix(ROLE))
    if not text.startswith(PERSON):
        return _snowflake(text)
    if not PERSON_NAME.fullmatch(text.removeprefix(PERSON)):
        raise ValueError(
            "must name a person as `sayso people` lists it: lowercase letters, digits, - and _"
        )
    return text


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
References = Annotated[
    tuple[Annotated[PlatformId, AfterValidator(_reference)], ...], Field(strict=False)
]
"""A list of user ids, roles (``role:ID``) and people in the directory (``person:NAME``)."""


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
    approvers: References = Field(
        default=(),
        description="who may answer: user ids, role:ID (of a server in guilds) and person:NAME; "
        "empty: nobody",
    )
    senders: References = Field(
        default=(),
        description="who may send /agent, /exec, /elevated and /run: user ids, role:ID and "
        "person:NAME",
    )

    @property
    def roles(self) -> frozenset[str]:
        """Return the roles that are used anywhere, as ``role:ID``."""
        return frozenset(ref for ref in (*self.approvers, *self.senders) if ref.startswith(ROLE))

    @model_validator(mode="after")
    def _roles_of_listed_servers(self) -> Self:
        if self.roles and not self.guilds:
            raise ValueError(
                "roles count only in servers that you list: add the server's id to "
                "channels.discord.guilds"
            )
        # In Discord, the role that everybody has has the id of its server.
        everybody = {ROLE + guild for guild in self.guilds} & self.roles
        if everybody:
            raise ValueError(f"{min(everybody)} is the @everyone role; use an assigned role")
        return self
