"""Assemble an agent's policy from a home; a gateway records what it saw, a reader does not."""

from pathlib import Path

from bot.factories.policy import rulebook_of
from bot.settings import load
from core.model.identity import AgentId
from tests.bot.policy_tools.past import home

LISTED = {"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/ls"}]}}}
IDLE = {"approvals": {"exec": {"allowAlwaysIdle": 90}}}


def test_only_a_gateway_notes_when_it_first_saw_an_entry(tmp_path: Path) -> None:
    """From then on the entry ages; explaining a command must start no entry's time."""
    settings = load(home(tmp_path, IDLE, LISTED), environ={})
    seen = settings.home / "exec-approvals.seen.json"

    reader, gateway = rulebook_of(settings, read_only=True), rulebook_of(settings)
    for book, notes in ((reader, False), (gateway, True)):
        entries = book.entries(AgentId("main"))
        assert ["/usr/bin/ls"] == [one.pattern for one in entries.counted]
        assert seen.exists() is notes
