"""Shape the params of the methods; strict at this edge, domain types inside."""

from typing import Annotated, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from core.errors import BadRequest
from core.model.approval import ApprovalReply
from core.model.command import ExecOverrides, ExecRequest
from core.model.identity import AgentId, Requester, SessionKey
from core.model.policy import ExecAsk, ExecHost, ExecSecurity

_NAME = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
_DAY_MS = 86_400_000


class Params(BaseModel):
    """Base of all params: unknown keys and wrong types are refused."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        hide_input_in_errors=True,
    )


class RunParams(Params):
    """``exec.run``: one of ``command`` (a line) and ``argv``; ``timeoutMs`` is wall clock."""

    command: str | None = None
    argv: Annotated[tuple[str, ...], Field(strict=False)] | None = None
    cwd: str
    agent: _NAME = "main"
    session: _NAME = "main"
    env: dict[str, str] = {}
    host: Annotated[ExecHost, Field(strict=False)] | None = None
    security: Annotated[ExecSecurity, Field(strict=False)] | None = None
    ask: Annotated[ExecAsk, Field(strict=False)] | None = None
    node: _NAME | None = None
    timeout_ms: Annotated[int, Field(gt=0, le=_DAY_MS)] | None = None
    request_key: _NAME | None = None
    wait: bool = True

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.command is None) == (self.argv is None):
            raise ValueError("give either command or argv")
        return self

    def request(self, requester: Requester) -> ExecRequest:
        """Return the domain's request; who asks comes from the connection."""
        return ExecRequest(
            requester=requester,
            session=SessionKey(self.session),
            cwd=self.cwd,
            line=self.command,
            argv=self.argv,
            agent=AgentId(self.agent),
            env=tuple(sorted(self.env.items())),
            overrides=ExecOverrides(self.host, self.security, self.ask, self.node),
            timeout_ms=self.timeout_ms,
            request_key=self._scoped_key(requester),
        )

    def _scoped_key(self, requester: Requester) -> str | None:
        """Keep one caller's keys apart from another's, and one agent's from another's."""
        if self.request_key is None:
            return None
        # No name may hold a control character, so the joined parts cannot be confused.
        return f"{requester.account}\x1f{self.agent}\x1f{self.session}\x1f{self.request_key}"


class IdParams(Params):
    """A method about one run or approval; ``timeoutMs`` bounds a wait."""

    id: _NAME
    timeout_ms: Annotated[int, Field(ge=0, le=_DAY_MS)] | None = None


class ResolveParams(Params):
    """``exec.approval.resolve``: ``id`` may be an id, a code or a unique prefix."""

    id: _NAME
    decision: Annotated[ApprovalReply, Field(strict=False)]
    note: Annotated[str, Field(max_length=2000)] = ""


class ListParams(Params):
    """A method that lists; ``limit`` rows at most."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    agent: _NAME | None = None


class EventsParams(Params):
    """``events.drain`` and ``events.ack``: ``seq`` is the highest one that was delivered."""

    session: _NAME
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    seq: Annotated[int, Field(ge=0)] = 0


class NoParams(Params):
    """A method that takes none."""


class NameParams(Params):
    """A method about a named person."""

    name: _NAME


class WhoParams(Params):
    """A method about a person, or about one account such as ``telegram:42``."""

    who: _NAME


class AccountParams(Params):
    """A method about one account: ``telegram:42``."""

    account: Annotated[
        str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f:]+:[^\x00-\x1f\x7f]+$")
    ]


class GrantParams(Params):
    """A method about one grant: its id or its code."""

    id: _NAME


P = TypeVar("P", bound=Params)


def read(kind: type[P], params: dict[str, object]) -> P:
    """Return typed params.

    Raises:
        BadRequest: naming each wrong key and what is wrong with it, never its value.
    """
    try:
        return kind.model_validate(params)
    except ValidationError as wrong:
        faults = (
            f"{'.'.join(str(part) for part in fault['loc']) or 'params'}: {fault['msg']}"
            for fault in wrong.errors(include_url=False, include_input=False)
        )
        raise BadRequest("; ".join(faults)) from None
