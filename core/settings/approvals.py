"""Shape ``approvals.exec`` (S1 "Approval forwarding to chat channels")."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from core.model.identity import Target
from core.settings.base import PlatformId, Seconds, Section, Word, Words, milliseconds

DEFAULT_APPROVAL_SECONDS = 600


class ForwardMode(StrEnum):
    """Where prompts go: the chat that asked, the configured targets, or both."""

    SESSION = "session"
    TARGETS = "targets"
    BOTH = "both"


class TargetEntry(Section):
    """``approvals.exec.targets[]``: a place in a channel that prompts go to."""

    channel: Word = Field(description="the channel: telegram, slack, discord or terminal")
    to: PlatformId = Field(
        description="the place in it, as the platform names it, such as a chat id"
    )
    account: Word | None = Field(
        default=None, description="which of the channel's accounts sends; null: its only one"
    )
    thread: Word | None = Field(default=None, description="the thread or topic there; null: none")

    def target(self) -> Target:
        """Return the place in the words of the model."""
        return Target(
            channel=self.channel, to=self.to, account=self.account or "", thread=self.thread or ""
        )


class ApprovalsExecSection(Section):
    """``approvals.exec``: how people are asked about commands."""

    enabled: bool = Field(
        default=True, description="whether prompts go to channels; if not, askFallback decides"
    )
    mode: Annotated[ForwardMode, Field(strict=False)] = Field(
        default=ForwardMode.SESSION,
        description="where prompts go: session (the chat that asked), targets (see below) or both",
    )
    agent_filter: Words | None = Field(
        default=None, description="only these agents' prompts are forwarded; null: all"
    )
    session_filter: Words | None = Field(
        default=None,
        description="only sessions whose key contains one of these are forwarded; null: all",
    )
    targets: tuple[TargetEntry, ...] = Field(
        default=(),
        strict=False,
        description="places that prompts go to in the modes targets and both",
    )
    timeout: Seconds = Field(
        default=DEFAULT_APPROVAL_SECONDS,
        description="seconds that people have to answer; then the command is denied",
    )
    remind: bool = Field(default=True, description="whether people are reminded at half time")

    @property
    def timeout_ms(self) -> int:
        """Return the time that people have to answer in ms."""
        return milliseconds(self.timeout)


class ApprovalsSection(Section):
    """``approvals``: what people are asked."""

    exec: ApprovalsExecSection = Field(
        default_factory=ApprovalsExecSection, description="asking about commands"
    )


class LocalApprovers(Section):
    """``channels.terminal`` and ``channels.memory``: who may answer there."""

    approvers: Words = Field(
        default=(), description="who may answer, as uid:1000; an empty list means nobody"
    )
