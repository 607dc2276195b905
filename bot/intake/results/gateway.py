"""Define the answers of the methods about the gateway: health, lockdown, the journal."""

from pydantic import ConfigDict

from bot.intake.results.answer import Answer, Milliseconds, safe
from core.audit.rotate import Rotated
from core.audit.verify import Verdict
from core.gate.guards.lockdown import Locked


class HealthAnswer(Answer):
    """Whether all is well, and each part with what is wrong with it."""

    model_config = ConfigDict(extra="allow")  # what the gate proof reports in addition

    ok: bool
    pid: int
    parts: dict[str, dict[str, object]]
    open_surfaces: int


class LockdownAnswer(Answer):
    """Whether Sayso is locked down, since when, why, and by whom."""

    locked: bool
    since_ms: Milliseconds | None
    why: str | None
    by: str | None
    way: str | None

    @classmethod
    def of(cls, locked: Locked | None) -> "LockdownAnswer":
        """Return a lockdown; all but ``locked`` are ``None`` if there is none."""
        if locked is None:
            return cls(locked=False, since_ms=None, why=None, by=None, way=None)
        return cls(
            locked=True,
            since_ms=locked.at_ms,
            why=safe(locked.why),
            by=safe(locked.by),
            way=safe(locked.entry_point) or None,
        )


class RotatedAnswer(Answer):
    """The segment of the journal that was ended: its file, its last line's number and hash."""

    file: str
    segment: int
    seq: int
    hash: str

    @classmethod
    def of(cls, ended: Rotated) -> "RotatedAnswer":
        """Return a segment that was ended."""
        return cls(file=str(ended.file), segment=ended.number, seq=ended.seq, hash=ended.hash)


class VerifiedAnswer(Answer):
    """Whether the journal's chain is intact, how much was read, and the first fault.

    ``endChecked``: lines cut off at the end would have been noticed.
    """

    ok: bool
    records: int
    segments: int
    file: str | None
    first_bad_line: int | None
    why: str
    head: str
    end_checked: bool

    @classmethod
    def of(cls, verdict: Verdict) -> "VerifiedAnswer":
        """Return a verdict."""
        return cls(
            ok=verdict.ok,
            records=verdict.records,
            segments=verdict.segments,
            file=safe(verdict.file) or None,
            first_bad_line=verdict.first_bad_line,
            why=safe(verdict.why),
            head=verdict.head,
            end_checked=verdict.end_checked,
        )
