"""Format how an answer ended: late, unknown, foreign and already decided each read differently."""

from datetime import UTC, datetime

from core.model.approval import Approval, ApprovalReply, ApprovalState, GrantTerms, Resolution
from core.model.decision import DenialReason
from core.model.identity import API_CHANNEL, Actor, AgentId, PersonId, as_shown
from core.model.result import Finished

_MINUTE_MS = 60_000
_DONE = {
    ApprovalReply.ALLOW_ONCE: "Allowed once",
    ApprovalReply.ALLOW_ALWAYS: "Always allowed from now on",
    ApprovalReply.DENY: "Denied",
}


def clock_time(at_ms: int) -> str:
    """Return ``12:03:59 UTC`` for epoch milliseconds."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S UTC")


def person(actor: Actor | None) -> str:
    """Return how a person is named to others: display name, channel."""
    if actor is None:
        return "Sayso"
    return f"{actor.name or actor.account} ({actor.channel})"


def limits(terms: GrantTerms) -> str:
    """Format how far a limited allow-always goes: ``for 30 minutes, in this session``."""
    parts = []
    if terms.for_ms is not None:
        minutes = max(1, round(terms.for_ms / _MINUTE_MS))
        parts.append("for 1 minute" if minutes == 1 else f"for {minutes} minutes")
    if terms.uses is not None:
        parts.append("for 1 more run" if terms.uses == 1 else f"for {terms.uses} more runs")
    if terms.session_only:
        parts.append("in this session")
    if terms.task_only:
        parts.append("in this task")
    return ", ".join(parts)


def ran(result: Finished) -> str:
    """Format how a run ended, in the same words wherever it is shown."""
    after = f"after {result.duration_ms / 1000:.1f} s"
    if result.timed_out:
        return f"stopped at its time limit {after}"
    if result.cancelled:
        return f"cancelled {after}"
    if result.drift:
        return f"stopped before its end {after} (plan_drift)"
    if result.signal is not None:
        return f"ended by signal {result.signal} {after}"
    if result.exit_code is None:
        return f"ended {after}, exit status unknown"
    return f"finished {after}, code {result.exit_code}"


def past(state: str, end: Finished | None, reason: DenialReason | None) -> str:
    """Format the status of a history entry: how it ran, or why it did not."""
    if end is not None:
        return ran(end)
    return state if reason is None or reason == state else f"{state} ({reason})"


def accepted(approval: Approval, reply: ApprovalReply) -> str:
    """Format the reply to the answer that decided, and whether others had allowed less."""
    end = approval.resolution
    final = reply if end is None or end.reply is None else end.reply
    held = ", while its code stays as it is" if _held(approval, final) else ""
    full = f"{_DONE[final]}{held}"
    done = full if end is None or end.terms is None else f"Allowed {limits(end.terms)}"
    narrower = ". The narrowest of the answers applies" if final is not reply else ""
    return f"{done}: {approval.code}{narrower}."


def _held(approval: Approval, reply: ApprovalReply) -> bool:
    promised = approval.evaluation.promise
    return reply is ApprovalReply.ALLOW_ALWAYS and any(one.content for one in promised)


def counted(approval: Approval) -> str:
    """Format the reply to one of several allows that are needed; ``approval`` is current."""
    if approval.resolution is not None:
        return f"Your answer was counted; {approval.code} {_ending(approval.resolution)}."
    have = len(approval.votes)
    needed = approval.quorum - have
    return (
        f"Counted: {have} of {approval.quorum} people have allowed {approval.code}; "
        f"{'one more is' if needed == 1 else f'{needed} more are'} needed."
    )


def ended(approval: Approval) -> str:
    """Format the reply about an approval that was already final when the answer came."""
    resolution = approval.resolution
    if resolution is None:
        return f"{approval.code} is still pending."
    return f"{approval.code} {_ending(resolution)}. Your answer changed nothing."


def _ending(resolution: Resolution) -> str:
    at = clock_time(resolution.at_ms)
    match resolution.state:
        case ApprovalState.EXPIRED if resolution.reason is DenialReason.UNDELIVERED:
            return f"expired at {at}; the prompt could not be delivered, so it did not run"
        case ApprovalState.EXPIRED:
            return f"expired at {at}; no answer means deny, so it did not run"
        case ApprovalState.CANCELLED:
            return f"was withdrawn at {at}: {resolution.note or 'the agent no longer asks'}"
        case ApprovalState.DENIED:
            return f"was denied by {person(resolution.by)} at {at}"
        case _:
            return f"was {_allowed(resolution)} by {person(resolution.by)} at {at}"


def _allowed(resolution: Resolution) -> str:
    if resolution.terms is not None:
        return f"allowed {limits(resolution.terms)}"
    return "allowed always" if resolution.reply is ApprovalReply.ALLOW_ALWAYS else "allowed"


def unknown(ref: str) -> str:
    """Format the reply to an id that no approval has or had."""
    shown = as_shown(ref)
    return f"No approval has the id or code {shown!r}. Send /pending to list pending approvals."


def ambiguous(ref: str, codes: tuple[str, ...]) -> str:
    """Format the reply to a prefix that several pending approvals share."""
    return f"{as_shown(ref)!r} could mean {', '.join(codes)}. Use one of these codes."


def not_listed(actor: Actor, agent: AgentId | None = None) -> str:
    """Format the reply to a non-approver, naming the id and the list; ``agent`` has its own."""
    if agent is not None:
        where = f"{actor.ref} is not in agents.list[{agent}].approvers"
    elif actor.channel == API_CHANNEL:
        where = f"neither {actor.ref} nor its person is in approvals.exec.approvers"
    else:
        where = f"id {actor.account} is not in channels.{actor.channel}.approvers"
    return f"You may not answer this: {where}. Nothing was changed."


def revoked() -> str:
    """Format the reply to a person or an account whose answers no longer count."""
    return (
        "You may not answer this: this account is revoked. Nothing was changed. Whoever runs the "
        "gateway can restore it with `sayso people restore`."
    )


def requester(approval: Approval) -> str:
    """Format the reply to a requester who answers its own request, whatever the answer."""
    return (
        "This request is your own, so you can neither allow nor deny it, from any account. Another "
        f"person must answer; you may withdraw it: /stop {approval.code} in a chat, "
        f"`sayso cancel {approval.code}` in a terminal."
    )


def asked_here(approval: Approval) -> str:
    """Format the reply to the kernel session that asked: nobody knows which program typed it."""
    return (
        "This was asked from this terminal session, so neither allow nor deny counts from here. "
        "Answer in another terminal or in a chat that was asked; you may withdraw it: "
        f"`sayso cancel {approval.code}`."
    )


def asked_with_a_token() -> str:
    """Format the reply to a local process that answers what came over the network."""
    return (
        "This was requested over the network. The holder of that token may also run on this "
        "machine, so it cannot be answered locally: answer in chat, or with a person's token."
    )


def allow_not_offered(approval: Approval) -> str:
    """Format the reply to an allow of what is too long to have been shown (invariant 9)."""
    return (
        f"{approval.code} cannot be allowed: its standard input is too long to show, so nobody has "
        "seen what would run. It is still pending; answer deny, or let it time out."
    )


def not_typed(approval: Approval, reply: ApprovalReply) -> str:
    """Format the reply to an allow by a button where only a typed one counts."""
    return (
        f"{approval.code} is not allowed yet: this needs a typed answer. Send /approve "
        f"{approval.code} {reply} (in a Slack thread without the slash), or answer deny."
    )


def not_proven(approval: Approval, reply: ApprovalReply) -> str:
    """Format the reply to an allow without the code of the app that the person has enrolled."""
    return (
        f"{approval.code} is not allowed yet: this needs your passkey, or a code of your "
        f"authenticator app. Allow it on the control page, or with "
        f"`sayso approve {approval.code} {reply} --totp CODE`; or answer deny."
    )


def wrong_code(approval: Approval, *, used: bool) -> str:
    """Format the reply to an allow with a code that is wrong, or was used before."""
    if used:
        return (
            f"{approval.code} is not allowed yet: a code counts once, and this one was used. Wait "
            "for the next one, 30 seconds at most."
        )
    return (
        f"{approval.code} is not allowed yet: this is not the code that your authenticator app "
        "shows now. Check the phone's clock."
    )


def passkey_refused(approval: Approval, why: str) -> str:
    """Format the reply to an allow whose passkey proves nothing."""
    return (
        f"{approval.code} is not allowed yet: the passkey does not prove it ({why}). Press again "
        "to sign once more; denying is still possible."
    )


def app_not_readable(approval: Approval, person: PersonId) -> str:
    """Format the reply to a code that cannot be compared: the key to its secret is not here."""
    return (
        f"{approval.code} is not allowed yet: the key that seals the secret of your authenticator "
        "app is lost, so no code can be checked. Restore store.key from a backup, or enrol the app "
        f"again at a terminal: sayso people forget-totp {person}, then sayso people totp {person}. "
        "Denying is still possible."
    )


def too_many_codes(approval: Approval) -> str:
    """Format the reply to an allow after too many wrong codes."""
    return (
        f"{approval.code} is not allowed yet: too many codes were tried. No code is checked for "
        "15 minutes; denying is still possible."
    )


def no_task(approval: Approval) -> str:
    """Format the reply to an allow-always for a task where the request names none."""
    return (
        f"{approval.code} cannot be allowed for its task: the request names none. It is still "
        "pending; answer with a time, a number of runs or `session`, allow-once or deny."
    )


def always_not_offered(approval: Approval) -> str:
    """Format the reply to an allow-always where nothing safe could be stored."""
    return (
        f"{approval.code} cannot be allowed always: there is no safe entry to store for it. It is "
        "still pending; answer allow-once or deny."
    )
