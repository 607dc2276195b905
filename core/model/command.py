"""Carry a command from the words that were asked to the vectors that will run."""

from dataclasses import dataclass, field
from enum import StrEnum

from core.model.identity import DEFAULT_AGENT, AgentId, Requester, SessionKey, Target
from core.model.policy import ExecAsk, ExecHost, ExecSecurity


@dataclass(frozen=True, slots=True)
class ExecOverrides:
    """Knobs that a call or a chat session sets; ``None`` leaves the next layer's value."""

    host: ExecHost | None = None
    security: ExecSecurity | None = None
    ask: ExecAsk | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True)
class ExecRequest:
    """One wish to run something; exactly one of ``line`` and ``argv`` is set.

    ``cwd`` is absolute. ``env`` holds requested changes only. ``timeout_ms`` is wall clock.
    ``request_key`` makes a repeated submission the same request (idempotency).
    """

    requester: Requester
    session: SessionKey
    cwd: str
    line: str | None = None
    argv: tuple[str, ...] | None = None
    agent: AgentId = DEFAULT_AGENT
    env: tuple[tuple[str, str], ...] = ()
    overrides: ExecOverrides = field(default_factory=ExecOverrides)
    timeout_ms: int | None = None
    origin: Target | None = None
    request_key: str | None = None


class Connector(StrEnum):
    """What stands between two commands of a line."""

    PIPE = "|"
    AND = "&&"
    OR = "||"
    THEN = ";"


@dataclass(frozen=True, slots=True)
class Reading:
    """A line that was read for certain: argument vectors and what joins them.

    ``connectors[i]`` stands between ``argvs[i]`` and ``argvs[i + 1]``. Pipes bind tightest, then
    ``&&`` and ``||`` (equal, left to right), then ``;``. No grouping exists, so flat is exact.
    """

    argvs: tuple[tuple[str, ...], ...]
    connectors: tuple[Connector, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line outside the accepted grammar: the broken rule (R0 to R13) and what broke it."""

    rule: str
    detail: str


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file's identity: invoked path, real path, device, inode, size in bytes, SHA-256 hex."""

    path: str
    realpath: str
    device: int
    inode: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PinnedDirectory:
    """A directory's identity: real path, device, inode."""

    path: str
    device: int
    inode: int


@dataclass(frozen=True, slots=True)
class PlannedCommand:
    """One vector of a plan with the program it starts.

    ``executable`` is ``None`` where ``problem`` says why nothing could be resolved; such a plan
    is never run. ``operands`` are script files whose content is bound as well.
    """

    argv: tuple[str, ...]
    executable: PinnedFile | None
    problem: str = ""
    operands: tuple[PinnedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class ExecPlan:
    """What was judged and is what runs (DESIGN §1 rules 2 and 3).

    Readable: ``commands`` joined by ``connectors``. Unreadable: ``unreadable`` is set,
    ``commands`` holds the one pinned shell with ``-c`` and the exact text, and the prompt says
    that a shell runs it. ``env`` is the child's complete environment, ``requested_env`` the names
    that the request asked to set. ``digest`` is the SHA-256 hex of the canonical form of all of it.
    """

    text: str
    commands: tuple[PlannedCommand, ...]
    connectors: tuple[Connector, ...]
    unreadable: Unreadable | None
    cwd: PinnedDirectory
    env: tuple[tuple[str, str], ...]
    requested_env: tuple[str, ...]
    host: ExecHost
    node: str | None
    agent: AgentId
    session: SessionKey
    timeout_ms: int
    digest: str
