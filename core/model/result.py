"""Define how a request ended. A denial is a result, not an exception (invariant 10)."""

from dataclasses import dataclass
from enum import StrEnum

from core.model.decision import DenialReason
from core.model.identity import ApprovalId

_FULL_TAIL = 20_000
"""Characters of what was printed last, if more was printed (S0 "Output caps")."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a run printed on both streams, capped (S0 "Output caps").

    ``text`` is at most 200,000 characters, ``tail`` its last 20,000 at most; ``total_bytes``
    counts what was printed beyond the cap as well.
    """

    text: str = ""
    tail: str = ""
    total_bytes: int = 0
    truncated: bool = False

    @property
    def is_tail_cut(self) -> bool:
        """Return whether more was printed than is in the tail, which then has its full length."""
        more = self.truncated or len(self.tail) < len(self.text)
        return more and len(self.tail) >= _FULL_TAIL


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream that was kept separately: its first bytes, and how many there were in all."""

    data: bytes = b""
    total_bytes: int = 0

    @property
    def truncated(self) -> bool:
        """Return whether more was printed than was kept."""
        return self.total_bytes > len(self.data)


@dataclass(frozen=True, slots=True)
class Streams:
    """Standard output and standard error of a run whose capture was ``SEPARATE``."""

    stdout: Stream = Stream()
    stderr: Stream = Stream()


class StreamName(StrEnum):
    """Which stream a chunk of output came from; ``OUTPUT`` where both are one."""

    OUTPUT = "output"
    STDOUT = "stdout"
    STDERR = "stderr"


@dataclass(frozen=True, slots=True)
class OutputChunk:
    """What a run printed next, as its watchers see it while it lasts."""

    stream: StreamName
    data: bytes


@dataclass(frozen=True, slots=True)
class LiveOutput:
    """What a command that still runs printed last, and how much in all (bytes)."""

    text: str
    total_bytes: int

    @property
    def is_cut(self) -> bool:
        """Return whether more was printed than is in the text, which then has its full length."""
        return len(self.text) >= _FULL_TAIL and self.total_bytes > len(self.text)


@dataclass(frozen=True, slots=True)
class Finished:
    """A command ran: exit code of its last part, or the signal that ended it. Times in ms.

    ``streams`` is set where the plan's capture was ``SEPARATE``; it is never stored.
    ``cancelled``: somebody ended it before it ended on its own. ``drift``: the line ended
    before one of its commands, because what that depends on had changed; one sentence.
    ``token_usage``: what an agent says its model used, under the agent's own names.
    ``findings``: what a sandboxed run left in its workspace that it must not, one sentence each.
    """

    run_id: ApprovalId
    exit_code: int | None
    signal: int | None
    output: Output
    duration_ms: int
    timed_out: bool = False
    streams: Streams | None = None
    cancelled: bool = False
    drift: str = ""
    findings: tuple[str, ...] = ()
    token_usage: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Denied:
    """Nothing ran. ``why`` is one sentence for the agent and its person."""

    run_id: ApprovalId
    reason: DenialReason
    why: str


@dataclass(frozen=True, slots=True)
class Pending:
    """Somebody is being asked until ``deadline_ms`` (epoch ms)."""

    run_id: ApprovalId
    code: str
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class Running:
    """The command was allowed and has not ended yet."""

    run_id: ApprovalId


@dataclass(frozen=True, slots=True)
class Unknown:
    """The gateway died while the command ran: how it ended was not seen, and it is not re-run."""

    run_id: ApprovalId


ExecResult = Finished | Denied | Unknown
Submission = ExecResult | Pending | Running
