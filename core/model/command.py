"""Carry a command from the words of a request to the vectors that will run."""

from dataclasses import dataclass, field
from enum import StrEnum

from core.model.identity import DEFAULT_AGENT, AgentId, Requester, SessionKey, Target, TaskId
from core.model.policy import ExecAsk, ExecHost, ExecSecurity
from core.model.stdio import PLAIN_STDIO, Environ, Stdio


@dataclass(frozen=True, slots=True)
class ExecOverrides:
    """Settings that a call or a chat session sets; ``None`` leaves the next layer's value."""

    host: ExecHost | None = None
    security: ExecSecurity | None = None
    ask: ExecAsk | None = None
    node: str | None = None


class AgentPartKind(StrEnum):
    """What an agent does itself: answer a prompt, use a tool, run a command line; or a terminal."""

    PROMPT = "prompt"
    TOOL = "tool"
    COMMAND = "command"
    TERMINAL = "terminal"


@dataclass(frozen=True, slots=True)
class AgentPart:
    """What an agent does itself in an executor, with no command that Sayso runs.

    ``account`` gave the prompt. ``call`` identifies a waiting tool call, used once; ``user`` is the
    one that the waiting agent runs as. ``tools`` are the only ones that a prompt may use, all where
    it is empty. Of a terminal, ``kernel_session`` is the one that it is for, and ``unasked`` says
    that the configuration lets this account open one.
    """

    kind: AgentPartKind
    account: str = ""
    call: str = ""
    user: str = ""
    tools: tuple[str, ...] = ()
    unasked: bool = False
    kernel_session: str = ""

    @property
    def opens_terminal(self) -> bool:
        """Return whether it is a terminal for a person, and nothing that an agent does."""
        return self.kind is AgentPartKind.TERMINAL


@dataclass(frozen=True, slots=True)
class ExecRequest:
    """One request to run something; exactly one of ``line`` and ``argv`` is set.

    ``cwd`` is absolute. ``env`` holds requested changes only. ``timeout_ms`` is wall clock.
    ``request_key`` makes a repeated submission the same request (idempotency). ``environ`` and
    ``cpu_s`` are for hardened tools: their own environment table, their own CPU limit in seconds.
    ``task`` is what the requester says it works on, a ``TASK_NAME``. ``part`` makes it what an
    agent does itself.
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
    stdio: Stdio = PLAIN_STDIO
    environ: Environ = Environ.STANDARD
    cpu_s: int | None = None
    task: TaskId | None = None
    part: AgentPart | None = None


class Connector(StrEnum):
    """The operator between two commands of a line."""

    PIPE = "|"
    AND = "&&"
    OR = "||"
    THEN = ";"


class PartKind(StrEnum):
    """What one part of a word is, before anything is expanded.

    A ``VALUE`` is the unquoted name of a variable, which a shell would split and glob. A ``STATUS``
    is ``$?``: digits, which no shell splits or globs, so quotes make no difference.
    """

    LITERAL = "literal"
    GLOB = "glob"
    TILDE = "tilde"
    VALUE = "value"
    QUOTED_VALUE = "quoted value"
    STATUS = "status"


@dataclass(frozen=True, slots=True)
class WordPart:
    """One part: literal text, ``*``, ``?`` or ``[abc]``, ``~``, or a variable's name (``?``)."""

    kind: PartKind
    text: str


@dataclass(frozen=True, slots=True)
class OpenWord:
    """A word that the planner has to expand; no two literal parts are adjacent."""

    parts: tuple[WordPart, ...]


Word = str | OpenWord
"""A word of a reading; text is literal, quotes removed."""


class ErrorTo(StrEnum):
    """Where standard error goes: the run's output, the command's own output, or nowhere.

    The command's own output is where standard output pointed before it was discarded.
    """

    RUN = "run"
    OUTPUT = "output"
    NULL = "null"


@dataclass(frozen=True, slots=True)
class Routing:
    """Where redirections, taken in their order, lead a command's streams (POSIX XCU 2.7)."""

    null_input: bool = False
    null_output: bool = False
    error: ErrorTo = ErrorTo.RUN


UNROUTED = Routing()


@dataclass(frozen=True, slots=True)
class Loop:
    """``for VARIABLE in WORDS``: the vectors from ``start`` up to ``end`` run for each of them."""

    variable: str
    words: tuple[Word, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A line that was read for certain: argument vectors and what joins them.

    ``connectors[i]`` is between ``argvs[i]`` and ``argvs[i + 1]``. Pipes bind tightest, then
    ``&&`` and ``||`` (equal, left to right), then ``;``. No grouping exists, so flat is exact.
    ``routings`` holds one for each vector, or nothing where no command is redirected. A vector of
    ``cd`` is a step that starts no program. ``loops`` follow one another.
    """

    argvs: tuple[tuple[Word, ...], ...]
    connectors: tuple[Connector, ...] = ()
    routings: tuple[Routing, ...] = ()
    loops: tuple[Loop, ...] = ()


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


UNKNOWN_LEAD = ""
"""Used instead of a real path where too much would have to be followed; it is in no folder."""


@dataclass(frozen=True, slots=True)
class PlannedCommand:
    """One vector of a plan with the program it starts.

    ``executable`` is ``None`` where ``problem`` says why nothing could be resolved; such a plan
    is never run. ``operands`` are further files whose content is bound: scripts, interpreters and
    the programs that a wrapper starts.

    ``inner`` are the commands that a wrapper runs, as far as that is known; ``bound`` is then its
    vector with each inner program named by its absolute path, else empty.

    ``cwd`` is where ``cd`` led before it, ``None`` the plan's own.

    ``exposed`` is a folder, from which it may read code, that others may write to; ``writers`` says
    who they are.
    ``absent`` are paths from which it would read code if they existed: none may appear.
    ``ahead`` are paths from which it would read code before, or instead of, what is bound: no file
    may appear there. One that ends in ``/`` is a folder. ``cached`` are files that Python may have
    made of bound code: nobody saw what is in them, so the command is kept from finding them.
    ``steered`` says which setting of a file around it makes it start more than the vector says.

    ``links`` are the paths that its words may name and that lead elsewhere than they read, each
    with its real path, or ``UNKNOWN_LEAD``. Each is normal; one that climbs stays as it reads.

    ``neutral`` is set in its environment after everything else, so that it does not obey what is
    around it (``core.programs.neutral_environment``). ``unsettled`` says which earlier
    command of its line may change what it obeys there: a person is asked, and that change alone is
    then no drift.

    ``replaces`` is an existing file that a move or a copy would replace.

    ``fed``: it takes its code from the pipe before it. ``reloads``: it, or a program that it
    starts, loads code again that changed while it runs.

    ``late`` are the places of ``$?`` in its words that get their digits when it starts, in order:
    the index of the word, and the offset in it. Elsewhere the two characters are text.
    """

    argv: tuple[str, ...]
    executable: PinnedFile | None
    problem: str = ""
    operands: tuple[PinnedFile, ...] = ()
    inner: tuple["PlannedCommand", ...] = ()
    bound: tuple[str, ...] = ()
    cwd: PinnedDirectory | None = None
    routing: Routing = UNROUTED
    exposed: str = ""
    writers: str = ""
    steered: str = ""
    absent: tuple[str, ...] = ()
    ahead: tuple[str, ...] = ()
    cached: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    neutral: tuple[tuple[str, str], ...] = ()
    unsettled: str = ""
    replaces: str = ""
    late: tuple[tuple[int, int], ...] = ()
    fed: bool = False
    reloads: bool = False

    @property
    def vector(self) -> tuple[str, ...]:
        """Return the vector that runs."""
        return self.bound or self.argv

    @property
    def by_path(self) -> tuple[str, ...]:
        """Return the vector that runs with its program named by path, as a wrapper gets it."""
        return self.vector if self.executable is None else (self.executable.path, *self.vector[1:])

    @property
    def effective(self) -> tuple["PlannedCommand", ...]:
        """Return the commands that do the work: itself, or the innermost ones of a wrapper."""
        return tuple(leaf for one in self.inner for leaf in one.effective) or (self,)

    @property
    def all_of_it(self) -> tuple["PlannedCommand", ...]:
        """Return itself and, of a wrapper, all the commands within."""
        return (self, *(leaf for one in self.inner for leaf in one.all_of_it))


@dataclass(frozen=True, slots=True)
class ExecPlan:
    """What was judged and is what runs (invariants 2 and 3).

    Readable: ``commands`` joined by ``connectors``. Unreadable: ``unreadable`` is set,
    ``commands`` holds the one pinned shell with ``-c`` and the exact text, and the prompt says
    that a shell runs it. ``env`` is the child's complete environment, ``requested_env`` the names
    that the request asked to set. ``cpu_s`` is the CPU limit in seconds, ``None`` the configured
    one. ``node_name`` is what people call ``node``. ``digest`` is the SHA-256 hex of the canonical
    form of all of it. ``run_as`` is the Unix user that it runs as, empty for the host's own. With
    ``part`` an agent does it itself, and ``commands`` say what in words.
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
    stdio: Stdio = PLAIN_STDIO
    cpu_s: int | None = None
    task: TaskId | None = None
    node_name: str = ""
    run_as: str = ""
    part: AgentPart | None = None
