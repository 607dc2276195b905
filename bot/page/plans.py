"""Answer an agent's plan, or a burst, on one card: commands are ticked one by one or all at once.

Questions belong together if they are of one agent, one session and one task. Each tick is a
separate answer, given through the method that takes answers: one commit each, and each reports its
result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from starlette.responses import Response

from bot.api.http.errors import Fault, FaultCode
from bot.intake.callers import visibility
from bot.intake.registry.method import Table, invoke, permit
from bot.page.cards import Cards, beginning, is_long
from bot.page.render import Renderer
from bot.page.visit import Visit, page
from channels.cards.build import build_prompt
from channels.cards.card import PromptCard
from channels.cards.lines import Fact, details, front
from core.errors import SaysoError
from core.gate.gate import Gate
from core.model.approval import Approval, ApprovalReply
from core.model.identity import AgentId
from core.store import approvals
from core.text.render import Redacted, redact

LEAST = 3
"""Number of questions from which they are offered together, as in chats."""
MOST = 100
_TICK = "tick-"
_ONE_BY_ONE = (ApprovalReply.ALLOW_ONCE, ApprovalReply.DENY)


@dataclass(frozen=True, slots=True)
class PlanCard:
    """One plan in a list: whose it is, how many questions it has, and where they are."""

    path: str
    agent: str
    what: str
    count: int


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One command of a plan, with what an answer is based on, as on its own card.

    ``command`` is only the beginning of a long one. ``alone`` says why it can only be allowed on
    its own page.
    """

    card: PromptCard
    command: Redacted
    facts: tuple[Fact, ...]
    details: tuple[Fact, ...]
    alone: str


@dataclass(frozen=True, slots=True)
class Said:
    """The result of one tick."""

    code: str
    command: str
    done: bool
    sentence: str


def plans_of(waiting: Sequence[Approval]) -> tuple[PlanCard, ...]:
    """Return the groups of waiting questions that are offered together."""
    ordered = sorted(waiting, key=_key)
    groups = ((key, list(found)) for key, found in groupby(ordered, _key))
    return tuple(_listed(found) for _, found in groups if len(found) >= LEAST)


def _key(one: Approval) -> tuple[str, str, str]:
    return one.plan.agent, one.plan.session, one.plan.task or ""


def _listed(found: Sequence[Approval]) -> PlanCard:
    first = min(found, key=lambda one: (one.deadline_ms, one.id))
    return PlanCard(
        f"/plan/{first.id}", redact(first.plan.agent, strict=True).text, _what(first), len(found)
    )


def _what(one: Approval) -> str:
    kind, name = ("session", one.plan.session) if one.plan.task is None else ("task", one.plan.task)
    return f"{kind} {redact(name, strict=True).text}"


@dataclass(frozen=True, slots=True)
class PlanPages:
    """The page of a plan, and what its buttons do."""

    table: Table
    gate: Gate
    render: Renderer
    cards: Cards

    async def show(self, visit: Visit) -> Response:
        """Show the commands that wait together with the one that the address names."""
        return await self._page(visit, await self._meant(visit), ())

    async def answer(self, visit: Visit) -> Response:
        """Answer what is ticked, or all that was shown, one commit each."""
        form = await visit.form()
        reply = form.get("decision", "")
        if reply not in _ONE_BY_ONE:
            raise Fault(FaultCode.BAD_REQUEST, "Allow or deny. Nothing was changed.")
        named = [name.removeprefix(_TICK) for name in form if name.startswith(_TICK)]
        if form.get("all") == "yes":
            named = form.get("shown", "").split()[:MOST]
        if not named:
            raise Fault(FaultCode.BAD_REQUEST, "Tick what you mean. Nothing was changed.")
        known: dict[str, Approval] = {
            one.id: one for one in await self._waiting(await self._meant(visit))
        }
        said = [await self._one(visit, known, name, ApprovalReply(reply)) for name in named[:MOST]]
        return await self._page(visit, await self._meant(visit), tuple(said))

    async def _one(
        self, visit: Visit, known: Mapping[str, Approval], ref: str, reply: ApprovalReply
    ) -> Said:
        """Answer one command through the method, as its own page would."""
        found = known.get(ref)
        if found is None:
            return Said("", "", done=False, sentence="It is no longer waiting here.")
        card = build_prompt(found, self.render.zone)
        alone = _alone(card)
        command = card.command.text[:200]
        if reply is not ApprovalReply.DENY and alone:
            return Said(card.code, command, done=False, sentence=f"Not allowed: {alone}")
        raw: dict[str, object] = {"id": found.id, "decision": reply.value}
        try:
            done: Any = await invoke(self.table["exec.approval.resolve"], raw, visit.who)
        except SaysoError as failure:
            return Said(card.code, command, done=False, sentence=str(failure))
        return Said(card.code, command, done["accepted"], done["sentence"])

    async def _page(self, visit: Visit, meant: Approval, said: tuple[Said, ...]) -> Response:
        waiting = await self._waiting(meant)
        self._seen(visit, waiting)
        steps = [_step(build_prompt(one, self.render.zone)) for one in waiting]
        text = self.render.text(
            "plan.html",
            visit=visit,
            here="plan",
            path=f"/plan/{meant.id}",
            agent=redact(meant.plan.agent, strict=True),
            what=_what(meant),
            steps=steps,
            allowable=sum(not one.alone for one in steps),
            said=said,
        )
        return page(text, 200 if all(one.done for one in said) else 409)

    def _seen(self, visit: Visit, waiting: Sequence[Approval]) -> None:
        """Record that a person is shown these commands together, each as a list shows it."""
        reader = visit.reader
        if reader is not None:
            cards = (self.cards.listed(one, visit.csrf) for one in waiting)
            self.gate.seen.note(*(one.seen_by(reader) for one in cards))

    async def _waiting(self, meant: Approval) -> list[Approval]:
        """Return the questions that wait together with an approval, soonest deadline first."""
        agent = AgentId(meant.plan.agent)
        found = await self.gate.store.read(approvals.pending, MOST, None, agent)
        return [one for one in found if _key(one) == _key(meant) and one.behind is None]

    async def _meant(self, visit: Visit) -> Approval:
        """Return the approval that the address names, which may have ended.

        Raises:
            Fault: it names none.
        """
        permit(self.table["exec.approval.list"], visit.who)
        meant = await self.gate.store.read(approvals.find, visit.path("ref"))
        found = visibility.seen(meant, visit.who)
        if len(found) != 1:
            raise Fault(FaultCode.NOT_FOUND, "This address means no plan.")
        return found[0]


def _step(card: PromptCard) -> PlanItem:
    command = beginning(card.command) if is_long(card) else card.command
    return PlanItem(card, command, front(card), details(card), _alone(card))


def _alone(card: PromptCard) -> str:
    """Return why a command cannot be allowed together with others."""
    if not card.approvable:
        return "it is too long to be shown, so it can only be denied."
    if card.step_up:
        return "it takes more than a press; open its own page."
    return "it is long; read all of it on its own page." if is_long(card) else ""
