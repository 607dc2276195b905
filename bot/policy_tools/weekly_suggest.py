"""Analyse a week of prompts while the gateway works: limited in rows and time, easy to stop.

Answers take precedence: the analysis has its own thread, which lets the others run before each
verdict.
"""

import threading
import time
from dataclasses import dataclass, field

from bot.policy_tools.judge import APPROVALS_NAME, Judge
from bot.policy_tools.past_commands import past_commands
from bot.policy_tools.suggest import Report, report
from bot.policy_tools.suggest_report import printable
from bot.settings import Settings
from core.errors import SaysoError
from core.model.command import ExecPlan
from core.model.decision import Evaluation
from core.model.policy import ExecPolicy
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.argv_template import ArgvTemplate

SPAN = "7d"
LEAST = 3
"""Allows that an entry needs; both are the defaults of ``sayso policy suggest``."""
_MOST = 20_000
_LONGEST_S = 60.0
_BREATH_S = 0.0005


class AnalysisEnded(SaysoError):
    """The analysis was stopped, or took too long."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the analysis may take, and how long it rests before each verdict, in s."""

    longest_s: float = _LONGEST_S
    breath_s: float = _BREATH_S
    stopped: threading.Event = field(default_factory=threading.Event)


class _PatientJudge(Judge):
    """A judge that lets others go first."""

    def __init__(self, settings: Settings, patience: Patience) -> None:
        super().__init__(settings, settings.home / APPROVALS_NAME)
        self._patience = patience
        self._until = time.monotonic() + patience.longest_s

    def judge(
        self,
        plan: ExecPlan,
        policy: ExecPolicy | None = None,
        allowlist: Allowlist | None = None,
        acl: tuple[ArgvTemplate, ...] | None = None,
    ) -> Evaluation:
        """Judge a plan after a rest.

        Raises:
            AnalysisEnded: the analysis was stopped, or its time is up.
        """
        patience = self._patience
        if patience.stopped.wait(patience.breath_s) or time.monotonic() > self._until:
            raise AnalysisEnded(
                f"It took more than {patience.longest_s:g} s, or the gateway stops. Run `sayso "
                "policy suggest` by hand."
            )
        return super().judge(plan, policy, allowlist, acl)


def week_of(settings: Settings, patience: Patience, span: str = SPAN, most: int = _MOST) -> Report:
    """Return what the newest ``most`` prompts of the last seven days cost; to be run in a thread.

    ``span`` replaces the seven days.

    Raises:
        SaysoError: the store or the approvals file cannot be read, or the analysis ended early.
    """
    judge = _PatientJudge(settings, patience)
    return report(past_commands(settings, span, most), judge, LEAST)


def notice_of(found: Report, least: int) -> str:
    """Return the message to people about a week, empty if less than ``least`` would be saved.

    It contains only numbers, not what was asked.
    """
    entries = sum(map(printable, found.suggestions))
    if not entries or found.saved < least:
        return ""
    rate = found.all.accept_rate or 0.0
    listed = "1 allowlist entry" if entries == 1 else f"{entries} allowlist entries"
    return (
        f"In the last 7 days people were asked {found.all.prompts} times, and {rate:.0%} of the "
        f"answers were to allow it. {listed} would have saved {found.saved} of these prompts; "
        "nothing was changed. To see them: `sayso policy suggest`"
    )
