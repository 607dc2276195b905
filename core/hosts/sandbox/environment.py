"""Build the environment of a sandboxed command: the plan's, marked, and a TMPDIR that exists."""

from collections.abc import Mapping

from core.errors import SpawnError
from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.planning.environment import RUN_MARK

TMP = "/tmp"  # noqa: S108 - inside it is a private one


def environment(run_id: ApprovalId, plan: ExecPlan) -> dict[str, str]:
    """Return the environment of a run's commands."""
    environ = {**dict(plan.env), RUN_MARK: run_id}
    if "TMPDIR" in environ and "TMPDIR" not in plan.requested_env:
        environ["TMPDIR"] = TMP
    return environ


def env_file(environ: Mapping[str, str]) -> bytes:
    """Return an environment as a container engine reads it; others could see a command line.

    Raises:
        SpawnError: a name or value does not fit on one line.
    """
    for name, value in environ.items():
        if "\n" in value or "\n" in name or name.startswith("#") or name != name.strip():
            raise SpawnError(f"the value of `{name}` cannot be handed to a container")
    return "".join(f"{name}={value}\n" for name, value in environ.items()).encode()
