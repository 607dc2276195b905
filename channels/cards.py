"""Build what people are shown, for every platform alike, from the bound plan alone.

Every text in a card is ``Redacted``. A platform formats a card within its own limits; it never
reads the plan.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from channels.card_summary import MOST_SENTENCES, clause, clause_of_prompt, does, is_plain, mixed
from channels.card_text import (
    agreement,
    concerns,
    detail,
    digest_words,
    duration,
    headline,
    odd_programs,
    programs,
)
from channels.commands import Command, PairNode
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.command import ExecPlan
from core.model.decision import Evaluation
from core.model.identity import ApprovalId
from core.model.result import ExecResult
from core.text.render import (
    CONTINUATION,
    Redacted,
    command_text,
    join,
    phrase,
    redact,
    shell_statement,
)
from core.text.stdin_preview import shows_input

NOTHING = Redacted("")
_MASK = "[secret: "
_LONG = 500
_NODE_ID_SHOWN = 12
"""Characters of a node's id next to its name."""
LONGEST_SHOWN = 200_000
"""Characters of a command, beyond which nobody would read it: it can only be denied."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a prompt: one of our labels and a value."""

    label: str
    value: Redacted


@dataclass(frozen=True, slots=True)
class PromptCard:
    """A question, in full.

    ``size`` counts the characters of the exact command. ``concerns`` are the commands of a longer
    line that policy alone would not allow, each with its number. ``resolved`` are the programs that
    start, those of a wrapper below it, ``odd`` those among them that may deceive. ``does`` says
    what the command does, as far as the tables know, ``clause`` why a person is asked (``plain``:
    only because of a list), ``why`` the same as a sentence; ``mixed``: several reasons. ``promise``
    is what allow-always would store; empty means that it is not offered. ``shell`` is empty if no
    shell runs. ``whole`` is false if the command is too long to be shown: then nothing may offer to
    allow it. ``asked`` counts the identical requests that wait. ``people`` says how many must
    agree, if more than one. ``step_up``: no button allows it, only typed words do. Times are epoch
    ms and ms; ``zone`` is the people's time zone. ``plan_digest``, ``security`` and ``ask`` are for
    programs that show a card themselves. ``link`` is the question's page, empty if none can be
    opened; it grants no right.
    """

    id: ApprovalId
    code: str
    command: Redacted
    size: int
    segments: int
    concerns: tuple[Redacted, ...]
    cwd: Redacted
    agent: Redacted
    session: Redacted
    host: Redacted
    resolved: tuple[Redacted, ...]
    odd: tuple[Redacted, ...]
    does: Redacted
    clause: Redacted
    why: Redacted
    policy: Redacted
    promise: tuple[Redacted, ...]
    env_names: tuple[Redacted, ...]
    expires_at_ms: int
    answer_within_ms: int
    timeout_ms: int
    digest: str
    shell: Redacted
    whole: bool
    asked: int = 1
    people: Redacted = NOTHING
    zone: tzinfo = UTC
    step_up: bool = False
    task: Redacted = NOTHING
    mixed: bool = False
    plain: bool = False
    plan_digest: str = ""
    security: str = ""
    ask: str = ""
    link: Redacted = NOTHING

    @property
    def approvable(self) -> bool:
        """Return whether a platform that offers the whole command may offer to allow it."""
        return self.whole and bool(self.command.text)

    @property
    def allowed_on(self) -> str:
        """Return the page that a button opens because it cannot allow: a step-up is required."""
        return self.link.text if self.step_up and self.approvable else ""

    @property
    def offers_always(self) -> bool:
        """Return whether allow-always may be offered."""
        return self.approvable and bool(self.promise)

    @property
    def replies(self) -> str:
        """Return the decisions that ``/approve`` accepts here, as typed."""
        once = ["allow-once"] if self.approvable else []
        always = ["allow-always"] if self.offers_always else []
        return "|".join([*once, *always, "deny"])


@dataclass(frozen=True, slots=True)
class OutcomeCard:
    """How a question ended: what was asked, and the outcome in a sentence or two.

    ``clause`` says why it was asked, ``stored`` what an allow-always allows from then on.
    """

    id: ApprovalId
    code: str
    state: ApprovalState
    command: Redacted
    agent: Redacted
    headline: Redacted
    detail: Redacted
    digest: str
    clause: Redacted = NOTHING
    stored: tuple[Redacted, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One button under a reply or a notice: its label and what pressing it means."""

    label: str
    command: Command


@dataclass(frozen=True, slots=True)
class NoticeCard:
    """Something that people should know and need not answer.

    ``choices`` are shown as buttons if the platform has buttons; who may press them is checked at
    the press. A notice that replaces an earlier one has none.
    """

    text: Redacted
    choices: tuple[Choice, ...] = ()


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


def ending_facts(card: OutcomeCard) -> tuple[Fact, ...]:
    """Return the lines below how a question ended."""
    lines = (
        Fact("Agent", card.agent),
        Fact("Asked because", card.clause),
        Fact("Stored", join("\n", card.stored)),
        Fact("Check", Redacted(card.digest)),
    )
    return tuple(line for line in lines if line.value.text)


def _stored(approval: Approval) -> tuple[Redacted, ...]:
    end = approval.resolution
    if end is None or end.state is not ApprovalState.ALLOWED:
        return ()
    if end.reply is not ApprovalReply.ALLOW_ALWAYS:
        return ()
    return tuple(redact(one.scope) for one in approval.evaluation.promise)


def facts(card: PromptCard) -> tuple[Fact, ...]:
    """Return all lines below the command: those always shown, then the details."""
    return (*front(card), *details(card))


def front(card: PromptCard) -> tuple[Fact, ...]:
    """Return the lines that an answer is based on, in the same order on every platform.

    Whatever may deceive is among them (invariant 9): programs that are not what their names say,
    and the check words if the eye is not enough: something is masked, or it is long.
    """
    lines = (
        Fact("Does", card.does),
        Fact("Why", card.clause),
        *((_concerns(card),) if _is_crowded(card) else ()),
        Fact("⚠ Program" if len(card.odd) == 1 else "⚠ Programs", join("\n", card.odd)),
        Fact("Folder", card.cwd),
        Fact("Agent", phrase("{} · on {}", card.agent, card.host)),
        Fact("Sets", join(", ", card.env_names)),
        Fact("Asked", Redacted(f"{card.asked} times" if card.asked > 1 else "")),
        Fact("People", card.people),
        Fact("To allow", _step_up(card)),
        *((_check(card),) if _is_checked(card) else ()),
        Fact("Answer by", Redacted(_deadline(card))),
        Fact("Page", card.link),
    )
    return tuple(line for line in lines if line.value.text)


def details(card: PromptCard) -> tuple[Fact, ...]:
    """Return the lines that "Details" shows on platforms that fold them."""
    several = card.segments > 1
    lines = (
        *(() if _is_crowded(card) else (_concerns(card),)),
        Fact(
            "Programs" if several or len(card.resolved) > 1 else "Program",
            join("\n", card.resolved),
        ),
        Fact("Why you are asked", card.why),
        Fact("Policy", card.policy),
        Fact("Session", join(" · ", _session(card))),
        Fact("Allow always stores", join("\n", card.promise)),
        Fact("May run for", Redacted(duration(card.timeout_ms))),
        Fact("Id", Redacted(card.id)),
        *(() if _is_checked(card) else (_check(card),)),
    )
    return tuple(line for line in lines if line.value.text)


def checked(card: PromptCard) -> tuple[Fact, ...]:
    """Return ``front`` for a card that cannot show the whole: with its commands of concern."""
    shown = front(card)
    more = (_concerns(card), _check(card))
    return (*shown, *(line for line in more if line.value.text and line not in shown))


def listed(lines: tuple[Fact, ...]) -> Redacted:
    """Return lines as text, in which no line break in a value starts one of our lines."""
    rows = (f"{line.label}: {line.value}".replace("\n", f"\n{CONTINUATION}") for line in lines)
    return Redacted("\n".join(rows))


def whole_text(card: PromptCard) -> str:
    """Return the command, what runs it, and every fact, as text that is cut into parts."""
    texts = (card.command.text, card.shell.text, listed(facts(card)).text)
    return "\n\n".join(text for text in texts if text)


def _concerns(card: PromptCard) -> Fact:
    several = join("\n", card.concerns) if card.segments > 1 else NOTHING
    return Fact("Not allowed by policy", several)


def _is_crowded(card: PromptCard) -> bool:
    """Return whether the clause is not enough to see which command is asked about, and why."""
    return card.mixed or card.size > _LONG or card.segments > MOST_SENTENCES


def _is_checked(card: PromptCard) -> bool:
    return card.size > _LONG or _MASK in card.command.text


def _check(card: PromptCard) -> Fact:
    return Fact("Length and check", Redacted(f"{card.size:,} characters · {card.digest}"))


def _policy(evaluation: Evaluation) -> Redacted:
    if evaluation.security is None or evaluation.ask is None:
        return NOTHING
    return Redacted(f"security {evaluation.security}, ask {evaluation.ask}")


def _session(card: PromptCard) -> tuple[Redacted, ...]:
    return (card.session, *((card.task,) if card.task.text else ()))


def _step_up(card: PromptCard) -> Redacted:
    if not (card.step_up and card.approvable):
        return NOTHING
    words = (
        "type /approve {} allow-once; a button is not enough. With a passkey or an "
        "authenticator app: on the control page"
    )
    return phrase(words, Redacted(card.code))


def _deadline(card: PromptCard) -> str:
    at = datetime.fromtimestamp(card.expires_at_ms / 1000, card.zone)
    return f"{at:%H:%M:%S %Z} ({duration(card.answer_within_ms)}); no answer means deny"


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
