"""Define the answers about terminals: their status, and what they show to the requester only."""

from typing import Literal

from pydantic import Field

from bot.intake.results.answer import Answer, Milliseconds, safe
from core.isolation.terminal.terminals import Terminal
from core.model.result import Denied, Pending, Running, Submission


class OpenedAnswer(Answer):
    """The status of the request for a terminal; ``terminal_id`` is the id of its run."""

    status: Literal["pending", "running", "denied", "ended"]
    terminal_id: str = Field(alias="terminal_id", description="also the id of its run")
    code: str | None = Field(default=None, description="where it is asked about: the code")
    deadline_ms: Milliseconds | None = None
    why: str | None = Field(default=None, description="where it was denied: why")

    @classmethod
    def of(cls, answer: Submission) -> "OpenedAnswer":
        """Return the status of a request."""
        match answer:
            case Pending(run_id=run_id, code=code, deadline_ms=ms):
                return cls(status="pending", terminal_id=run_id, code=code, deadline_ms=ms)
            case Running(run_id=run_id):
                return cls(status="running", terminal_id=run_id)
            case Denied(run_id=run_id, why=why):
                return cls(status="denied", terminal_id=run_id, why=safe(why))
            case _:
                return cls(status="ended", terminal_id=answer.run_id)


class TerminalAnswer(Answer):
    """One terminal; ``ended`` says why it ended, and is empty while it is open."""

    terminal_id: str = Field(alias="terminal_id", description="also the id of its run")
    agent: str
    owner: str = Field(description="who asked for it")
    user: str = Field(description="the Unix user that it runs as")
    cwd: str
    shell: str
    began_ms: Milliseconds
    ended_ms: Milliseconds | None
    ended: str
    exit_code: int | None
    rows: int
    columns: int
    shown_bytes: int
    recorded: bool

    @classmethod
    def of(cls, one: Terminal) -> "TerminalAnswer":
        """Return a terminal."""
        stream, plan = one.stream, one.plan
        size = None if stream is None else stream.size
        return cls(
            terminal_id=one.run_id,
            agent=plan.agent,
            owner=one.owner[0],
            user=plan.run_as,
            cwd=safe(plan.cwd.path),
            shell=safe(plan.commands[0].argv[1]),
            began_ms=one.began_ms,
            ended_ms=one.ended_ms,
            ended=safe(one.ended),
            exit_code=one.code,
            rows=0 if size is None else size.rows,
            columns=0 if size is None else size.columns,
            shown_bytes=0 if stream is None else stream.total,
            recorded=bool(one.recording),
        )


class TerminalsAnswer(Answer):
    """The open terminals, and the latest that have ended."""

    terminals: list[TerminalAnswer]


class InputAnswer(Answer):
    """How many bytes were accepted."""

    accepted: int


class ShownAnswer(Answer):
    """What a terminal showed, in base64, and the position after it; ``ended``: nothing follows."""

    data: str
    next: int
    ended: bool
