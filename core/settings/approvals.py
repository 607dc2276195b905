"""Settings for ``approvals.exec`` (S1 "Approval forwarding to chat channels")."""

import re
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from core.model.identity import Target
from core.model.pending_limits import DEFAULT_LIMITS, PendingLimits
from core.settings.base import (
    Days,
    PlatformId,
    Seconds,
    Section,
    Word,
    Words,
    milliseconds,
    section,
)
from core.settings.quiet_hours import QuietHoursSection, Zone
from core.settings.session_filter import session_filter

DEFAULT_APPROVAL_SECONDS = 600
_WORTH_A_MESSAGE = 20
_MOST_PROMPTS = 100_000
LONGEST_LADDER_SECONDS = 30 * 24 * 3600
MOST_REMINDERS = 100
MOST_APPROVERS_NEEDED = 20


def _filters(words: tuple[str, ...]) -> tuple[str, ...]:
    session_filter(words)
    return words


def _reference(entry: str) -> str:
    head, colon, rest = entry.partition(":")
    if not (head and colon and rest):
        raise ValueError(
            'must name its channel, such as "slack:U012AB3CD" or "discord:role:9", or a person of '
            'the people directory, "person:NAME"'
        )
    return entry


PersonRef = Annotated[Word, AfterValidator(_reference)]
"""A platform id, group or role with its channel, or a named person."""
PersonRefs = Annotated[tuple[PersonRef, ...], Field(strict=False)]
"""A list of people over all channels."""
Quorum = Annotated[int, Field(ge=1, le=MOST_APPROVERS_NEEDED)]
"""How many different people must allow."""


class ForwardMode(StrEnum):
    """Where prompts go: the chat that asked, the configured targets, or both."""

    SESSION = "session"
    TARGETS = "targets"
    BOTH = "both"


class TargetEntry(Section):
    """``approvals.exec.targets[]``: a place in a channel that prompts go to."""

    channel: Word = Field(description="the channel: telegram, slack, discord, webhook or terminal")
    to: PlatformId = Field(
        description="the place in it, as the platform names it, such as a chat id"
    )
    account: Word | None = Field(
        default=None, description="the channel's account to send from; null: its only one"
    )
    thread: Word | None = Field(default=None, description="the thread or topic there; null: none")

    def target(self) -> Target:
        """Return the place in the words of the model."""
        return Target(
            channel=self.channel, to=self.to, account=self.account or "", thread=self.thread or ""
        )


class ThreadMode(StrEnum):
    """Whether the prompts of an agent session share a thread of their own."""

    NONE = "none"
    SESSION = "session"


class AskStep(Section):
    """``approvals.exec.ask[]``: one step of the escalation ladder."""

    to: tuple[TargetEntry, ...] = Field(
        default=(), strict=False, description="the places that are asked in this step"
    )
    session: bool = Field(
        default=False, description="whether to ask the session's own chat as well"
    )
    lasts: Seconds = Field(
        default=DEFAULT_APPROVAL_SECONDS,
        alias="for",
        description="seconds before the next step is asked",
    )
    remind: Seconds | None = Field(
        default=None,
        description="seconds between reminders to everybody asked so far, while the step lasts; "
        "null: never",
    )
    wake: bool = Field(default=False, description="whether this step may notify during quiet hours")

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if not (self.to or self.session):
            raise ValueError('asks nobody: give it places in "to", or set "session" to true')
        if self.remind is not None and self.lasts / self.remind > MOST_REMINDERS:
            raise ValueError(f"reminds more than {MOST_REMINDERS} times; give remind more seconds")
        return self


class TierSection(Section):
    """``approvals.exec.tiers.*``: what questions of one tier need."""

    quorum: Quorum | None = Field(
        default=None,
        description="minimum number of different people who must allow; null: as for others",
    )
    timeout: Seconds | None = Field(
        default=None, description="seconds to answer; null: as for others"
    )
    step_up: bool = Field(
        default=False,
        description=(
            "whether allowing needs a typed answer (/approve CODE allow-once) instead of a button, "
            "or, from people with an authenticator app, its code"
        ),
    )


class TiersSection(Section):
    """``approvals.exec.tiers``: risk tiers: stricter terms for riskier commands."""

    elevated: TierSection = section(TierSection, "questions by rules of the tier elevated")
    critical: TierSection = section(TierSection, "questions by rules of the tier critical")


Waiting = Annotated[int, Field(ge=1, le=100_000)]
"""How many questions; each new one costs a check of all that wait."""
Waited = Annotated[int, Field(ge=0, le=1 << 40)]
"""Bytes of what waits; 0: a question brings no standard input."""


class PendingSection(Section):
    """``approvals.exec.pending``: limits on pending approvals."""

    per_agent: Waiting = Field(
        default=DEFAULT_LIMITS.per_agent,
        description="pending approvals per agent; further requests are denied",
    )
    total: Waiting = Field(
        default=DEFAULT_LIMITS.total, description="pending approvals of all agents"
    )
    input_bytes_per_agent: Waited = Field(
        default=DEFAULT_LIMITS.input_bytes_per_agent,
        description="bytes of standard input held by one agent's pending approvals",
    )
    input_bytes: Waited = Field(
        default=DEFAULT_LIMITS.input_bytes,
        description="bytes of standard input held by all pending approvals",
    )

    @property
    def limits(self) -> PendingLimits:
        """Return them in the words of the model."""
        return PendingLimits(
            self.per_agent, self.total, self.input_bytes_per_agent, self.input_bytes
        )


class SuggestSection(Section):
    """``approvals.exec.suggest``: when people are notified that entries would save prompts."""

    weekly: bool = Field(
        default=True,
        description="whether the gateway checks each Monday at 09:00 (approvals.exec.zone) whether "
        "allowlist entries would have saved prompts of the last seven days, "
        "and notifies people once",
    )
    least: Annotated[int, Field(ge=1, le=_MOST_PROMPTS)] = Field(
        default=_WORTH_A_MESSAGE,
        description="minimum number of prompts per week that entries would save, for a notice",
    )


class ApprovalsExecSection(Section):
    """``approvals.exec``: how people are asked about commands."""

    enabled: bool = Field(
        default=True, description="whether prompts go to channels; if not, askFallback decides"
    )
    mode: Annotated[ForwardMode, Field(strict=False)] = Field(
        default=ForwardMode.SESSION,
        description="where prompts go: session (the requesting chat), targets (see below) or both",
    )
    agent_filter: Words | None = Field(
        default=None, description="only these agents' prompts are forwarded; null: all"
    )
    session_filter: Annotated[Words, AfterValidator(_filters)] | None = Field(
        default=None,
        description="only sessions whose key one of these matches are forwarded; null: all. Each "
        'is a part of the key ("discord") or a regular expression ("^agent:main:")',
    )
    targets: tuple[TargetEntry, ...] = Field(
        default=(),
        strict=False,
        description="places that prompts go to in the modes targets and both",
    )
    approvers: PersonRefs = Field(
        default=(),
        description="who may answer in any channel, in addition to channels.*.approvers: "
        "slack:U012AB3CD, discord:role:9, slack:group:S012AB3CD, person:NAME",
    )
    quorum: Quorum = Field(default=1, description="how many different people must allow a command")
    timeout: Seconds = Field(
        default=DEFAULT_APPROVAL_SECONDS,
        description="seconds to answer before the command is denied",
    )
    remind: bool = Field(default=True, description="whether to remind people at half the time")
    ask: tuple[AskStep, ...] = Field(
        default=(),
        strict=False,
        description="the escalation ladder: who is asked, one after another; it replaces mode, "
        "targets, timeout and remind",
    )
    allow_always_idle: Days | None = Field(
        default=None,
        description="days that a grant, or an entry of exec-approvals.json, counts without being "
        "used; null: they always count",
    )
    tiers: TiersSection = section(TiersSection, "risk tiers: stricter terms for riskier commands")
    pending: PendingSection = section(PendingSection, "limits on pending approvals")
    quiet_hours: QuietHoursSection | None = Field(
        default=None, description="hours in which only steps with wake are asked; null: none"
    )
    suggest: SuggestSection = section(SuggestSection, "the weekly report on the cost of prompts")
    zone: Zone = Field(
        default="UTC",
        description="the time zone of the times on prompts, such as Europe/Berlin; Discord shows "
        "each reader's own as well",
    )
    threads: Annotated[ThreadMode, Field(strict=False)] = Field(
        default=ThreadMode.NONE,
        description="session: each agent session gets a thread of its own in the places that are "
        "asked, where the platform has threads; none: it does not",
    )

    @model_validator(mode="after")
    def _one_way_to_ask(self) -> Self:
        replaced = sorted({"mode", "targets", "timeout", "remind"} & self.model_fields_set)
        if self.ask and replaced:
            raise ValueError(f"has ask, which replaces {', '.join(replaced)}; leave those out")
        if sum(step.lasts for step in self.ask) > LONGEST_LADDER_SECONDS:
            raise ValueError("has an ask ladder of more than 30 days")
        return self

    @property
    def timeout_ms(self) -> int:
        """Return the time that people have to answer in ms."""
        return milliseconds(self.timeout)


class ApprovalsSection(Section):
    """``approvals``: what people are asked."""

    exec: ApprovalsExecSection = section(ApprovalsExecSection, "approvals of commands")


class LocalApprovers(Section):
    """``channels.companion``, ``.terminal`` and ``.memory``: who may answer there."""

    approvers: Words = Field(
        default=(), description="who may answer, as uid:1000; an empty list means nobody"
    )
    senders: Words = Field(
        default=(),
        description="who may send /exec, /elevated and /run; an empty list means nobody",
    )


class LocalAccounts(LocalApprovers):
    """``channels.companion`` and ``.terminal``: accounts of this machine, or people."""

    @model_validator(mode="after")
    def _can_answer(self) -> Self:
        for entry in (*self.approvers, *self.senders):
            if not re.fullmatch("uid:[0-9]+|person:.+", entry):
                raise ValueError(
                    f"{entry!r} is not an account of this machine: write uid:1000, whose number "
                    "`id -u` prints, or person:NAME for somebody of `sayso people list`"
                )
        return self
