"""Report how a check ended, keep a result for a while, and turn every failure into a finding.

Two callers: the health of a running gateway (``bot/health/report.py``), which repeats its checks,
and `sayso doctor` (``bot/doctor``), which checks an installation once.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from core.errors import SaysoError
from core.text.render import redact

_LONGEST = 200


class Verdict(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: its subject, how it ended, and what to do if it did not end well.

    ``logged``: it has already been written to the log.
    """

    verdict: Verdict
    subject: str
    detail: str
    logged: bool = False

    @classmethod
    def when(cls, ok: bool, subject: str, detail: str) -> "Finding":  # noqa: FBT001 - as in `if`
        """Return a finding that is a success or a failure."""
        return cls(Verdict.OK if ok else Verdict.FAIL, subject, detail)

    @property
    def ok(self) -> bool:
        """Return whether it ended well."""
        return self.verdict is Verdict.OK

    def as_json(self) -> dict[str, str]:
        """Return it as a flat object."""
        return {"verdict": self.verdict, "subject": self.subject, "detail": self.detail}


class Check(Protocol):
    """Checks one or more parts; never raises."""

    async def __call__(self) -> Sequence[Finding]:
        """Return the findings, each part by the name under which it is shown."""


async def ask_platform(subject: str, check: Check, patience_s: float) -> Sequence[Finding]:
    """Return what a check finds at a platform; a failure or timeout is also a finding."""
    try:
        async with asyncio.timeout(patience_s):
            return await check()
    except TimeoutError:
        why = (
            f"the platform did not answer within {patience_s:.0f} s; check that it is reachable "
            "from here"
        )
    except SaysoError as failure:
        why = str(failure)
    except Exception as error:  # noqa: BLE001 - one channel must not hide the findings of others
        words = redact(f"{type(error).__name__}: {error}"[:_LONGEST]).text
        why = f"its check failed ({words}); please report this"
    return (Finding(Verdict.FAIL, subject, why),)


@dataclass(slots=True)
class Kept:
    """Checks once and returns the same for a while: ``good_s`` if all is well, else ``bad_s``.

    A caller that comes during a check waits for its result.
    """

    check: Check
    good_s: float
    bad_s: float
    _found: Sequence[Finding] = ()
    _until: float = 0.0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __call__(self) -> Sequence[Finding]:
        """Return the last result, or check again."""
        async with self._turn:
            if time.monotonic() >= self._until:
                self._found = await self.check()
                well = all(one.ok for one in self._found)
                self._until = time.monotonic() + (self.good_s if well else self.bad_s)
            return self._found
