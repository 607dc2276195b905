"""Request in docs/how-to/slack.md's manifest what the app uses, and no more."""

import json
import re
from pathlib import Path
from typing import Any

from channels.commands import SLASH_COMMANDS
from channels.slack.self_check import SCOPES as PROVEN
from tests.emulators.slack_state import SCOPES, SlackState

_PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "slack.md"


def manifest() -> dict[str, Any]:
    """Return the manifest of the page."""
    found = re.search(r"```json\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    made: dict[str, Any] = json.loads(found[1])
    return made


def test_scopes_are_those_that_the_tests_run_with() -> None:
    """The workspace of the tests grants exactly these."""
    scopes = manifest()["oauth_config"]["scopes"]["bot"]

    assert len(scopes) == len(set(scopes))
    assert set(scopes) == SCOPES
    assert scopes == list(PROVEN)


def test_commands_are_those_that_are_understood() -> None:
    """Each of ours is registered with its words, and the workspace of the tests sends it."""
    commands = manifest()["features"]["slash_commands"]
    told = [(one["command"], one["description"], one.get("usage_hint", "")) for one in commands]

    assert told == [(f"/{one.name}", one.description, one.usage) for one in SLASH_COMMANDS]
    assert {command["command"] for command in commands} == SlackState().commands
    assert not any(command["should_escape"] for command in commands)


def test_every_event_has_its_scope() -> None:
    """Slack refuses a manifest whose events lack a scope."""
    needed = {
        "app_mention": "app_mentions:read",
        "message.im": "im:history",
        "message.channels": "channels:history",
        "message.groups": "groups:history",
    }
    events = manifest()["settings"]["event_subscriptions"]["bot_events"]

    assert set(events) == set(needed)
    assert {needed[event] for event in events} <= SCOPES


def test_buttons_and_direct_messages_are_switched_on() -> None:
    """Without these the buttons fail and the app's messages tab is closed."""
    made = manifest()

    assert made["settings"]["interactivity"]["is_enabled"]
    assert made["settings"]["socket_mode_enabled"]
    assert made["features"]["app_home"]["messages_tab_enabled"]
    assert not made["features"]["app_home"]["messages_tab_read_only_enabled"]
