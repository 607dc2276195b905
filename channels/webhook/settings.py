"""Define the section ``channels.webhook``."""

from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from core.settings.base import Section, Words, host_and_port, listen_address

_SHORTEST_SECRET = 32


def _url(url: str) -> str:
    if not url.startswith(("https://", "http://")) or not url.isprintable() or " " in url:
        raise ValueError("must be an http(s) URL")
    return url


def _secret(secret: SecretStr) -> SecretStr:
    value = secret.get_secret_value()
    if len(value) < _SHORTEST_SECRET or not value.isascii() or not value.isprintable():
        raise ValueError(
            f"must have {_SHORTEST_SECRET} printable ASCII characters or more, such as the output "
            "of `openssl rand -hex 32`"
        )
    return secret


class WebhookSettings(Section):
    """Your own service, which shows prompts and sends answers back."""

    url: Annotated[str, AfterValidator(_url)] = Field(description="where prompts are posted to")
    secret: Annotated[SecretStr, AfterValidator(_secret)] = Field(
        description="the signing key for both directions; at least 32 characters"
    )
    listen: Annotated[str, AfterValidator(listen_address("127.0.0.1:8790"))] = Field(
        default="127.0.0.1:8790", description="HOST:PORT to receive answers on, at /sayso/answer"
    )
    approvers: Words = Field(
        default=(), description="accounts of your service that may answer; empty: nobody"
    )
    senders: Words = Field(
        default=(),
        description="accounts of your service that may send /agent, /exec, /elevated and /run",
    )

    @property
    def address(self) -> tuple[str, int]:
        """Return the host and port of ``listen``."""
        return host_and_port(self.listen)
