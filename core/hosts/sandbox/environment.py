"""Say which environment a sandboxed command gets: the plan's, marked, and a TMPDIR that exists."""

from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.runner.environ import RUN_MARK

TMP = "/tmp"  # noqa: S108 - inside it is a private one


def environment(run_id: ApprovalId, plan: ExecPlan) -> dict[str, str]:
    """Return the environment of a run's commands."""
    environ = {**dict(plan.env), RUN_MARK: run_id}
    if "TMPDIR" in environ and "TMPDIR" not in plan.requested_env:
        environ["TMPDIR"] = TMP
    return environ
