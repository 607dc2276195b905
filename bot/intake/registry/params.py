"""Define the params of the methods; strict at this edge, domain types inside."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from bot.intake.registry.param_errors import complaints
from channels.argument_values import grant_terms
from core.errors import BadRequest
from core.model.approval import ApprovalReply, GrantTerms
from core.model.command import AgentPart, AgentPartKind, ExecOverrides, ExecRequest
from core.model.identity import (
    DEFAULT_AGENT,
    LONGEST_NAME,
    NAME,
    TASK_NAME,
    AgentId,
    Requester,
    SessionKey,
    TaskId,
)
from core.model.policy import ExecAsk, ExecHost, ExecSecurity
from core.model.stdio import LARGEST_STDIN, Capture, Stdio
from core.text.render import redact


def _decoded(value: object) -> object:
    """Return the bytes of strict base64.

    Raises:
        ValueError: it is not base64, or too much.
    """
    if not isinstance(value, str):
        return value
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        raise ValueError("must be base64") from None
    if len(data) > LARGEST_STDIN:
        raise ValueError(f"must be {LARGEST_STDIN} bytes or fewer")
    return data


Base64Input = Annotated[bytes, BeforeValidator(_decoded)]
"""Standard input in a frame: strict base64, and no more than a request may contain."""


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=rf"^{NAME.pattern}$")]
"""A name of anything, as ``NAME`` defines it."""


def _no_secret(name: str) -> str:
    """Refuse a name that nobody could read, because secrets are masked wherever it is shown."""
    if redact(name).text != name:
        raise ValueError("looks like a secret, which a task name must not contain")
    return name


TaskName = Annotated[str, Field(pattern=rf"^{TASK_NAME.pattern}$"), AfterValidator(_no_secret)]
"""The name of a task, as ``TASK_NAME`` defines it, and not a secret."""
_DAY_MS = 86_400_000
_LARGEST = 2**53 - 1  # what every JSON reader represents exactly (RFC 8259 section 6)


_STREAM = "report status and output in the meantime (`exec.state`, `exec.output`)"


ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]
"""The kinds of tool calls in the Agent Client Protocol."""


class Params(BaseModel):
    """Base of all params: unknown keys and wrong types are refused."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        hide_input_in_errors=True,
    )


class NoParams(Params):
    """A method without params."""


class AgentParams(Params):
    """A method that may name an agent; ``None`` is any, or the default one."""

    agent: Name | None = Field(default=None, description="the agent; a bound token's is its own")


class SessionParams(AgentParams):
    """A method about one session."""

    session: Name = Field(
        default="main",
        description="the session; under a bound token `NAME` is `agent:AGENT:NAME`",
    )


class CommandParams(SessionParams):
    """A method about a command: one of ``command`` (a line) and ``argv``."""

    command: str | None = Field(default=None, description="a command line; this or `argv`")
    argv: Annotated[tuple[str, ...], Field(strict=False)] | None = Field(
        default=None, description="an argument vector; this or `command`"
    )
    cwd: str = Field(description="where it runs; absolute")
    host: Annotated[ExecHost, Field(strict=False)] | None = Field(
        default=None, description="where to run: sandbox, gateway or node"
    )
    task: TaskName | None = Field(
        default=None, description="the task of the request; people can allow for a task alone"
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.command is None) == (self.argv is None):
            raise ValueError("give one of `command` and `argv`")
        return self

    def request(self, requester: Requester) -> ExecRequest:
        """Return the domain's request; the requester comes from the connection."""
        return ExecRequest(
            requester=requester,
            session=SessionKey(self.session),
            cwd=self.cwd,
            line=self.command,
            argv=self.argv,
            agent=self._agent,
            overrides=ExecOverrides(self.host),
            task=None if self.task is None else TaskId(self.task),
        )

    @property
    def _agent(self) -> AgentId:
        return DEFAULT_AGENT if self.agent is None else AgentId(self.agent)


class ExplainParams(CommandParams):
    """``policy.explain``."""

    node: Name | None = Field(default=None, description="the node, where host is node")

    def request(self, requester: Requester) -> ExecRequest:
        """Return the domain's request; the requester comes from the connection."""
        overrides = ExecOverrides(self.host, node=self.node)
        return replace(super().request(requester), overrides=overrides)


class RunParams(CommandParams):
    """``exec.run``; ``timeoutMs`` is wall clock."""

    env: dict[str, str] = Field(default={}, description="environment changes")
    security: Annotated[ExecSecurity, Field(strict=False)] | None = Field(
        default=None, description="a stricter security than the configured one"
    )
    ask: Annotated[ExecAsk, Field(strict=False)] | None = Field(
        default=None, description="a stricter ask than the configured one"
    )
    node: Name | None = Field(default=None, description="the node, where host is node")
    timeout_ms: Annotated[int, Field(gt=0, le=_DAY_MS)] | None = Field(
        default=None, description="timeout of the command"
    )
    request_key: Name | None = Field(
        default=None,
        description="idempotency key: the same key is the same request; a different one is refused",
    )
    wait: bool = Field(default=True, description="return when it has ended, else at once")
    stream: bool = Field(default=False, description=_STREAM)
    stdin: Base64Input | None = Field(
        default=None, description="standard input in base64; 1 MiB at most; people see it"
    )
    capture: Annotated[Capture, Field(strict=False)] = Field(
        default=Capture.COMBINED, description="combined, separate or pty"
    )

    def request(self, requester: Requester) -> ExecRequest:
        """Return the domain's request; the requester comes from the connection."""
        return replace(
            super().request(requester),
            env=tuple(sorted(self.env.items())),
            overrides=ExecOverrides(self.host, self.security, self.ask, self.node),
            timeout_ms=self.timeout_ms,
            request_key=self._scoped_key(requester),
            stdio=Stdio(self.stdin, self.capture),
        )

    def _scoped_key(self, requester: Requester) -> str | None:
        """Keep one caller's keys apart from another's, and one agent's from another's."""
        if self.request_key is None:
            return None
        # No name may hold a control character, so the joined parts cannot be confused.
        return f"{requester.account}\x1f{self._agent}\x1f{self.session}\x1f{self.request_key}"


class AskParams(RunParams):
    """``exec.approval.request``: a run whose status is returned at once."""

    wait: Literal[False] = Field(default=False, description="always false")


class PromptParams(SessionParams):
    """``agent.prompt``: a prompt for an agent that has a runtime."""

    agent: Name = Field(description="the agent; it needs a runtime in agents.list")
    prompt: Annotated[str, Field(min_length=1, max_length=100_000)] = Field(
        description="what the agent is to do"
    )
    cwd: str = Field(description="the folder that it works in; absolute")
    tools: Annotated[tuple[ToolKind, ...], Field(strict=False)] = Field(
        default=(),
        description="the kinds of tool calls that people may be asked about; any where empty",
    )
    task: TaskName | None = Field(
        default=None, description="the task of the request; people can allow for a task alone"
    )
    timeout_ms: Annotated[int, Field(gt=0, le=_DAY_MS)] | None = Field(
        default=None, description="how long the agent may take, people's answers included"
    )
    wait: bool = Field(default=False, description="return when it has ended, else at once")
    stream: bool = Field(default=False, description=_STREAM)

    def request(self, requester: Requester) -> ExecRequest:
        """Return the domain's request; the requester comes from the connection."""
        return ExecRequest(
            requester=requester,
            session=SessionKey(self.session),
            cwd=self.cwd,
            argv=("prompt", self.agent, self.prompt),
            agent=AgentId(self.agent),
            overrides=ExecOverrides(ExecHost.GATEWAY),
            timeout_ms=self.timeout_ms,
            task=None if self.task is None else TaskId(self.task),
            part=AgentPart(AgentPartKind.PROMPT, requester.account, tools=self.tools),
        )


class IdParams(Params):
    """A method about one run or approval."""

    id: Name = Field(description="the id of a run or approval")


class WaitParams(IdParams):
    """A method that waits; ``timeoutMs`` bounds it."""

    timeout_ms: Annotated[int, Field(ge=0, le=_DAY_MS)] | None = Field(
        default=None, description="return the status after this long"
    )
    stream: bool = Field(default=False, description=_STREAM)


class PasskeyParams(Params):
    """What a passkey signed, as the browser gives it to the control page."""

    nonce: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] = Field(
        description="the nonce of the challenge that was drawn for this answer"
    )
    credential: Annotated[str, Field(max_length=16_384)] = Field(
        repr=False, description="what `navigator.credentials.get` returned, as JSON"
    )


class ResolveParams(Params):
    """``exec.approval.resolve``: ``id`` may be an id, a code or a unique prefix."""

    id: Name = Field(description="an approval's id, code or unique prefix")
    decision: Annotated[ApprovalReply, Field(strict=False)] = Field(
        description="allow-once, allow-always or deny"
    )
    note: Annotated[str, Field(max_length=2000)] = Field(
        default="", description="the reason, shown to the agent"
    )
    limit: Name | None = Field(
        default=None, description="the limit of allow-always: 30m, 2h, 7d, 5x, session or task"
    )
    totp: Annotated[str, Field(pattern=r"^([0-9]{6})?$")] = Field(
        default="",
        repr=False,
        description="the code of the person's authenticator app, which allows what `stepUp` asks",
    )
    passkey: PasskeyParams | None = Field(
        default=None, description="what a passkey of the person signed instead of such a code"
    )

    @model_validator(mode="after")
    def _understood(self) -> Self:
        if self.limit is not None and self.decision is not ApprovalReply.ALLOW_ALWAYS:
            raise ValueError("a limit goes with allow-always only")
        if self.limit is not None and self.terms is None:
            raise ValueError(
                f"{self.limit!r} is neither a decision (allow-once, allow-always, deny) nor a "
                "limit of allow-always (30m, 2h, 7d, up to 30 days; 5x; session; task)"
            )
        return self

    @property
    def terms(self) -> GrantTerms | None:
        """Return the limits of an allow-always; ``None`` without any."""
        return None if self.limit is None else grant_terms(self.limit)


class ListParams(AgentParams):
    """A method that lists; ``limit`` rows at most."""

    limit: Annotated[int, Field(ge=1, le=1000)] = Field(default=100, description="rows at most")


PastState = Literal[
    "pending",
    "allowed",
    "queued",
    "started",
    "done",
    "failed",
    "unknown",
    "denied",
    "expired",
    "cancelled",
]
"""A member of ``ApprovalState`` or ``RowState``."""


class PastParams(ListParams):
    """A method that lists past records, page by page."""

    before_ms: Annotated[int, Field(ge=0, le=_LARGEST)] | None = Field(
        default=None, description="only what was asked before (epoch ms)"
    )
    since_ms: Annotated[int, Field(ge=0, le=_LARGEST)] | None = Field(
        default=None, description="only what was asked then or later (epoch ms)"
    )
    state: PastState | None = Field(
        default=None, description="only what is in this state; see `state` of an answer"
    )
    grep: Name | None = Field(
        default=None,
        description="only commands with this text, in any case, 10,000 at a time: `lookedBackToMs`",
    )
    session: Name | None = Field(default=None, description="only this session's")
    by: Name | None = Field(
        default=None, description="only what this person decided: a name, or CHANNEL:ACCOUNT"
    )
    id: Name | None = Field(
        default=None, description="only the one request that an id, code or prefix matches"
    )


class EventsParams(SessionParams):
    """``events.drain``: a session's events that have not been acknowledged yet."""

    session: Name = Field(description=SessionParams.model_fields["session"].description)
    limit: Annotated[int, Field(ge=1, le=1000)] = Field(default=100, description="rows at most")
    seq: Annotated[int, Field(ge=0, le=_LARGEST)] = Field(
        default=0, description="only events after this number"
    )


class AckParams(SessionParams):
    """``events.ack``: ``seq`` is the highest number that was delivered."""

    session: Name = Field(description=SessionParams.model_fields["session"].description)
    seq: Annotated[int, Field(ge=0, le=_LARGEST)] = Field(
        description="the highest number that was received"
    )


P = TypeVar("P", bound=Params)


def read(kind: type[P], params: Mapping[str, object]) -> P:
    """Return typed params.

    Raises:
        BadRequest: naming each wrong key and what is wrong with it, never its value.
    """
    try:
        return kind.model_validate(params)
    except ValidationError as wrong:
        raise BadRequest(complaints(kind, wrong)) from None
