"""Shape what REST answers about what may run, for the OpenAPI document."""

from typing import Literal

from pydantic import RootModel

from bot.api.answers.requests import Answer, Milliseconds
from core.gate.tools.protocol import ToolError
from core.model.decision import DenialReason


class FileAnswer(Answer):
    """exec-approvals.json, its token left out."""

    file: dict[str, object]
    hash: str
    warnings: list[str]


class ChangeAnswer(Answer):
    """A change that was made."""

    done: Literal[True]
    sentence: str


class FileChangeAnswer(ChangeAnswer):
    """exec-approvals.json was replaced."""

    warnings: list[str]


class PreviewAnswer(Answer):
    """What a grant would have matched."""

    looked: int
    matched: int
    denied: list[str]
    sentence: str


class GrantAnswer(Answer):
    """What people allowed for a while."""

    id: str
    code: str
    agent: str
    session: str | None
    task: str | None
    promise: list[str]
    by: str
    name: str
    created_ms: Milliseconds
    expires_ms: Milliseconds | None
    uses_left: int | None
    used_ms: Milliseconds | None
    preview: PreviewAnswer | None


class GrantsAnswer(Answer):
    """The grants that hold."""

    grants: list[GrantAnswer]


class ExplainAnswer(Answer):
    """The verdict on a command, as `sayso policy explain --json` prints it."""

    decision: Literal["allow", "ask", "deny"]
    reason: str
    why: str
    segments: list[dict[str, object]]
    promise: list[str] | None = None
    tier: str | None = None
    agent: str
    policy: dict[str, object]
    rules: list[dict[str, object]]
    idle: list[str]
    asks: dict[str, object] | None
    unread: str | None = None


class ToolResult(Answer):
    """A tool did its work."""

    ok: Literal[True]
    result: dict[str, object]
    id: str | None


class ToolRefusal(Answer):
    """A tool did not; a refusal is an answer, not an error."""

    ok: Literal[False]
    error: ToolError
    message: str
    reason: DenialReason | None
    id: str | None


class ToolAnswer(RootModel[ToolResult | ToolRefusal]):
    """What a tool answered."""
