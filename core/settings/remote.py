"""Shape ``remote``: exec for other machines' agents (S4), off unless it is asked for."""

from typing import Annotated

from pydantic import AfterValidator, Field

from core.model.address import Address
from core.settings.base import Section, Word


def _address(text: str) -> str:
    return str(Address.parse(text))


Addresses = Annotated[
    tuple[Annotated[Word, AfterValidator(_address)], ...], Field(strict=False, max_length=8)
]


class RemoteSection(Section):
    """``remote``: run listed commands for agents on other machines."""

    acl: Word | None = Field(
        default=None,
        description="the access list; null: /etc/sayso/exec-acl.toml, and where that is missing "
        "remote exec is off; relative to $SAYSO_HOME",
    )
    listen: Addresses = Field(
        default=(),
        description="where requests are taken: 127.0.0.1:PORT or [::1]:PORT with TLS, or "
        "unix:/path; none: no requests are taken",
    )
