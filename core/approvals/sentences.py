"""Word how an answer ended: late, unknown, foreign and already decided each truly differ."""

from datetime import UTC, datetime

from core.model.approval import Approval, ApprovalReply, ApprovalState, Resolution
from core.model.identity import Actor

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


def accepted(approval: Approval, reply: ApprovalReply) -> str:
    """Word the answer that decided."""
    return f"{_DONE[reply]}: {approval.code}."


def ended(approval: Approval) -> str:
    """Word an approval that was already final when the answer came."""
    resolution = approval.resolution
    if resolution is None:
        return f"{approval.code} is still waiting for an answer."
    return f"{approval.code} {_ending(resolution)}. Your answer changed nothing."


def _ending(resolution: Resolution) -> str:
    at = clock_time(resolution.at_ms)
    match resolution.state:
        case ApprovalState.EXPIRED:
            return f"expired at {at}; silence is denial, so it did not run"
        case ApprovalState.CANCELLED:
            return f"was withdrawn at {at}: {resolution.note or 'the agent no longer asks'}"
        case ApprovalState.DENIED:
            return f"was denied by {person(resolution.by)} at {at}"
        case _:
            verb = "always allowed" if resolution.reply is ApprovalReply.ALLOW_ALWAYS else "allowed"
            return f"was {verb} by {person(resolution.by)} at {at}"


def unknown(ref: str) -> str:
    """Word an id that no approval has or had."""
    return f"No approval has the id or code {ref!r}. Send /pending to see what is waiting."


def ambiguous(ref: str, codes: tuple[str, ...]) -> str:
    """Word a prefix that several pending approvals share."""
    return f"{ref!r} could mean {', '.join(codes)}. Send one of these codes."


def not_listed(actor: Actor) -> str:
    """Word a person who is no approver, naming the id to list."""
    return (
        f"You may not answer this: id {actor.account} is not in "
        f"channels.{actor.channel}.approvers. Nothing was changed."
    )


def requester() -> str:
    """Word a requester who answers its own request."""
    return "The requester never approves its own request; answer from another terminal or in chat."


def always_not_offered(approval: Approval) -> str:
    """Word allow-always where nothing safe could be stored."""
    return (
        f"{approval.code} cannot be allowed always: nothing that is safe to store describes it. "
        "It is still waiting; answer allow-once or deny."
    )
