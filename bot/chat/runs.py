"""Run a line from a chat under the same policy, show its output, and stop it."""

import asyncio
import json
import logging
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bot.chat.permissions import KnownPeople, stranger
from channels.base import Inbound, Reply, Tone
from channels.cards.card import Choice
from channels.commands import RunLine, Stop, Tail
from core.approvals.messages import ran
from core.errors import SaysoError
from core.gate.gate import Gate
from core.model.command import ExecRequest
from core.model.identity import ApprovalId, Intake, Requester, SessionKey, Target, as_shown, code_of
from core.model.result import Denied, Finished, Pending, Running, Submission, Unknown
from core.store import Store, outbox
from core.store.approvals import idempotency
from core.store.sessions import origins
from core.store.views.references import matching
from core.text.cuts import after_cut
from core.text.render import phrase, printed, redact

_log = logging.getLogger(__name__)
_PATIENCE_S = 1.5
"""How long a chat waits for the end of a command before it reports that it runs."""


def session_of(place: Target) -> SessionKey:
    """Return the session of a chat: its channel, its place, its thread."""
    thread = f":{place.thread}" if place.thread else ""
    return SessionKey(f"{place.channel}:{place.to}{thread}")


@dataclass(slots=True)
class ChatRuns:
    """What a chat may run, see and stop; commands begin in ``home``, the gateway user's folder."""

    gate: Gate
    store: Store
    known: KnownPeople
    home: Path
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)

    async def take(self, inbound: Inbound) -> Reply | None:
        """Run, look or stop."""
        match inbound.command:
            case RunLine() as command:
                return await self.run(inbound, command)
            case Tail() as command:
                return await self.tail(inbound, command)
            case Stop() as command:
                return await self.stop(inbound, command)
            case _:
                return None

    async def run(self, inbound: Inbound, command: RunLine) -> Reply:
        """Submit a line as the chat's session; its end is reported in the chat."""
        if not await self.known.may_act(inbound.actor):
            return stranger(inbound.actor, "/run", "senders")
        session = session_of(inbound.place)
        await self.store.write(origins.remember_origin, session, inbound.place)
        key = f"{Intake.CHAT}\x1f{inbound.key}"
        request = ExecRequest(
            requester=Requester(Intake.CHAT, inbound.actor.ref),
            session=session,
            cwd=str(self.home),
            line=command.line,
            origin=inbound.place,
            request_key=key,
        )
        submitted = asyncio.ensure_future(self.gate.submit(request))
        try:
            done, _ = await asyncio.wait({submitted}, timeout=_PATIENCE_S)
        except asyncio.CancelledError:
            submitted.cancel()  # nobody waits for it any more; the run continues
            raise
        if done and not isinstance(submitted.result(), Pending | Running):
            return _reply_for(submitted.result())
        self._follow(inbound.place, inbound.key, submitted)
        return await self._begun(key, submitted)

    async def _begun(self, key: str, submitted: asyncio.Future[Submission]) -> Reply:
        if submitted.done():
            status = submitted.result()
            if isinstance(status, Pending):
                words = (
                    "{} is waiting for approval by another person than you; the result will be "
                    "posted here."
                )
                return Reply(phrase(words, redact(status.code)))
        run_id = await self.store.read(idempotency.by_request_key, key)
        if run_id is None:
            return Reply(redact("Submitted; the result will be posted here."))
        return Reply(phrase("Running as {}.", redact(code_of(run_id))), choices=_handles(run_id))

    def _follow(self, place: Target, key: str, submitted: asyncio.Future[Submission]) -> None:
        task = asyncio.create_task(self._report_end(place, key, submitted))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _report_end(
        self, place: Target, key: str, submitted: asyncio.Future[Submission]
    ) -> None:
        """Report the end to the chat, once; the outbox delivers it also after a restart."""
        try:
            end: Submission | None = await submitted
            while isinstance(end, Pending | Running):
                end = await self.gate.wait(end.run_id)
            if end is not None:
                said = _said(end) if isinstance(end, Finished) else ""
                words = _words(end, self.gate.stopped(end.run_id))
                payload = json.dumps({"text": words, "output": said})
                notice = partial(outbox.enqueue_notice, idem_key=f"run:{key}")
                await self.gate.execution.deferred.write(
                    lambda: self.store.write(notice, None, place, payload)
                )
        except SaysoError as failure:
            _log.error("cannot report the end of a run to %s: %s", place.channel, failure)

    async def tail(self, inbound: Inbound, command: Tail) -> Reply:
        """Show what a running command printed last."""
        if not await self.known.may_look(inbound.actor):
            return stranger(inbound.actor, "/tail", "approvers and senders")
        run_id = await self._find(command.ref)
        if run_id is None:
            return _no_run(command.ref)
        live = await self.gate.tail(run_id)
        if live is not None:
            head = redact(f"{code_of(run_id)} printed {live.total_bytes:,} bytes so far:")
            return Reply(
                phrase("{}\n{}", head, printed(_shown(live.text, is_cut=live.is_cut))),
                choices=_handles(run_id),
            )
        status = await self.gate.status(run_id)
        return _no_run(command.ref) if status is None else _reply_for(status)

    async def stop(self, inbound: Inbound, command: Stop) -> Reply:
        """End a running command, or withdraw a question; people who may look may stop."""
        if not await self.known.may_look(inbound.actor):
            return stranger(inbound.actor, "/stop", "approvers and senders")
        run_id = await self._find(command.ref)
        if run_id is None:
            return _no_run(command.ref)
        note = f"stopped by {inbound.actor.name or inbound.actor.account} ({inbound.actor.channel})"
        if await self.gate.cancel(run_id, note):
            return Reply(phrase("{} is being stopped.", redact(code_of(run_id))), Tone.OK)
        status = await self.gate.status(run_id)
        return _no_run(command.ref) if status is None else _reply_for(status)

    async def _find(self, ref: str) -> ApprovalId | None:
        found = await self.store.read(matching, ref)
        return found[0] if len(found) == 1 else None


def _handles(run_id: ApprovalId) -> tuple[Choice, ...]:
    return Choice("Tail", Tail(run_id)), Choice("Stop", Stop(run_id))


def _no_run(ref: str) -> Reply:
    words = "No run here has the id or code {}. See /history."
    return Reply(phrase(words, redact(as_shown(ref))), Tone.REFUSED)


def _reply_for(end: Submission) -> Reply:
    handles = _handles(end.run_id) if isinstance(end, Running) else ()
    text = redact(_words(end))
    if isinstance(end, Finished):
        text = phrase("{}\n{}", text, printed(_said(end)))
    return Reply(text, Tone.REFUSED if isinstance(end, Denied) else Tone.INFO, handles)


def _words(end: Submission, stopped: str = "") -> str:
    """Describe in one sentence the status of a request or how it ended; ``stopped``: by whom."""
    code = code_of(end.run_id)
    match end:
        case Finished():
            by = f", {stopped}" if end.cancelled and stopped else ""
            return f"{code}: {ran(end)}{by}."
        case Denied():
            return f"{code} did not run ({end.reason}): {end.why}"
        case Unknown():
            return f"{code}: the gateway died while it ran; how it ended is unknown."
        case Pending():
            return f"{code} is waiting for approval."
        case Running():
            return f"{code} runs."


def _said(end: Finished) -> str:
    kept = end.output
    return _shown(kept.tail, is_cut=kept.is_tail_cut) if kept.truncated else kept.text


def _shown(text: str, *, is_cut: bool) -> str:
    return after_cut(text) if is_cut else text
