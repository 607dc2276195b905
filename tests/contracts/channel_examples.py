"""Make approvals to show, without a store or a gateway."""

from core.model.approval import Approval, ApprovalReply, ApprovalState, Resolution
from core.model.command import (
    Connector,
    ExecPlan,
    PinnedDirectory,
    PinnedFile,
    PlannedCommand,
    Unreadable,
)
from core.model.decision import Decision, Evaluation, Promise, Reason, SegmentVerdict
from core.model.identity import Actor, AgentId, ApprovalId, Intake, Requester, SessionKey
from core.model.policy import ExecHost

ID = ApprovalId("7k3f9q0123456789abcdefghjk")
OTHER_ID = ApprovalId("2mzz8x0123456789abcdefghjk")
CREATED_MS = 1_763_719_200_000
ANA = Actor("telegram", "42", "Ana")


def program(path: str, realpath: str = "") -> PinnedFile:
    """Return a pinned file with a made-up identity."""
    return PinnedFile(path, realpath or path, 1, 2, 3, "00" * 32)


def plan(
    *argvs: tuple[str, ...],
    text: str | None = None,
    cwd: str = "/home/dev/proj",
    agent: str = "main",
    connector: Connector = Connector.THEN,
    env: tuple[str, ...] = (),
    folder: str = "/usr/bin/",
) -> ExecPlan:
    """Return a readable plan of vectors, or an unreadable one of an exact text."""
    commands = tuple(PlannedCommand(argv, program(folder + argv[0])) for argv in argvs)
    if text is not None:
        commands = (PlannedCommand(("sh", "-c", text), program("/usr/bin/dash")),)
    return ExecPlan(
        text=text if text is not None else "; ".join(" ".join(argv) for argv in argvs),
        commands=commands,
        connectors=(connector,) * (len(argvs) - 1),
        unreadable=Unreadable("R7", "a substitution") if text is not None else None,
        cwd=PinnedDirectory(cwd, 1, 2),
        env=(("PATH", "/usr/bin"),),
        requested_env=env,
        host=ExecHost.GATEWAY,
        node=None,
        agent=AgentId(agent),
        session=SessionKey("agent:main:main"),
        timeout_ms=1_800_000,
        digest="3f2a91bc00112233" * 4,
    )


def approval(
    of: ExecPlan | None = None,
    *,
    id: ApprovalId = ID,  # noqa: A002 - the model's own word
    why: str = "/usr/bin/rm is not on the allowlist of main",
    promise: tuple[str, ...] = ("/usr/bin/rm",),
    segments: tuple[SegmentVerdict, ...] = (),
    resolution: Resolution | None = None,
) -> Approval:
    """Return an approval that waits for ten minutes."""
    return Approval(
        id=id,
        plan=of or plan(("rm", "-rf", "/srv/x")),
        evaluation=Evaluation(
            Decision.ASK,
            Reason.NOT_LISTED,
            why,
            segments,
            tuple(Promise(pattern) for pattern in promise),
        ),
        requester=Requester(Intake.SOCKET, "uid:1000"),
        origin=None,
        created_ms=CREATED_MS,
        deadline_ms=CREATED_MS + 600_000,
        resolution=resolution,
    )


def resolved(
    state: ApprovalState = ApprovalState.ALLOWED,
    reply: ApprovalReply | None = ApprovalReply.ALLOW_ONCE,
    by: Actor | None = ANA,
    note: str = "",
) -> Resolution:
    """Return how an approval ended, two minutes after it was made."""
    return Resolution(state, reply, by, CREATED_MS + 120_000, note)
