"""Plan an admitted vector: the access list is the authority, so no policy is asked (S4)."""

from core.model.command import ExecPlan, ExecRequest
from core.model.decision import DenialReason
from core.model.identity import AgentId, Intake, Requester, SessionKey
from core.model.policy import ExecHost, ExecPolicy
from core.model.stdio import Capture, Environ, Stdio
from core.planning.planner import Planner, Refusal
from core.policy.programs.wrappers import is_shell, names_of
from core.remote.acl.acl import ExecTable
from core.remote.denials import RemoteDenial
from core.remote.host.active_runs import Session
from core.remote.trust.envelope import Order


def plan_of(
    planner: Planner, table: ExecTable, session: Session, order: Order
) -> ExecPlan | RemoteDenial:
    """Pin the program on the fixed search path, in ``default_cwd``, with S4's environment.

    Reads and hashes files, so it is called in a thread. A shell under any name is refused.
    """
    policy = ExecPolicy(host=ExecHost.GATEWAY, timeout_ms=table.max_duration_secs * 1000)
    plan = planner.plan(_request(table, session, order), policy)
    if isinstance(plan, Refusal):
        bad_cwd = plan.reason is DenialReason.BAD_CWD
        return RemoteDenial.BAD_CWD if bad_cwd else RemoteDenial.BAD_REQUEST
    program = plan.commands[0].executable
    if program is None:
        return RemoteDenial.EXECUTABLE_NOT_FOUND
    if is_shell(names_of(program.path) | names_of(program.realpath)):
        return RemoteDenial.ARGV_NOT_ALLOWED
    return plan


def _request(table: ExecTable, session: Session, order: Order) -> ExecRequest:
    return ExecRequest(
        requester=Requester(Intake.REMOTE, f"{session.agent_id}@{session.machine_id}"),
        session=SessionKey(f"remote:{session.agent_id}"),
        cwd=table.default_cwd,
        argv=order.argv,
        agent=AgentId(session.agent_id),
        timeout_ms=order.timeout_ms,
        stdio=Stdio(
            stdin=order.stdin,
            capture=Capture.SEPARATE,
            most_stdout=table.max_stdout_bytes,
            most_stderr=table.max_stderr_bytes,
        ),
        environ=Environ.REMOTE,
    )
