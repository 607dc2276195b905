"""Define the answers of the methods about approvals; all text from outside is redacted."""

from collections.abc import Mapping, Sequence

from bot.intake.results.answer import Answer, Milliseconds, safe, safe_or_none
from channels.cards.summary import beyond
from channels.shown_text import readable
from core.approvals.answer import AnswerOutcome
from core.approvals.messages import limits
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.decision import Tier
from core.model.evidence import Showing, Surface, seen_since
from core.model.policy import ExecAsk, ExecHost, ExecSecurity
from core.store.outbox.receipts import Receipt
from core.store.views.evidence import Evidence
from core.text.render import command_text, shell_statement

_MOST_LISTED, _CUT_TO = 1_000_000, 200
"""Characters; each takes up to six bytes of a frame."""


class ApprovalAnswer(Answer):
    """An approval: what is asked, its status, and who ended it.

    ``also`` is what the command does beyond its words, because of a hook or a file around it.
    """

    id: str
    code: str
    command: str
    warning: str | None
    also: list[str]
    cwd: str
    agent: str
    session: str
    task: str | None
    host: ExecHost
    node: str | None
    node_name: str | None
    run_as: str | None
    security: ExecSecurity | None
    ask: ExecAsk | None
    resolved_paths: list[str | None]
    why: str
    promise: list[str]
    created_ms: Milliseconds
    deadline_ms: Milliseconds
    state: ApprovalState
    decision: ApprovalReply | None
    by: str | None
    at_ms: Milliseconds | None
    note: str
    terms: str | None
    quorum: int
    votes: list[str]
    behind: str | None
    digest: str
    requester: str
    tier: Tier
    timeout_ms: int
    env: list[str]

    @classmethod
    def of(cls, question: Approval) -> "ApprovalAnswer":
        """Return an approval as lists show it."""
        plan, end, judged = question.plan, question.resolution, question.evaluation
        return cls(
            id=question.id,
            code=question.code,
            command=command_text(plan).text,
            warning=shell_statement(plan).text or None,
            also=[one.text for one in beyond(plan, judged)],
            cwd=safe(plan.cwd.path),
            agent=safe(plan.agent),
            session=safe(plan.session),
            task=safe_or_none(plan.task),
            host=plan.host,
            node=safe_or_none(plan.node),
            node_name=safe_or_none(plan.node_name or None),
            run_as=safe_or_none(plan.run_as or None),
            security=judged.security,
            ask=judged.ask,
            resolved_paths=[safe_or_none(one.resolved) for one in judged.segments],
            why=safe(judged.why),
            promise=[safe(promise.words) for promise in judged.promise],
            created_ms=question.created_ms,
            deadline_ms=question.deadline_ms,
            state=end.state if end is not None else ApprovalState.PENDING,
            decision=end.reply if end is not None else None,
            by=end.by.ref if end is not None and end.by else None,
            at_ms=end.at_ms if end is not None else None,
            note=safe(end.note) if end is not None else "",
            terms=limits(end.terms) if end is not None and end.terms is not None else None,
            quorum=question.quorum,
            votes=[vote.by.ref for vote in question.votes],
            behind=question.behind,
            digest=plan.digest,
            requester=safe(question.requester.account),
            tier=judged.tier,
            timeout_ms=plan.timeout_ms,
            env=[safe(name) for name in plan.requested_env],
        )


class ApprovalsAnswer(Answer):
    """What is waiting for approval."""

    pending: list[ApprovalAnswer]

    @classmethod
    def of(cls, questions: Sequence[Approval]) -> "ApprovalsAnswer":
        """Return a list of approvals, which must fit into one frame whatever they contain.

        If all texts together are too long, later ones are cut and marked as such; a single one is
        complete.
        """
        rows, left = [ApprovalAnswer.of(question) for question in questions], _MOST_LISTED
        if len(rows) == 1:
            return cls(pending=rows)
        for number, row in enumerate(rows):
            if len(row.command) > left:
                rows[number] = row.model_copy(update={"command": _cut(row.command)})
            else:
                left -= len(row.command)
        return cls(pending=rows)


def _cut(text: str) -> str:
    return f"{text[:_CUT_TO]}… ({len(text):,} characters; query this one alone)"


class ResolvedAnswer(Answer):
    """Whether the answer counted, and a sentence for the person who gave it."""

    accepted: bool
    outcome: AnswerOutcome
    sentence: str
    id: str | None


class CopyAnswer(Answer):
    """One copy of a prompt."""

    channel: str
    to: str
    thread: str
    step: int
    state: str
    why: str

    @classmethod
    def of(cls, one: Receipt) -> "CopyAnswer":
        """Return the status of one copy."""
        return cls(
            channel=one.target.channel,
            to=safe(one.target.to),
            thread=safe(one.target.thread),
            step=one.step,
            state=one.state,
            why=safe(one.why),
        )


class CopiesAnswer(Answer):
    """The status of each copy of a prompt."""

    copies: list[CopyAnswer]


class ShowingAnswer(Answer):
    """One showing of a prompt: where or to whom, what exactly, and when."""

    surface: Surface
    channel: str
    place: str
    message: str
    by: str | None
    name: str
    sha256: str | None
    text: str
    at_ms: Milliseconds
    before_decision: bool

    @classmethod
    def of(cls, one: Showing, texts: Mapping[str, str]) -> "ShowingAnswer":
        """Return one showing; its text was masked when it was shown."""
        return cls(
            surface=one.surface,
            channel=one.channel,
            place=safe(one.place),
            message=safe(one.message),
            by=f"{one.channel}:{safe(one.account)}" if one.account else None,
            name=safe(one.name),
            sha256=one.hash or None,
            text=readable(texts.get(one.hash, "")),
            at_ms=one.at_ms,
            before_decision=one.waiting,
        )


class EvidenceAnswer(Answer):
    """The basis of a decision: who was shown what, and how long the person who decided had it.

    ``seen_ms`` is when that person could first read it, null if no record says so; ``took_ms`` is
    the time from then to the decision.
    """

    shown: list[ShowingAnswer]
    decided_ms: Milliseconds | None
    by: str | None
    seen_ms: Milliseconds | None
    took_ms: int | None

    @classmethod
    def of(cls, found: Evidence) -> "EvidenceAnswer":
        """Return the evidence of one approval."""
        end, texts = found.resolution, found.texts
        by = None if end is None else end.by
        seen = None if by is None else seen_since(found.shown, by)
        decided = None if end is None else end.at_ms
        took = None if decided is None or seen is None else decided - seen
        return cls(
            shown=[ShowingAnswer.of(one, texts) for one in found.shown],
            decided_ms=decided,
            by=None if by is None else by.ref,
            seen_ms=seen,
            took_ms=took,
        )
