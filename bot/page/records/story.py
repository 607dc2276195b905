"""Show one request's story: asked, shown where, answered by whom, run, ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.api.http.errors import Fault, FaultCode
from bot.intake.callers.caller import Caller
from bot.intake.registry.method import Table, invoke, permit
from bot.intake.results.questions import ApprovalAnswer
from core.errors import NotFound
from core.gate.gate import Gate
from core.model.identity import ApprovalId
from core.store import approvals
from core.store.views.status import RunTimes, run_times

_COPY = {
    "ready": "waits to be sent",
    "sending": "is being sent",
    "sent": "was delivered",
    "stale": "was delivered",
    "closed": "was delivered, and shows the end",
    "uncertain": "may have been delivered",
    "dropped": "was not delivered",
}


SURFACE_WORDS: Mapping[str, str] = {
    "message": "was sent a copy in",
    "list": "saw it in a list",
    "whole": "opened it whole",
    "method": "read it by the API or at a terminal",
    "answered": "answered in",
}
"""What happened on each surface; the person's name precedes it."""


@dataclass(frozen=True, slots=True)
class StoryEvent:
    """One thing that happened; ``at_ms`` is ``None`` if its time was not recorded."""

    title: str
    at_ms: int | None = None
    lines: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """A request with its steps in order; texts are as the methods return them, redacted."""

    row: dict[str, Any]
    steps: tuple[StoryEvent, ...]
    output: str
    asked: bool
    copies: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Stories:
    """Read stories through the methods, with the scopes of the caller."""

    table: Table
    gate: Gate

    async def of(self, ref: str, caller: Caller) -> Story:
        """Return the story of the one request that an id, a code or a prefix means.

        Raises:
            Fault: it matches none, or several.
        """
        run_id = (await self._row(ref, caller))["id"]
        # A request only moves forward: what is read after its times includes any end that they
        # include.
        times = await self.gate.store.read(run_times, ApprovalId(run_id))
        row = await self._row(run_id, caller)
        known = await self._approval(run_id, caller)
        tail: Any = await self._tail(row["id"], caller)
        steps = [*_asked(row, known), *await self._shown(known, row, caller)]
        steps += await self._read(known, row, caller)
        steps += [*_decided(row, known), *_ran(row, times)]
        return Story(row, tuple(steps), tail["text"], asked=known is not None)

    async def _row(self, ref: str, caller: Caller) -> dict[str, Any]:
        found: Any = await invoke(self.table["history.list"], {"id": ref}, caller)
        if len(found["history"]) != 1:
            raise Fault(FaultCode.NOT_FOUND, "No request has this id, or several do.")
        return dict(found["history"][0])

    async def _approval(self, run_id: str, caller: Caller) -> dict[str, Any] | None:
        """Return the approval as the method returns it; nothing records that a person saw it."""
        permit(self.table["exec.approval.get"], caller)
        found = await self.gate.store.read(approvals.get, ApprovalId(run_id))
        return None if found is None else ApprovalAnswer.of(found).as_json()

    async def _tail(self, run_id: str, caller: Caller) -> object:
        try:
            return await invoke(self.table["exec.tail"], {"id": run_id}, caller)
        except NotFound:
            return {"text": ""}

    async def _shown(
        self, known: dict[str, Any] | None, row: dict[str, Any], caller: Caller
    ) -> list[StoryEvent]:
        if known is None:
            return []
        found: Any = await invoke(self.table["exec.approval.copies"], {"id": row["id"]}, caller)
        first = await self.gate.store.read(approvals.get, ApprovalId(row["id"]))
        return [_shown(found["copies"], None if first is None else first.delivered_ms)]

    async def _read(
        self, known: dict[str, Any] | None, row: dict[str, Any], caller: Caller
    ) -> list[StoryEvent]:
        """Return who saw it where, and since when the person who decided had it."""
        if known is None:
            return []
        found: Any = await invoke(self.table["exec.approval.evidence"], {"id": row["id"]}, caller)
        return _read(found["shown"], found["tookMs"])


def _asked(row: dict[str, Any], known: dict[str, Any] | None) -> list[StoryEvent]:
    lines = [f"agent {row['agent']}, session {row['session']}"]
    if row["task"]:
        lines.append(f"task {row['task']}")
    if known is not None:
        lines += [f"by {known['requester']}, in {known['cwd']}", f"because {known['why']}"]
    return [StoryEvent("Asked", row["atMs"], tuple(lines))]


def _shown(copies: list[dict[str, Any]], at_ms: int | None) -> StoryEvent:
    return StoryEvent("Shown", at_ms, tuple(map(_copy, copies)) or ("on this page only",))


def _copy(one: dict[str, Any]) -> str:
    place = f"{one['channel']} {one['to']}".strip()
    why = f": {one['why']}" if one["why"] else ""
    return f"{place} {_COPY.get(one['state'], one['state'])}{why}"


def _read(shown: list[dict[str, Any]], took_ms: int | None) -> list[StoryEvent]:
    looks = [one for one in shown if one["by"]]
    if not looks:
        return []
    lines = [f"{one['name'] or one['by']} {SURFACE_WORDS[one['surface']]}" for one in looks]
    lines = [
        f"{line} {one['channel']} {one['place']}" if one["place"] else line
        for line, one in zip(lines, looks, strict=True)
    ]
    if took_ms is not None:
        lines.append(f"decided {took_ms / 1000:.1f} s after it was first shown there")
    return [StoryEvent("Read", looks[0]["atMs"], tuple(lines))]


def _decided(row: dict[str, Any], known: dict[str, Any] | None) -> list[StoryEvent]:
    if known is None:
        denied = row["state"] == "denied"
        word = str(row["how"]) if denied else "allowed without asking"
        return [StoryEvent("Decided by policy", None, (word,), "denied" if denied else "")]
    steps = [StoryEvent("Counted", None, (f"{voter} allowed it",)) for voter in known["votes"]]
    if known["state"] == "pending":
        return [*steps, StoryEvent("Waiting for an answer", kind="open")]
    lines = [f"by {known['by']}"] if known["by"] else []
    lines += [f"“{known['note']}”"] if known["note"] else []
    verdict = known["decision"] or known["state"]
    after = known["atMs"] - known["createdMs"]
    lines.append(f"{after / 1000:.1f} s after it was asked")
    terms = f", {known['terms']}" if known["terms"] else ""
    return [
        *steps,
        StoryEvent(f"Decided: {verdict}{terms}", known["atMs"], tuple(lines), known["state"]),
    ]


def _ran(row: dict[str, Any], times: RunTimes | None) -> list[StoryEvent]:
    if times is None:
        return []
    if times.started_ms is None and times.ended_ms is None:
        return [StoryEvent("Queued", times.created_ms, kind="open")]
    began = [StoryEvent("Started", times.started_ms)] if times.started_ms else []
    if times.ended_ms is None:
        return [*began, StoryEvent("Runs", kind="open")]
    kind = "done" if row["exitCode"] == 0 else "failed"
    return [*began, StoryEvent("Ended", times.ended_ms, (row["how"],), kind)]
