"""Make the channels that the configuration names, and the rules that lead to people."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, TextIO

from bot.settings import Settings
from channels.base import Channel
from channels.registry import load
from core.approvals.approvers import Approvers
from core.approvals.asking import Timing
from core.approvals.forwarding import Forwarding


@dataclass(frozen=True, slots=True)
class Console:
    """The terminal that a person sits at: where prompts are shown and answers are typed."""

    input: TextIO
    output: TextIO

    @classmethod
    def here(cls) -> Self | None:
        """Return this process's terminal, ``None`` where it has none."""
        if sys.stdin.isatty() and sys.stdout.isatty():
            return cls(sys.stdin, sys.stdout)
        return None


def approvers(settings: Settings) -> Approvers:
    """Return who may answer in each channel."""
    channels = settings.channels
    listed = {
        "terminal": frozenset(channels.terminal.approvers),
        "memory": frozenset(channels.memory.approvers),
    }
    chats = {"telegram": channels.telegram, "slack": channels.slack, "discord": channels.discord}
    for name, section in chats.items():
        if section is not None:
            listed[name] = frozenset(section.approvers)
    return Approvers(listed)


def forwarding(settings: Settings) -> Forwarding:
    """Return where prompts go (S1 "Approval forwarding to chat channels")."""
    section = settings.approvals.exec
    words = section.session_filter
    return Forwarding(
        enabled=section.enabled,
        mode=section.mode,
        targets=tuple(entry.target() for entry in section.targets),
        agents=None if section.agent_filter is None else frozenset(section.agent_filter),
        session_matches=None
        if words is None
        else lambda session: any(word in session for word in words),
    )


def timing(settings: Settings) -> Timing:
    """Return how long a question stands, and when it is repeated: at half time."""
    section = settings.approvals.exec
    return Timing(section.timeout_ms, section.timeout_ms // 2 if section.remind else None)


def make_channels(settings: Settings, console: Console | None) -> Mapping[str, Channel]:
    """Return the channels to start: those that are configured, the terminal where there is one."""
    made: dict[str, Channel] = {}
    if settings.channels.telegram is not None:
        made["telegram"] = load("telegram")(settings.channels.telegram)
    if settings.channels.slack is not None:
        made["slack"] = load("slack")(settings.channels.slack)
    if settings.channels.discord is not None:
        # The session's place is kept, so that presses made while we were away are replayed.
        session = settings.home / "discord-session.json"
        made["discord"] = load("discord")(settings.channels.discord, session)
    if console is not None:
        made["terminal"] = load("terminal")(console.input, console.output)
    return made
