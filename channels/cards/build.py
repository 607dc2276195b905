"""Build what people are shown, for every platform alike, from the bound plan alone."""

from datetime import UTC, tzinfo

from channels.cards.card import NOTHING, Choice, OutcomeCard, PromptCard
from channels.cards.summary import beyond, clause, clause_of_prompt, does, is_plain, mixed
from channels.cards.text import (
    agreement,
    concerns,
    detail,
    digest_words,
    headline,
    odd_programs,
    programs,
)
from channels.commands import PairNode
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.command import ExecPlan
from core.model.decision import Evaluation
from core.model.result import ExecResult
from core.text.render import (
    Redacted,
    command_text,
    phrase,
    redact,
    shell_statement,
)
from core.text.stdin_preview import shows_input

_NODE_ID_SHOWN = 12
"""Characters of a node's id next to its name."""
LONGEST_SHOWN = 200_000
"""Characters of a command, beyond which nobody would read it: it can only be denied."""


def node_choices(code: str, named: str = "") -> tuple[Choice, ...]:
    """Return the buttons that answer a request; with ``named``, labels say which one."""
    before = f"{named} " if named else ""
    return (
        Choice(f"{before}Allow", PairNode(code.lower(), allow=True)),
        Choice(f"{before}Deny", PairNode(code.lower(), allow=False)),
    )


def build_prompt(approval: Approval, zone: tzinfo = UTC, page_url: str = "") -> PromptCard:
    """Build the question from the plan that the approval is bound to; times are in ``zone``.

    ``page_url`` is where the control page is, empty if prompts have no link.
    """
    plan = approval.plan
    return PromptCard(
        id=approval.id,
        code=approval.code,
        command=_shown(plan),
        size=len(plan.text),
        segments=len(plan.commands),
        concerns=concerns(approval.evaluation.segments),
        cwd=redact(plan.cwd.path),
        agent=_named(plan.agent, "(unnamed agent)"),
        session=_named(plan.session, "(no session)"),
        host=_host(plan),
        resolved=tuple(dict.fromkeys(one for each in plan.commands for one in programs(each))),
        odd=_odd(plan),
        does=does(plan),
        beyond=beyond(plan, approval.evaluation),
        clause=clause_of_prompt(plan, approval.evaluation),
        why=redact(approval.evaluation.why),
        policy=_policy(approval.evaluation),
        promise=tuple(redact(one.scope) for one in approval.evaluation.promise),
        env_names=tuple(redact(name, strict=True) for name in plan.requested_env),
        expires_at_ms=approval.deadline_ms,
        answer_within_ms=approval.deadline_ms - approval.created_ms,
        timeout_ms=plan.timeout_ms,
        digest=digest_words(plan.digest),
        shell=shell_statement(plan),
        whole=len(plan.text) <= LONGEST_SHOWN and shows_input(plan),
        asked=approval.asked,
        people=agreement(approval),
        zone=zone,
        step_up=approval.step_up,
        mixed=mixed(approval.evaluation),
        plain=is_plain(plan, approval.evaluation),
        plan_digest=plan.digest,
        security=approval.evaluation.security or "",
        ask=approval.evaluation.ask or "",
        link=Redacted(f"{page_url}/approve/{approval.id}" if page_url else ""),
        task=NOTHING if plan.task is None else phrase("task {}", redact(plan.task, strict=True)),
    )


def build_outcome(
    approval: Approval, result: ExecResult | None = None, zone: tzinfo = UTC
) -> OutcomeCard:
    """Build the final state of a prompt; ``result`` is how the run ended, once it has."""
    resolution = approval.resolution
    return OutcomeCard(
        id=approval.id,
        code=approval.code,
        state=resolution.state if resolution else ApprovalState.PENDING,
        command=_shown(approval.plan),
        agent=_named(approval.plan.agent, "(unnamed agent)"),
        headline=headline(resolution, zone),
        detail=detail(resolution, result),
        digest=digest_words(approval.plan.digest),
        clause=clause(approval.plan, approval.evaluation),
        stored=_stored(approval),
    )


def _stored(approval: Approval) -> tuple[Redacted, ...]:
    end = approval.resolution
    if end is None or end.state is not ApprovalState.ALLOWED:
        return ()
    if end.reply is not ApprovalReply.ALLOW_ALWAYS:
        return ()
    return tuple(redact(one.scope) for one in approval.evaluation.promise)


def _policy(evaluation: Evaluation) -> Redacted:
    if evaluation.security is None or evaluation.ask is None:
        return NOTHING
    return Redacted(f"security {evaluation.security}, ask {evaluation.ask}")


def _shown(plan: ExecPlan) -> Redacted:
    if len(plan.text) > LONGEST_SHOWN:
        return redact(plan.text[:LONGEST_SHOWN], multiline=True)
    return command_text(plan)


def _odd(plan: ExecPlan) -> tuple[Redacted, ...]:
    # For a shell that runs the text as it is, the shell's own statement warns.
    if plan.unreadable is not None:
        return ()
    return tuple(dict.fromkeys(one for each in plan.commands for one in odd_programs(each)))


def _named(name: str, absent: str) -> Redacted:
    return redact(name, strict=True) if name else Redacted(absent)


def _host(plan: ExecPlan) -> Redacted:
    if plan.run_as:
        return phrase("{} as {}", redact(plan.host), redact(plan.run_as, strict=True))
    if not plan.node:
        return redact(plan.host)
    if not plan.node_name:
        return phrase("node {}", redact(plan.node, strict=True))
    name, start = redact(plan.node_name, strict=True), redact(plan.node[:_NODE_ID_SHOWN])
    return phrase("node {} ({})", name, start)
