"""Show one approval on a page of its own, and take answers from any page.

The address of an approval is a locator and grants no right: the method that takes an answer decides
who may give it, as everywhere. The text of a reply is what that method returns.
"""

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from bot.api.http.errors import Fault, FaultCode
from bot.intake.callers import visibility
from bot.intake.registry.method import Table, invoke, permit
from bot.page.cards import Cards
from bot.page.records.story import SURFACE_WORDS
from bot.page.render import Renderer
from bot.page.visit import Visit, data, elsewhere, page
from core.approvals.answer import Answer, AnswerOutcome
from core.gate.gate import Gate
from core.gate.grant_preview import Previews, words_of
from core.model.approval import Approval, ApprovalReply
from core.model.result import Submission
from core.store import approvals
from core.store.engine.clock import wall_ms
from core.store.views.status import status_of

_WAITS = "It still waits for an answer: yours has not arrived. Open the page to answer."
_MAY_NOT = frozenset({AnswerOutcome.NOT_LISTED, AnswerOutcome.REQUESTER, AnswerOutcome.REVOKED})
_STATUS = {
    AnswerOutcome.UNKNOWN: 404,
    AnswerOutcome.NOT_LISTED: 403,
    AnswerOutcome.REQUESTER: 403,
    AnswerOutcome.REVOKED: 403,
}


@dataclass(frozen=True, slots=True)
class ApprovalPages:
    """The page of an approval, and what its buttons do."""

    table: Table
    gate: Gate
    render: Renderer
    cards: Cards

    async def show(self, visit: Visit) -> Response:
        """Show an approval: pending, decided, expired or withdrawn; as JSON, one sentence."""
        found = await self._meant(visit)
        status = await self.gate.store.read(status_of, found.id)
        if visit.wants_json:
            return data(self._state(found, status))
        card = None if found.resolution else self._opened(found, visit)
        text = self.render.text(
            "approval.html",
            visit=visit,
            here="approval",
            approval=found,
            card=card,
            evidence=await self._evidence(found, visit),
            words=SURFACE_WORDS,
            ended=self.cards.outcome(found, status) if found.resolution else None,
            refusal=await self._refusal(found, visit),
            preview=await self._preview_words(found),
            now_ms=wall_ms(),
        )
        return page(text)

    def _state(self, found: Approval, status: Submission | None) -> dict[str, object]:
        """Return what became of a question, for a notification whose response was lost."""
        ended = found.resolution is not None
        words = self.cards.outcome(found, status).headline.text if ended else _WAITS
        return {"ended": ended, "sentence": words}

    def _opened(self, found: Approval, visit: Visit) -> str:
        """Return the whole card, and note who opened it."""
        card = self.cards.whole(found, visit.csrf)
        reader = visit.reader
        if reader is not None:
            self.gate.seen.note(card.seen_by(reader))
        return card.html

    async def _evidence(self, found: Approval, visit: Visit) -> Any:  # noqa: ANN401 - a method's answer
        """Return what people were shown; nothing for visitors who may not read it."""
        method = self.table["exec.approval.evidence"]
        if not any(visit.who.may(scope) for scope in method.scopes):
            return None
        return await invoke(method, {"id": found.id}, visit.who)

    async def preview(self, visit: Visit) -> Response:
        """Return what an allow-always would have allowed to run, for the panel of a card."""
        return data({"sentence": await self._preview_words(await self._meant(visit))})

    async def answer(self, visit: Visit) -> Response:
        """Take an answer from a form."""
        form = await visit.form()
        raw: dict[str, object] = {"id": visit.path("ref"), "decision": form.get("decision", "")}
        totp = form.get("totp", "").replace(" ", "")
        if totp:
            raw["totp"] = totp
        elif form.get("credential"):
            raw["passkey"] = {"nonce": form.get("nonce", ""), "credential": form["credential"]}
        else:
            await self._must_be_typed(visit, form)
        if form.get("decision") == ApprovalReply.DENY and form.get("note"):
            raw["note"] = form["note"][:2000]
        if form.get("decision") == ApprovalReply.ALLOW_ALWAYS and form.get("limit"):
            raw["limit"] = form["limit"]
        done: Any = await invoke(self.table["exec.approval.resolve"], raw, visit.who)
        return self._said(visit, done)

    async def stop(self, visit: Visit) -> Response:
        """Withdraw a question or end a running command."""
        await visit.form()
        done: Any = await invoke(self.table["exec.cancel"], {"id": visit.path("ref")}, visit.who)
        said = {"done": done["cancelled"], "sentence": done["sentence"]}
        status = 200 if done["cancelled"] else 409
        return data(said, status) if visit.wants_json else self._page(visit, said, status)

    def _said(self, visit: Visit, done: dict[str, Any]) -> Response:
        status = 200 if done["accepted"] else _STATUS.get(AnswerOutcome(done["outcome"]), 409)
        said = {"done": done["accepted"], "sentence": done["sentence"]}
        if visit.wants_json:
            return data(said, status)
        if done["accepted"]:
            return elsewhere(f"/approve/{done['id']}")
        return self._page(visit, said, status)

    def _page(self, visit: Visit, said: dict[str, Any], status: int) -> Response:
        text = self.render.text("said.html", visit=visit, words=said["sentence"])
        return page(text, 200 if said["done"] else status)

    async def _must_be_typed(self, visit: Visit, form: dict[str, str]) -> None:
        """Refuse to allow by a button what only typed words may allow.

        Raises:
            Fault: the code was not typed.
        """
        if form.get("decision") == ApprovalReply.DENY:
            return
        found = await self._meant(visit)
        typed = form.get("typed", "").strip().upper()
        if found.step_up and typed != found.code:
            words = (
                f"A button is not enough here: type the code {found.code} to allow it, or the "
                "code of your authenticator app if you have one enrolled, or sign with a passkey."
            )
            raise Fault(FaultCode.CONFLICT, words)

    async def _meant(self, visit: Visit) -> Approval:
        """Return the approval that the address names.

        Raises:
            Fault: it names none, or several.
        """
        permit(self.table["exec.approval.get"], visit.who)
        ref = visit.path("ref")
        meant = await self.gate.store.read(approvals.find, ref)
        found = visibility.seen(meant, visit.who)
        if len(found) != 1:
            words = "several approvals; give more of the id" if found else "no approval"
            raise Fault(FaultCode.NOT_FOUND, f"This address means {words}.")
        return found[0]

    async def _refusal(self, found: Approval, visit: Visit) -> str:
        """Return why this person may not answer, to be shown before anything is pressed."""
        actor = visit.who.actor
        if found.resolution is not None or actor is None:
            return ""
        offer = await self.gate.offer(Answer(found.id, ApprovalReply.DENY, actor, typed=True))
        return offer.sentence if offer.outcome in _MAY_NOT else ""

    async def _preview_words(self, found: Approval) -> str:
        if found.resolution is not None or not found.evaluation.promise:
            return ""
        made = await Previews(self.gate.store, self.gate.rulebook).of_question(found)
        return "" if made is None else words_of(made).text
