"""Build the channels that the configuration names, and the rules for reaching people."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import time
from typing import Protocol, Self, TextIO, TypeVar
from zoneinfo import ZoneInfo

from bot.settings import Settings
from channels.base import Channel
from channels.discord.settings import DiscordSettings
from channels.registry import load, load_plugin
from channels.slack.settings import SlackSettings
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.forwarding import EscalationStep, Forwarding, Timing
from core.approvals.routing.principals import Listing
from core.approvals.routing.quiet_hours import QuietHours
from core.settings.approvals import AskStep
from core.settings.base import milliseconds
from core.settings.quiet_hours import QuietHoursSection
from core.settings.session_filter import session_filter

S = TypeVar("S", SlackSettings, DiscordSettings)


class _Lists(Protocol):
    """The lists of people in the section of a channel."""

    @property
    def approvers(self) -> tuple[str, ...]:
        """Return who may answer."""

    @property
    def senders(self) -> tuple[str, ...]:
        """Return who may send commands."""


@dataclass(frozen=True, slots=True)
class Console:
    """The terminal that a person sits at: where prompts are shown and answers are typed."""

    input: TextIO
    output: TextIO

    @classmethod
    def here(cls) -> Self | None:
        """Return this process's terminal, ``None`` if it has none."""
        if sys.stdin.isatty() and sys.stdout.isatty():
            return cls(sys.stdin, sys.stdout)
        return None


def approvers(settings: Settings) -> Approvers:
    """Return who may answer: per channel, across all of them, and for single agents."""
    section, agents = settings.approvals.exec, settings.agents.entries
    return Approvers(
        by_channel={name: frozenset(part.approvers) for name, part in _people(settings)},
        everywhere=frozenset(section.approvers),
        by_agent={
            entry.id: frozenset(entry.approvers) for entry in agents if entry.approvers is not None
        },
        quorum=section.quorum,
        quorum_by_agent={entry.id: entry.quorum for entry in agents if entry.quorum is not None},
    )


def senders(settings: Settings) -> Listing:
    """Return who may send /agent, /exec, /elevated and /run in a channel."""
    return Listing({name: frozenset(part.senders) for name, part in _people(settings)})


def _people(settings: Settings) -> Iterator[tuple[str, _Lists]]:
    channels = settings.channels
    parts: dict[str, _Lists | None] = {
        "companion": channels.companion,
        "terminal": channels.terminal,
        "memory": channels.memory,
        "telegram": channels.telegram,
        "slack": channels.slack,
        "discord": channels.discord,
        "webhook": channels.webhook,
        **{plugin.name: plugin for plugin in channels.plugins},
    }
    yield from ((name, part) for name, part in parts.items() if part is not None)


def forwarding(settings: Settings) -> Forwarding:
    """Return where prompts go, and when (S1 "Approval forwarding to chat channels")."""
    section = settings.approvals.exec
    words, quiet = section.session_filter, section.quiet_hours
    return Forwarding(
        enabled=section.enabled,
        mode=section.mode,
        targets=tuple(entry.target() for entry in section.targets),
        agents=None if section.agent_filter is None else frozenset(section.agent_filter),
        session_matches=None if words is None else session_filter(words),
        steps=tuple(_step(step) for step in section.ask),
        quiet=None if quiet is None else _quiet(quiet),
    )


def _step(step: AskStep) -> EscalationStep:
    return EscalationStep(
        targets=tuple(entry.target() for entry in step.to),
        session=step.session,
        for_ms=milliseconds(step.lasts),
        remind_ms=None if step.remind is None else milliseconds(step.remind),
        wake=step.wake,
    )


def _quiet(section: QuietHoursSection) -> QuietHours:
    since, until = (time.fromisoformat(clock) for clock in (section.since, section.until))
    return QuietHours(since, until, ZoneInfo(section.zone))


def timing(settings: Settings) -> Timing:
    """Return how long a question is open if there is no ladder; it is repeated at half time."""
    section = settings.approvals.exec
    half_ms = (section.timeout_ms + 1) // 2
    return Timing(section.timeout_ms, half_ms if section.remind else None)


def make_channels(settings: Settings, console: Console | None) -> Mapping[str, Channel]:
    """Return the channels to start: those that are configured, and the terminal if there is one."""
    made: dict[str, Channel] = {}
    if settings.channels.telegram is not None:
        made["telegram"] = load("telegram")(settings.channels.telegram)
    if settings.channels.slack is not None:
        made["slack"] = load("slack")(_knowing(settings, "slack", settings.channels.slack))
    if settings.channels.discord is not None:
        # The session's position is kept, so that presses made while we were offline are replayed.
        session = settings.home / "discord-session.json"
        knowing = _knowing(settings, "discord", settings.channels.discord)
        made["discord"] = load("discord")(knowing, session)
    if settings.channels.webhook is not None:
        made["webhook"] = load("webhook")(settings.channels.webhook)
    for plugin in settings.channels.plugins:
        made[plugin.name] = load_plugin(plugin.name)(plugin)
    if console is not None:
        made["terminal"] = load("terminal")(console.input, console.output)
    return made


def _knowing(settings: Settings, name: str, section: S) -> S:
    """Return a channel's section with the groups and roles that lists outside of it name.

    A platform is only asked about the groups that its own section names.
    """
    head = f"{name}:"
    outside: set[str] = {
        entry.removeprefix(head)
        for listing in _listings(settings)
        for entry in listing
        if entry.startswith((f"{head}group:", f"{head}role:"))
    }
    if not outside:
        return section
    senders_ = tuple(sorted({*section.senders, *outside}))
    return section.model_copy(update={"senders": senders_})


def references(settings: Settings) -> frozenset[str]:
    """Return the groups and roles that lists of people name, each with its channel."""
    named = {
        f"{name}:{entry}"
        for name, part in _people(settings)
        for entry in (*part.approvers, *part.senders)
    } | {entry for listing in _listings(settings) for entry in listing}
    return frozenset(one for one in named if one.split(":")[1:2] in (["group"], ["role"]))


def approver_references(settings: Settings) -> frozenset[str]:
    """Return everybody who may answer for any agent, as ``channel:account`` or ``person:NAME``."""
    own = {f"{name}:{entry}" for name, part in _people(settings) for entry in part.approvers}
    return frozenset(own.union(*_listings(settings)))


def _listings(settings: Settings) -> Iterator[tuple[str, ...]]:
    yield settings.approvals.exec.approvers
    yield from (entry.approvers or () for entry in settings.agents.entries)
