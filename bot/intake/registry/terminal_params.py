"""Define the params of the methods about terminals."""

import re
from typing import Annotated, Self

from pydantic import Field, model_validator

from bot.intake.registry.params import Base64Input, IdParams, Name, SessionParams
from core.isolation.terminal.size import Size
from core.isolation.terminal.terminals import session_of
from core.model.command import AgentPart, AgentPartKind, ExecOverrides, ExecRequest
from core.model.identity import DEFAULT_AGENT, AgentId, Requester, SessionKey
from core.model.policy import ExecHost

_TERM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_MOST_TEXT = 16_384
_DAY_MS = 86_400_000
_LARGEST = 2**53 - 1
Side = Annotated[int, Field(ge=1, le=1000)]


class OpenParams(SessionParams):
    """``terminal.open``."""

    cwd: str = Field(description="the folder that the shell starts in; absolute")
    shell: Annotated[str, Field(pattern=r"^(/[^\x00-\x1f\x7f]+)?$", max_length=4096)] = Field(
        default="", description="the shell, by its absolute path; empty: the user's own"
    )
    env: dict[str, str] = Field(default={}, description="environment changes")
    term: Annotated[str, Field(pattern=rf"^{_TERM.pattern}$")] = Field(
        default="xterm-256color", description="the kind of the terminal (TERM)"
    )
    timeout_ms: Annotated[int, Field(gt=0, le=_DAY_MS)] | None = Field(
        default=None, description="how long it may last; execution.terminals.longestMs at most"
    )

    def request(self, requester: Requester, longest_ms: int, *, unasked: bool) -> ExecRequest:
        """Return the domain's request; the requester comes from the connection."""
        agent = DEFAULT_AGENT if self.agent is None else AgentId(self.agent)
        return ExecRequest(
            requester=requester,
            session=SessionKey(self.session),
            cwd=self.cwd,
            argv=("terminal", self.shell),
            agent=agent,
            env=tuple(sorted({**self.env, "TERM": self.term}.items())),
            overrides=ExecOverrides(ExecHost.GATEWAY),
            timeout_ms=min(longest_ms, self.timeout_ms or longest_ms),
            part=AgentPart(
                AgentPartKind.TERMINAL,
                requester.account,
                unasked=unasked,
                kernel_session=session_of(requester),
            ),
        )


class TerminalParams(IdParams):
    """A method about one terminal."""

    id: Name = Field(description="the id of a terminal")


class InputParams(TerminalParams):
    """``terminal.input``: one of ``data`` (text) and ``bytes`` (base64)."""

    data: Annotated[str, Field(max_length=_MOST_TEXT)] | None = Field(
        default=None, description="text to type; this or `bytes`"
    )
    bytes: Base64Input | None = Field(
        default=None, description="bytes to type, in base64; 64 KiB at most; this or `data`"
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.data is None) == (self.bytes is None):
            raise ValueError("give one of `data` and `bytes`")
        return self

    @property
    def typed(self) -> "Base64Input":
        """Return the bytes that are typed."""
        return (self.data or "").encode() if self.bytes is None else self.bytes


class ResizeParams(TerminalParams):
    """``terminal.resize``."""

    rows: Side = Field(description="rows of characters")
    columns: Side = Field(description="columns of characters")

    @property
    def size(self) -> Size:
        """Return the size."""
        return Size(self.rows, self.columns)


class ReadParams(TerminalParams):
    """``terminal.read``."""

    after: Annotated[int, Field(ge=0, le=_LARGEST)] = Field(
        default=0, description="the first byte that is wanted; what is kept is the last MiB"
    )
    wait_ms: Annotated[int, Field(ge=0, le=30_000)] = Field(
        default=0, description="return nothing after this long"
    )


class AttachParams(TerminalParams):
    """``terminal.attach``."""

    after: Annotated[int, Field(ge=0, le=_LARGEST)] = Field(
        default=0, description="the first byte that is wanted; what is kept is the last MiB"
    )
