"""List pending and past requests, in lines that fit a phone."""

from dataclasses import dataclass
from datetime import UTC, datetime

from bot.chat.permissions import KnownPeople, stranger
from channels.base import Inbound, Reply, Tone
from channels.cards.build import build_prompt
from channels.cards.lines import details, listed
from channels.commands import Details, HistoryList, PendingList
from core.approvals.messages import past
from core.model.approval import Approval
from core.model.identity import ApprovalId
from core.store import Store, approvals
from core.store.approvals import HistoryRow
from core.text.render import Redacted, join, phrase, redact

_MOST_PENDING = 20
_LONGEST_LINE = 160


@dataclass(frozen=True, slots=True)
class Lists:
    """What people whom Sayso knows may look at."""

    store: Store
    known: KnownPeople

    async def take(self, inbound: Inbound) -> Reply | None:
        """List pending or past requests."""
        command = inbound.command
        if not isinstance(command, PendingList | HistoryList | Details):
            return None
        if not await self.known.may_look(inbound.actor):
            name = "Details" if isinstance(command, Details) else "/pending and /history"
            return stranger(inbound.actor, name, "approvers and senders")
        match command:
            case Details(ref=ref):
                return await unfolded(self.store, ApprovalId(ref))
            case HistoryList(limit=limit):
                return await history(self.store, limit)
            case _:
                return await pending(self.store)


async def unfolded(store: Store, approval_id: ApprovalId) -> Reply:
    """Return what a prompt's button "Details" shows; it decides and changes nothing."""
    found = await store.read(approvals.get, approval_id)
    if found is None:
        return Reply(redact("That prompt is no longer stored."), Tone.REFUSED)
    lines = listed(details(build_prompt(found)))
    return Reply(phrase("{}\n{}", redact(found.code), lines))


async def pending(store: Store) -> Reply:
    """Return what is waiting for an answer, soonest deadline first."""
    waiting = await store.read(approvals.pending, _MOST_PENDING + 1)
    if not waiting:
        return Reply(redact("Nothing is waiting."))
    lines = [_waiting(approval) for approval in waiting[:_MOST_PENDING]]
    if len(waiting) > _MOST_PENDING:
        lines.append(Redacted("… and more; `sayso pending` lists all of them"))
    return Reply(join("\n", tuple(lines)))


async def history(store: Store, limit: int) -> Reply:
    """Return what was asked, allowed and refused, newest first; times in UTC."""
    rows = await store.read(approvals.history, limit)
    if not rows:
        return Reply(redact("No requests yet."))
    return Reply(join("\n", tuple(_past(row) for row in rows)))


def _waiting(approval: Approval) -> Redacted:
    return phrase(
        "{} {} until {} UTC: {}",
        redact(approval.code),
        redact(approval.plan.agent, strict=True),
        _at(approval.deadline_ms),
        _short(approval.plan.text),
    )


def _past(row: HistoryRow) -> Redacted:
    by = row.by and phrase("; decided by {}", redact(row.by.name or row.by.account))
    words = redact(past(row.state, row.end, row.reason))
    ended = phrase("{}{}", words, by or Redacted(""))
    return phrase("{} {} {}: {}", _at(row.at_ms), redact(row.code), ended, _short(row.text))


def _at(epoch_ms: int) -> Redacted:
    return Redacted(f"{datetime.fromtimestamp(epoch_ms / 1000, UTC):%H:%M}")


def _short(text: str) -> Redacted:
    # Masked before it is cut, so that no cut reveals part of a secret.
    shown = redact(text)
    if len(shown.text) <= _LONGEST_LINE:
        return shown
    return Redacted(shown.text[:_LONGEST_LINE] + " …")
