"""Shape what the methods answer; every text that a person typed or a program named is redacted."""

from collections.abc import Sequence

from bot.intake.callers.caller import Caller
from bot.intake.results.outcomes import output
from core.approvals.messages import limits, past
from core.gate.grant_preview import words_of
from core.model.approval import Approval
from core.model.events import SessionEvent
from core.policy.judge.preview import Preview
from core.policy.rules.skills import Skills
from core.store.approvals import HistoryRow
from core.store.approvals.grants import Grant
from core.store.outbox.receipts import Receipt
from core.store.people.people import Person
from core.store.views.owners import SessionRow
from core.text.render import redact, show_command

Json = dict[str, object]
_MOST_LISTED, _CUT_TO = 1_000_000, 200
"""Characters; each takes up to six bytes of a frame."""


def approval(question: Approval) -> Json:
    """Return an approval as lists show it: what is asked, its status, who ended it."""
    plan, end = question.plan, question.resolution
    return {
        "id": question.id,
        "code": question.code,
        "command": show_command(plan).text,
        "cwd": redact(plan.cwd.path).text,
        "agent": redact(plan.agent).text,
        "session": redact(plan.session).text,
        "task": _task(plan.task),
        "host": plan.host,
        "why": redact(question.evaluation.why).text,
        "promise": [redact(promise.words).text for promise in question.evaluation.promise],
        "createdMs": question.created_ms,
        "deadlineMs": question.deadline_ms,
        "state": end.state if end is not None else "pending",
        "decision": end.reply if end is not None else None,
        "by": end.by.ref if end is not None and end.by else None,
        "atMs": end.at_ms if end is not None else None,
        "note": redact(end.note).text if end is not None else "",
        "terms": limits(end.terms) if end is not None and end.terms is not None else None,
        "quorum": question.quorum,
        "votes": [vote.by.ref for vote in question.votes],
        "behind": question.behind,
    }


def listed(questions: Sequence[Approval]) -> list[Json]:
    """Return approvals in a list, which must fit into one frame whatever they read.

    Where all texts together are too long, later ones are cut and say so; one alone is whole.
    """
    rows, left = [approval(question) for question in questions], _MOST_LISTED
    for row in rows if len(rows) > 1 else ():
        text = str(row["command"])
        if len(text) > left:
            row["command"] = f"{text[:_CUT_TO]}… ({len(text):,} characters; query this one alone)"
        else:
            left -= len(text)
    return rows


def copy(one: Receipt) -> Json:
    """Return the status of one copy of a prompt."""
    return {
        "channel": one.target.channel,
        "to": safe(one.target.to),
        "thread": safe(one.target.thread),
        "step": one.step,
        "state": one.state,
        "why": safe(one.why),
    }


def event(happened: SessionEvent, caller: Caller) -> Json:
    """Return one session event."""
    return {
        "seq": happened.seq,
        "kind": happened.kind,
        "text": output(happened.text, caller),
        "id": happened.run_id,
        "atMs": happened.at_ms,
    }


def session(row: SessionRow) -> Json:
    """Return one session: its key, its last event's number, the acknowledged one, when it was."""
    return {
        "session": safe(row.session),
        "lastSeq": row.last_seq,
        "ackedSeq": row.acked_seq,
        "atMs": row.at_ms,
    }


def history(row: HistoryRow) -> Json:
    """Return one line of the history; ``how`` says in words its status or how it ended."""
    end = row.end
    return {
        "id": row.id,
        "code": row.code,
        "atMs": row.at_ms,
        "agent": redact(row.agent).text,
        "session": redact(row.session).text,
        "task": _task(row.task),
        "command": redact(row.text).text,
        "source": row.source,
        "state": row.state,
        "by": f"{row.by.channel}:{row.by.account}" if row.by is not None else None,
        "how": past(row.state, end, row.reason),
        "exitCode": end.exit_code if end is not None else None,
        "signal": end.signal if end is not None else None,
        "timedOut": end is not None and end.timed_out,
        "cancelled": end is not None and end.cancelled,
        "durationMs": end.duration_ms if end is not None else None,
    }


def _task(name: str | None) -> str | None:
    return None if name is None else safe(name)


def change(sentence: str, *, done: bool = True) -> Json:
    """Return whether a change was made, and the sentence for whoever wanted it."""
    return {"done": done, "sentence": safe(sentence)}


def safe(words: str) -> str:
    """Return words as they may be shown: secrets masked, odd characters escaped."""
    return redact(words).text


def person(one: Person) -> Json:
    """Return a person with the linked accounts."""
    return {
        "id": safe(one.id),
        "revoked": one.revoked,
        "accounts": [
            {
                "channel": account.channel,
                "account": safe(account.account),
                "name": safe(account.name),
                "revoked": account.revoked,
            }
            for account in one.accounts
        ],
    }


def grant(one: Grant, preview: Preview | None) -> Json:
    """Return a grant: what it lets run, for whom, how far it goes, what it would have matched."""
    return {
        "id": one.id,
        "code": one.code,
        "agent": safe(one.agent),
        "session": safe(one.session) if one.session is not None else None,
        "task": _task(one.task),
        "promise": [safe(promise.words) for promise in one.promise],
        "by": safe(one.by.ref),
        "name": safe(one.by.name),
        "createdMs": one.created_ms,
        "expiresMs": one.expires_ms,
        "usesLeft": one.uses_left,
        "usedMs": one.used_ms,
        "preview": None if preview is None else preview_of(preview),
    }


def bins(skills: Skills) -> list[Json]:
    """Return the programs of skills: the name that was listed and the real path behind it."""
    return [{"name": safe(name), "path": safe(path)} for path, (name, _) in skills.pins.items()]


def preview_of(one: Preview) -> Json:
    """Return a preview: numbers, the denied texts, and the same in words."""
    return {
        "looked": one.looked,
        "matched": one.matched,
        "denied": [safe(text) for text in one.denied],
        "sentence": words_of(one).text,
    }
