"""Make drafts, plans and people for the store's tests."""

import secrets

from core.model.approval import ApprovalReply
from core.model.command import ExecPlan, PinnedDirectory, PinnedFile, PlannedCommand
from core.model.decision import Decision, Evaluation, Promise, Reason, SegmentVerdict
from core.model.identity import (
    Actor,
    AgentId,
    ApprovalId,
    Intake,
    Requester,
    SessionKey,
    Target,
)
from core.model.policy import ExecHost
from core.model.result import Finished, Output
from core.store.schema.records import ApprovalDraft, PromptDraft, RunDraft

MINUTE = 60_000
HALF_HOUR = 30 * MINUTE
SESSION = SessionKey("main:1")
ALICE = Actor("telegram", "42", "Alice")
BOB = Actor("telegram", "43", "Bob")
ASKER = Requester(Intake.SOCKET, "uid:1000", (77, 123456))
GROUP = Target("telegram", "-1001", thread="7")
PAGE = Target("terminal", "tty")
ONCE, ALWAYS, DENY = ApprovalReply.ALLOW_ONCE, ApprovalReply.ALLOW_ALWAYS, ApprovalReply.DENY
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id() -> ApprovalId:
    """Return a fresh id: 26 Crockford characters."""
    return ApprovalId("".join(secrets.choice(ALPHABET) for _ in range(26)))


def plan(
    text: str = "git push",
    session: str = SESSION,
    node: str | None = None,
    digest: str | None = None,
) -> ExecPlan:
    """Return a realistic plan for one vector; without a digest it equals no other."""
    argv = tuple(text.split())
    file = PinnedFile("/usr/bin/git", "/usr/bin/git", 66, 1234, 3_000_000, "ab" * 32)
    return ExecPlan(
        text=text,
        commands=(PlannedCommand(argv, file),),
        connectors=(),
        unreadable=None,
        cwd=PinnedDirectory("/srv/app", 66, 99),
        env=(("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"), ("LANG", "C.UTF-8")),
        requested_env=("LANG",),
        host=ExecHost.NODE if node else ExecHost.GATEWAY,
        node=node,
        agent=AgentId("main"),
        session=SessionKey(session),
        timeout_ms=HALF_HOUR,
        digest=digest or secrets.token_hex(32),
    )


def evaluation(*promise: str) -> Evaluation:
    """Return an ASK verdict that promises to store ``promise`` on allow-always."""
    verdict = SegmentVerdict(
        ("git", "push"), "/usr/bin/git", Decision.ASK, Reason.CARRIER, "git push is not listed"
    )
    return Evaluation(
        Decision.ASK,
        Reason.CARRIER,
        "git may run other programs.",
        (verdict,),
        tuple(Promise(pattern) for pattern in promise),
    )


def draft(
    approval_id: ApprovalId | None = None,
    *,
    timeout_ms: int = MINUTE,
    reminders: tuple[int, ...] = (),
    key: str | None = None,
    request_digest: str | None = None,
    targets: tuple[Target, ...] = (GROUP,),
    ladder: tuple[tuple[Target, int], ...] = (),
    session: str = SESSION,
    text: str = "git push",
    digest: str | None = None,
    local: bool = False,
) -> ApprovalDraft:
    """Return a question with one prompt a target, or one a step of ``ladder`` (place, after ms).

    Questions with the same ``digest`` are identical.
    """
    steps = ladder or tuple((target, 0) for target in targets)
    return ApprovalDraft(
        id=approval_id or new_id(),
        plan=plan(text, session, digest=digest),
        evaluation=evaluation("/usr/bin/git push"),
        requester=ASKER,
        origin=GROUP,
        timeout_ms=timeout_ms,
        reminders=reminders,
        request_key=key,
        prompts=tuple(
            PromptDraft(target, '{"text": "git push?"}', number if ladder else 0, after)
            for number, (target, after) in enumerate(steps)
        ),
        local=local,
        request_digest=request_digest,
    )


def run_draft(
    run_id: ApprovalId | None = None,
    *,
    owner: str = "boot-1",
    key: str | None = None,
    request_digest: str | None = None,
    session: str = SESSION,
) -> RunDraft:
    """Return a run that needs no approval."""
    return RunDraft(run_id or new_id(), plan("ls -l", session), ASKER, owner, key, request_digest)


def finished(run_id: ApprovalId, code: int = 0, tail: str = "done\n") -> Finished:
    """Return the result of a run that ended on its own."""
    return Finished(run_id, code, None, Output(tail, tail, len(tail)), 12)
