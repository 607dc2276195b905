"""Turn a supervisor's report into a result."""

from core.errors import PlanDrift, SpawnError
from core.model.identity import ApprovalId
from core.model.result import Finished, Output
from core.runner.frames import Ended, Failed
from core.runner.output import LARGEST_TAIL

UNSEEN = "sayso: the supervisor of this run died; it is not known how the command ended\n"


def finished(run_id: ApprovalId, ended: Ended) -> Finished:
    """Return how a run ended."""
    text, tail = ended["text"], ended["tail"]
    return Finished(
        run_id=run_id,
        exit_code=ended["exit_code"],
        signal=ended["signal"],
        output=Output(
            text=text,
            tail=text[-LARGEST_TAIL:] if tail is None else tail,
            total_bytes=ended["total_bytes"],
            truncated=ended["truncated"],
        ),
        duration_ms=ended["duration_ms"],
        timed_out=ended["timed_out"],
    )


def unseen(run_id: ApprovalId, duration_ms: int, *, timed_out: bool) -> Finished:
    """Return a run whose end nobody saw: neither code nor signal, worded ``unknown``."""
    return Finished(run_id, None, None, Output(UNSEEN, UNSEEN, 0), duration_ms, timed_out=timed_out)


def failure(failed: Failed) -> PlanDrift | SpawnError:
    """Return the error for a run of which nothing was started."""
    if failed["drift"]:
        return PlanDrift(f"{failed['why']}, so nothing ran. Ask again.")
    return SpawnError(f"Nothing ran: {failed['why']}.")
