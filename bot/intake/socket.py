"""Serve the method table of gateway.sock (DESIGN §5 "API")."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bot.intake import peers, results
from bot.intake.frames import (
    EventsParams,
    IdParams,
    ListParams,
    NoParams,
    ResolveParams,
    RunParams,
    read,
)
from bot.intake.people import Askers, PeopleMethods
from core.approvals.answering import Answer, AnswerOutcome
from core.errors import BadRequest
from core.gate import Gate
from core.ipc.unix import Peer
from core.model.identity import AgentId, ApprovalId, SessionKey
from core.model.result import Pending, Running
from core.store import Store, approvals, events
from core.store.receipts import receipts

Handler = Callable[[dict[str, object], Peer], Awaitable[object]]


@dataclass(slots=True)
class Methods:
    """The methods that local peers may call. ``health`` answers ``health.get``."""

    gate: Gate
    store: Store
    health: Callable[[], Awaitable[dict[str, object]]]
    _askers: Askers = field(init=False)

    def __post_init__(self) -> None:
        """Begin to remember who asks."""
        self._askers = Askers(self.store)

    def table(self) -> dict[str, Handler]:
        """Return the methods by name."""
        return {
            "exec.run": self.run,
            "exec.wait": self.wait,
            "exec.cancel": self.cancel,
            "exec.approval.request": self.request,
            "exec.approval.waitDecision": self.wait_decision,
            "exec.approval.resolve": self.resolve,
            "exec.approval.list": self.pending,
            "exec.approval.get": self.get,
            "exec.approval.copies": self.copies,
            "events.drain": self.drain,
            "events.ack": self.ack,
            "history.list": self.history,
            "health.get": self.get_health,
            "skills.bins": self.skills,
            **PeopleMethods(self.gate, self._askers).table(),
        }

    async def run(self, params: dict[str, object], peer: Peer) -> object:
        """Submit a request; with ``wait`` (default) the answer is its end, else its standing."""
        wish = read(RunParams, params)
        requester = peers.requester(peer)
        self._askers.note(requester)
        # A caller that hangs up must not end a run halfway: the run belongs to the gate.
        answer = await asyncio.shield(self.gate.submit(wish.request(requester)))
        if wish.wait and isinstance(answer, Pending | Running):
            answer = await self.gate.wait(answer.run_id) or answer
        return results.submission(answer)

    async def request(self, params: dict[str, object], peer: Peer) -> object:
        """Submit a request and answer at once: accepted with an id, or ended."""
        return await self.run({**params, "wait": False}, peer)

    async def skills(self, params: dict[str, object], _peer: Peer) -> object:
        """List the programs of skills that are trusted where autoAllowSkills is on (S1)."""
        read(NoParams, params)
        found = self.gate.rulebook.compiled.skills
        return {"bins": results.bins(found), "ignored": [results.safe(one) for one in found.lint]}

    async def wait(self, params: dict[str, object], _peer: Peer) -> object:
        """Wait for the end of a run."""
        wish = read(IdParams, params)
        answer = await self.gate.wait(ApprovalId(wish.id), wish.timeout_ms)
        if answer is None:
            raise BadRequest(f"no run has the id {wish.id!r}; `sayso history` lists them")
        return results.submission(answer)

    async def cancel(self, params: dict[str, object], peer: Peer) -> object:
        """Withdraw a question or end a running command."""
        wish = read(IdParams, params)
        note = f"withdrawn by {peers.account(peer)}"
        return {"cancelled": await self.gate.cancel(ApprovalId(wish.id), note)}

    async def wait_decision(self, params: dict[str, object], _peer: Peer) -> object:
        """Wait until an approval is decided and return it."""
        wish = read(IdParams, params)
        decided = await self.gate.broker.wait(ApprovalId(wish.id))
        if decided is None:
            raise BadRequest(f"no approval has the id {wish.id!r}")
        return results.approval(decided)

    async def resolve(self, params: dict[str, object], peer: Peer) -> object:
        """Answer an approval from this machine."""
        wish = read(ResolveParams, params)
        session = peers.kernel_session(peer.pid)
        if session is None:
            raise BadRequest("the terminal of this answer cannot be told; answer from a shell")
        answer = Answer(
            ref=wish.id,
            reply=wish.decision,
            actor=peers.actor(peer),
            note=wish.note,
            process=session,
        )
        answered = await self.gate.answer(answer)
        return {
            "accepted": answered.outcome in {AnswerOutcome.ACCEPTED, AnswerOutcome.COUNTED},
            "outcome": answered.outcome,
            "sentence": answered.sentence,
            "id": answered.approval.id if answered.approval is not None else None,
        }

    async def copies(self, params: dict[str, object], _peer: Peer) -> object:
        """Tell where the copies of a prompt stand."""
        wish = read(IdParams, params)
        found = await self.store.read(receipts, ApprovalId(wish.id))
        return {"copies": [results.copy(one) for one in found]}

    async def pending(self, params: dict[str, object], _peer: Peer) -> object:
        """List what is waiting, oldest first."""
        wish = read(ListParams, params)
        waiting = await self.store.read(approvals.pending, wish.limit)
        return {"pending": [results.approval(question) for question in waiting]}

    async def get(self, params: dict[str, object], _peer: Peer) -> object:
        """Return one approval by id, code or unique prefix."""
        wish = read(IdParams, params)
        found = await self.store.read(approvals.find, wish.id)
        if len(found) != 1:
            raise BadRequest(f"{wish.id!r} names {len(found) or 'no'} approvals")
        return results.approval(found[0])

    async def drain(self, params: dict[str, object], _peer: Peer) -> object:
        """Return a session's events above what was acknowledged and above ``seq``."""
        wish = read(EventsParams, params)
        session = SessionKey(wish.session)
        waiting = await self.store.read(events.drain, session, wish.limit, wish.seq)
        return {"events": [results.event(happened) for happened in waiting]}

    async def ack(self, params: dict[str, object], _peer: Peer) -> object:
        """Acknowledge a session's events up to ``seq``."""
        wish = read(EventsParams, params)
        return {"acked": await self.store.write(events.ack, SessionKey(wish.session), wish.seq)}

    async def history(self, params: dict[str, object], _peer: Peer) -> object:
        """List what was asked and how it ended, newest first."""
        wish = read(ListParams, params)
        agent = AgentId(wish.agent) if wish.agent is not None else None
        rows = await self.store.read(approvals.history, wish.limit, None, agent)
        return {"history": [results.history(row) for row in rows]}

    async def get_health(self, _params: dict[str, object], _peer: Peer) -> object:
        """Return the gateway's health."""
        return await self.health()
