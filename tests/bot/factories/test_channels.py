"""Start the channels that are configured, and no others."""

import json
from io import StringIO
from pathlib import Path

import pytest

from bot.factories.channels import Console, make_channels
from bot.settings import load

SECTIONS: dict[str, dict[str, object]] = {
    "telegram": {"token": "1:a-token-for-the-tests-of-settings-0001"},
    "slack": {"botToken": "xoxb-1-not-a-real-token", "appToken": "xapp-1-not-a-real-token"},
    "discord": {"token": "NzAwMDAwMDAwMDAwMDAwMDA5.GtestX.a-token-for-the-tests-of-settings-01"},
    "webhook": {"url": "https://sayso.example/in", "secret": "s" * 32, "listen": "127.0.0.1:1"},
}


@pytest.mark.parametrize("names", [[], *([one] for one in SECTIONS), [*SECTIONS]], ids=str)
async def test_what_is_configured_is_made(tmp_path: Path, names: list[str]) -> None:
    """Each section makes its own channel, and a terminal is one where the gateway has it."""
    tmp_path.chmod(0o700)
    file = tmp_path / "config.json5"
    file.write_text(json.dumps({"channels": {name: SECTIONS[name] for name in names}}))
    file.chmod(0o600)
    settings = load(tmp_path, environ={})
    console = Console(StringIO(), StringIO())

    assert set(make_channels(settings, None)) == set(names)
    assert set(make_channels(settings, console)) == {*names, "terminal"}
    assert all(name == made.name for name, made in make_channels(settings, console).items())
