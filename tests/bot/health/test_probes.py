"""Probe what this configuration uses."""

from pathlib import Path

import pytest

from bot.health.probes import sandbox_is_wanted
from bot.settings import Settings


@pytest.mark.parametrize(
    ("default", "of_agent", "wanted"),
    [
        ("gateway", "gateway", False),
        ("sandbox", "gateway", True),
        ("gateway", "sandbox", True),
    ],
)
def test_a_sandbox_that_one_agent_uses_is_probed(default: str, of_agent: str, wanted: bool) -> None:
    """By default, or for a single agent; otherwise nobody misses it."""
    agent = {"id": "amber", "tools": {"exec": {"host": of_agent}}}
    settings = Settings.model_validate(
        {"home": Path("/"), "tools": {"exec": {"host": default}}, "agents": {"list": [agent]}}
    )

    assert sandbox_is_wanted(settings) is wanted
