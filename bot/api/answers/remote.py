"""Shape what S4's addresses answer, in its own snake_case, for the OpenAPI document."""

from pydantic import BaseModel, ConfigDict

from bot.intake.results.remote_bodies import RunAnswer
from core.remote.denials import Notice

__all__ = ["DiagnosticsAnswer", "RemoteCancelledAnswer", "RemoteSessionsAnswer", "RunAnswer"]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RemoteCancelledAnswer(_Answer):
    """Whether there was something to cancel."""

    cancelled: bool


class UnderWay(_Answer):
    """One request or session; of its vector only the program is shown."""

    request_id: str
    agent_id: str
    program: str
    age_ms: int


class RemoteSessionsAnswer(_Answer):
    """Own requests under way, and what runs here for others."""

    pending: list[UnderWay]
    sessions: list[UnderWay]


class Warned(_Answer):
    """A warning of late."""

    at_ms: int
    agent: str
    warning: Notice


class DiagnosticsAnswer(_Answer):
    """Counters and a safe summary of the access list; never the list."""

    enabled: bool
    listening: list[str]
    active_sessions: int
    pending_requests: int
    started: int
    finished: int
    denied: dict[str, int]
    truncated: int
    warnings: dict[str, int]
    unheard: int
    recent_warnings: list[Warned]
    acl: dict[str, object] | None
