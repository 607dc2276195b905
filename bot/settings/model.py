"""Combine the sections of core and of the channels into one frozen model."""

import hashlib
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import Field
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bot.settings.environment import Tree
from bot.settings.schema import Shape, shape_of
from channels.discord.settings import DiscordSettings
from channels.plugin import PluginSettings
from channels.slack.settings import SlackSettings
from channels.telegram.settings import TelegramSettings
from channels.webhook.settings import WebhookSettings
from core.settings import CoreSettings
from core.settings.approvals import LocalAccounts, LocalApprovers
from core.settings.base import Section, section
from core.trust.sealing import SEALING_KEY, Seals

_MARK_DIGITS: Final = 8
trees: ContextVar[tuple[Tree, ...]] = ContextVar("trees", default=())
"""The content of the sources of the ``Settings`` under construction, strongest first.

pydantic-settings asks the class for its sources and passes nothing on; a context variable keeps two
reads in two threads apart.
"""


class TreeSource(PydanticBaseSettingsSource):
    """Provides a tree that has been read and examined."""

    def __init__(self, settings_cls: type[BaseSettings], tree: Tree) -> None:
        super().__init__(settings_cls)
        self.tree = tree

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[object, str, bool]:
        """Return one top-level section as it was read; nothing is left to decode."""
        del field  # the tree is keyed by the file's names, which are the fields' own here
        return self.tree.get(field_name), field_name, False

    def __call__(self) -> Tree:
        """Return the whole tree."""
        return self.tree


class ChannelsSection(Section):
    """``channels``: where people are asked."""

    telegram: TelegramSettings | None = Field(
        default=None, description="a Telegram bot; null: no Telegram"
    )
    slack: SlackSettings | None = Field(default=None, description="a Slack app; null: no Slack")
    discord: DiscordSettings | None = Field(
        default=None, description="a Discord bot; null: no Discord"
    )
    webhook: WebhookSettings | None = Field(
        default=None, description="your own service, over signed HTTP; null: none"
    )
    companion: LocalAccounts | None = Field(
        default=None, description="`sayso companion` of the gateway's user; null: it is not asked"
    )
    plugins: Annotated[tuple[PluginSettings, ...], Field(strict=False)] = Field(
        default=(), description="third-party channels"
    )
    terminal: LocalAccounts = section(LocalAccounts, "the terminal that `sayso serve` runs in")
    memory: LocalApprovers = section(LocalApprovers, "prompts inside the process: demo and tests")


class Settings(BaseSettings, CoreSettings):
    """Everything that was configured; ``home`` is where all state is kept."""

    model_config = SettingsConfigDict(title="Sayso's settings")

    home: Path = Field(exclude=True)
    channels: ChannelsSection = section(ChannelsSection, "where people are asked")

    @property
    def store_url(self) -> str:
        """Return the store's URL, which may hold a password."""
        if self.store.url is not None:
            return self.store.url.get_secret_value()
        return f"sqlite:///{self.home / 'state.db'}"

    @property
    def database(self) -> Path | None:
        """Return the file of a SQLite store; its path is absolute, as ``open_store`` reads it."""
        scheme, sqlite, path = self.store_url.partition("sqlite:///")
        return Path("/" + path.lstrip("/")) if sqlite and not scheme else None

    @property
    def mark(self) -> str:
        """Return the mark in the names of this gateway's cookies, which is not secret.

        It is the same for all gateways on one store, and different for each store.
        """
        where = urlsplit(self.store_url)  # without what may be secret: account and query
        named = f"{where.scheme}://{where.netloc.rpartition('@')[2]}{where.path}"
        return hashlib.sha256(named.encode()).hexdigest()[:_MARK_DIGITS]

    @property
    def seals(self) -> Seals:
        """Return the seals that protect secrets in the store."""
        given = None if self.store.key is None else self.store.key.get_secret_value()
        return Seals(self.home / SEALING_KEY, given)

    @property
    def audit_path(self) -> Path:
        """Return the journal's file; a relative one is in the home."""
        return self.home / (self.audit.path or "audit.jsonl")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Rank the examined trees below the arguments; pydantic-settings merges key by key."""
        # Its own sources know neither the spelling of our variables nor the location of a value.
        del env_settings, dotenv_settings, file_secret_settings
        return init_settings, *(TreeSource(settings_cls, tree) for tree in trees.get())


SHAPE: Shape = shape_of(Settings)
"""The tree of every key that the configuration may hold."""
