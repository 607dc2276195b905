"""Shape ``approvals.exec.pending``: how much may wait for people at a time."""

from typing import Annotated

from pydantic import Field

from core.model.pending_limits import DEFAULT_LIMITS, PendingLimits
from core.settings.base import Section

Waiting = Annotated[int, Field(ge=1, le=100_000)]
"""How many questions; each new one costs a look at all that wait."""
Waited = Annotated[int, Field(ge=0, le=1 << 40)]
"""Bytes of what waits; 0: a question brings no standard input."""


class PendingSection(Section):
    """``approvals.exec.pending``: how much may wait for people at a time."""

    per_agent: Waiting = Field(
        default=DEFAULT_LIMITS.per_agent,
        description="questions of one agent that wait at a time; further requests are denied",
    )
    total: Waiting = Field(
        default=DEFAULT_LIMITS.total, description="questions of all agents that wait at a time"
    )
    input_bytes_per_agent: Waited = Field(
        default=DEFAULT_LIMITS.input_bytes_per_agent,
        description="bytes of standard input that the waiting questions of one agent hold",
    )
    input_bytes: Waited = Field(
        default=DEFAULT_LIMITS.input_bytes,
        description="bytes of standard input that all waiting questions hold",
    )

    @property
    def limits(self) -> PendingLimits:
        """Return them in the words of the model."""
        return PendingLimits(
            self.per_agent, self.total, self.input_bytes_per_agent, self.input_bytes
        )
