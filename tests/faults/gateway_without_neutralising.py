"""Run a gateway that judges as usual and omits the settings that switch a program's obedience off.

A negative control of the oracles: what is let pass is so because of these settings.
"""

import sys
from typing import Any

from bot.cli import main
from core.model.command import ExecPlan
from core.model.result import Finished
from core.runner.runner import Runner
from tests.faults.git_oracle.oracle import bare

_run = Runner.run


async def _exposed(self: Runner, run_id: Any, plan: ExecPlan, *more: Any, **how: Any) -> Finished:
    return await _run(self, run_id, bare(plan), *more, **how)


if __name__ == "__main__":
    Runner.run = _exposed  # type: ignore[method-assign]  # the control takes the guard away
    sys.exit(main())
