"""Define ``channels.plugins[]``: what a third-party channel is given."""

from typing import Annotated

from pydantic import Field, SecretStr

from core.settings.base import Section, Word, Words


class PluginSettings(Section):
    """A third-party channel, found by its entry point ``sayso.channels``."""

    name: Word = Field(description="the entry point's name, which is the channel's name as well")
    token: SecretStr | None = Field(default=None, description="a secret that the channel needs")
    options: Annotated[dict[str, object], Field(strict=False)] = Field(
        default_factory=dict, description="whatever else the channel takes, as it documents"
    )
    approvers: Words = Field(default=(), description="ids of approvers; empty: nobody")
    senders: Words = Field(
        default=(), description="ids of those who may send /agent, /exec, /elevated and /run"
    )
