"""Find channels by name and import them only then."""

import sys
from pathlib import Path

import pytest

from channels.memory import MemoryChannel
from channels.registry import load, names
from core.errors import ConfigError


def test_built_in_channels_load() -> None:
    """Each name leads to its class."""
    assert names() == (
        "companion",
        "discord",
        "memory",
        "push",
        "slack",
        "telegram",
        "terminal",
        "webhook",
    )
    assert load("memory") is MemoryChannel
    assert [load(name).__name__ for name in names()] == [
        "CompanionChannel",
        "DiscordChannel",
        "MemoryChannel",
        "PushChannel",
        "SlackChannel",
        "TelegramChannel",
        "TerminalChannel",
        "WebhookChannel",
    ]


def test_an_unknown_channel_names_the_known_ones() -> None:
    """The error says what would have been right."""
    with pytest.raises(
        ConfigError,
        match=r"no channel 'telgram'.*companion, discord, memory, .*terminal, webhook",
    ):
        load("telgram")


def test_an_installed_package_can_add_a_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry point of the group is a channel; a built-in name stays built in."""
    info = tmp_path / "pager-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pager\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[sayso.channels]\npager = pager_channel:Pager\nmemory = pager_channel:Pager\n"
        "broken = pager_channel:nothing\n"
    )
    (tmp_path / "pager_channel.py").write_text("class Pager:\n    pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    assert load("pager").__name__ == "Pager"
    assert load("memory") is MemoryChannel
    assert "pager" in names()
    with pytest.raises(ConfigError, match="which is not a class"):
        load("broken")
    sys.modules.pop("pager_channel")
