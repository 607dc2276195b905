"""Make approvals as the store would return them, for tests of what is said about them."""

from core.model.approval import Approval, Resolution
from core.model.command import ExecPlan, PinnedDirectory, PinnedFile, PlannedCommand
from core.model.decision import Decision, Evaluation, Promise, Reason, SegmentVerdict
from core.model.identity import AgentId, ApprovalId, Intake, Requester, SessionKey
from core.model.policy import ExecHost

RM = PinnedFile("/usr/bin/rm", "/usr/bin/rm", 1, 2, 3, "0" * 64)


def plan() -> ExecPlan:
    """Return the plan of `rm -rf build` in /srv/app."""
    return ExecPlan(
        text="rm -rf build",
        commands=(PlannedCommand(("rm", "-rf", "build"), RM),),
        connectors=(),
        unreadable=None,
        cwd=PinnedDirectory("/srv/app", 1, 9),
        env=(("PATH", "/usr/bin"),),
        requested_env=(),
        host=ExecHost.GATEWAY,
        node=None,
        agent=AgentId("main"),
        session=SessionKey("main"),
        timeout_ms=60_000,
        digest="ab" * 32,
    )


def pending(resolution: Resolution | None = None) -> Approval:
    """Return an approval of that plan, waiting unless a resolution is given."""
    verdict = SegmentVerdict(
        ("rm", "-rf", "build"), "/usr/bin/rm", Decision.ASK, Reason.NOT_LISTED, "no entry matches"
    )
    return Approval(
        id=ApprovalId("k3f7qz0123456789abcdefghjk"),
        plan=plan(),
        evaluation=Evaluation(
            Decision.ASK,
            Reason.NOT_LISTED,
            "rm is not listed",
            (verdict,),
            (Promise("/usr/bin/rm"),),
        ),
        requester=Requester(Intake.SOCKET, "uid:0", (40, 7)),
        origin=None,
        created_ms=1_790_000_000_000,
        deadline_ms=1_790_000_600_000,
        resolution=resolution,
    )
