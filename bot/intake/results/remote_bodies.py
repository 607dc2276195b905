"""Define the params and answers of remote exec: its own JSON, in snake_case (S4)."""

import base64
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, ValidationError

from bot.intake.registry.param_errors import complaints
from bot.intake.registry.params import Params
from bot.intake.results.answer import Answer, Milliseconds
from core.errors import BadRequest
from core.remote.acl.acl import LARGEST_STDIN
from core.remote.denials import Notice, RemoteDenial
from core.remote.result import RemoteResult
from core.remote.trust.envelope import Order
from core.trust.ids import KeyId, RequestId

_TEXT = (LARGEST_STDIN + 2) // 3 * 4


class _Plain(Params):
    """Base of S4's models, which write their keys in snake_case."""

    model_config = ConfigDict(alias_generator=None)


class RunBody(_Plain):
    """``exec.remote.run`` and ``POST /exec/run``. ``cwd`` is read only to be refused (S4)."""

    agent_id: KeyId = Field(description="the host's agent: 64 hex digits, as its contact has it")
    argv: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] = Field(
        description="the argument vector to run; the host's access list decides"
    )
    timeout_ms: Annotated[int, Field(gt=0)] | None = Field(
        default=None, description="timeout; the host's limit applies, and is the default"
    )
    stdin_b64: Annotated[str, Field(max_length=_TEXT)] | None = Field(
        default=None, description="standard input in base64, 1 MiB at most"
    )
    cwd: str | None = Field(default=None, description="every host refuses it: `cwd_not_allowed`")

    def order(self) -> Order:
        """Return the order that is sent.

        Raises:
            BadRequest: it is too long, or the standard input is not base64.
        """
        try:
            return Order(
                argv=self.argv,
                timeout_ms=self.timeout_ms,
                stdin_b64=self.stdin_b64,
                cwd=self.cwd,
            )
        except ValidationError as error:
            raise BadRequest(complaints(Order, error)) from None


class _Answer(Answer):
    model_config = ConfigDict(alias_generator=None)


class RunAnswer(_Answer):
    """How a remote run ended. ``ok``: it ran and ended with code 0."""

    ok: bool
    request_id: RequestId
    code: int | None
    signal: int | None
    duration_ms: int
    stdout_b64: str
    stderr_b64: str
    stdout_bytes_total: int
    stderr_bytes_total: int
    truncated: bool
    denial_reason: RemoteDenial | None
    warnings: tuple[Notice, ...]

    @classmethod
    def of(cls, result: RemoteResult) -> "RunAnswer":
        """Return the answer for a result, with all that was forwarded."""
        return cls(
            ok=result.ok,
            request_id=result.request_id,
            code=result.code,
            signal=result.signal,
            duration_ms=result.duration_ms,
            stdout_b64=base64.b64encode(result.stdout).decode(),
            stderr_b64=base64.b64encode(result.stderr).decode(),
            stdout_bytes_total=result.stdout_bytes_total,
            stderr_bytes_total=result.stderr_bytes_total,
            truncated=result.truncated,
            denial_reason=result.denial_reason,
            warnings=result.warnings,
        )


class CancelBody(_Plain):
    """``exec.remote.cancel`` and ``POST /exec/cancel``."""

    request_id: RequestId = Field(description="the request to cancel")
    agent_id: KeyId | None = Field(
        default=None, description="the host's agent, where the request is not of this gateway"
    )


class OutputBody(_Plain):
    """``exec.remote.output``: the next bytes of a stream that one answer could not carry."""

    request_id: RequestId = Field(description="a request that was answered lately")
    stream: Literal["stdout", "stderr"] = Field(description="which stream")
    offset: Annotated[int, Field(ge=0)] = Field(description="bytes already received")


class RemoteCancelledAnswer(_Answer):
    """Whether there was something to cancel."""

    cancelled: bool


class OutputPage(_Answer):
    """The next bytes of a stream, and whether there are more."""

    data_b64: str
    more: bool


class UnderWay(_Answer):
    """One request or session; of its vector only the program is shown."""

    request_id: str
    agent_id: str
    program: str
    age_ms: int


class RemoteSessionsAnswer(_Answer):
    """Our own requests under way, and what runs here for others."""

    pending: list[UnderWay]
    sessions: list[UnderWay]


class RemoteWarning(_Answer):
    """A recent warning."""

    at_ms: Milliseconds
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
    recent_warnings: list[RemoteWarning]
    acl: dict[str, object] | None
