"""Subscribe browsers to web push, and take the answers that people give in notifications.

A notification answers with a token made for it, which counts once, for one browser, approval and
plan. The answer comes with the session's cookie, from our own origin, and goes through the method
that takes every answer; what needs more than a press cannot be answered here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response

from bot.api.http.bodies import header
from bot.api.http.client import count_failure
from bot.api.http.errors import Fault, FaultCode
from bot.api.http.rate_limits import Buckets
from bot.factories.push import PushKeys
from bot.intake.registry.method import Table, invoke, permit
from bot.page.login import browser_label
from bot.page.visit import Visit, data, elsewhere
from channels.cards.summary import is_plain
from channels.push.payload import tag_of
from channels.push.services import is_served
from core.errors import SaysoError
from core.gate.gate import Gate
from core.model.approval import Approval, ApprovalReply
from core.model.decision import Tier
from core.model.evidence import Surface, View
from core.model.identity import PersonId
from core.settings.http import HttpPushSection
from core.store import approvals
from core.store.people import push
from core.store.people.push import Answerable, Draft
from core.trust.vapid import are_browser_keys, public_key

_BACK: Final = "/sessions#push"
_NOT_OURS: Final = (
    "This browser's push service is not one that Sayso speaks to. The gateway's owner may add it "
    "to http.push.services."
)
_OF_NOTHING: Final = (
    "This browser is registered, but notified of nothing: you are on no list of approvers. Once "
    "you are, it is notified."
)
_SPENT: Final = "This notification was answered before, is too old, or is of another session."


@dataclass(frozen=True, slots=True)
class PushPages:
    """The endpoints for web push that the sessions page and the service worker call."""

    table: Table
    gate: Gate
    keys: PushKeys
    section: HttpPushSection
    failed: Buckets

    async def begin(self, visit: Visit) -> Response:
        """Return the key that a browser subscribes with, created on first use."""
        await visit.form()
        self._permit(visit)
        return data({"key": public_key(await self.keys.get())})

    async def subscribe(self, visit: Visit) -> Response:
        """Store a browser's subscription for as long as its session lasts."""
        form = await visit.form()
        self._permit(visit)
        taken = {name: form.get(name, "") for name in ("endpoint", "p256dh", "auth")}
        if not is_served(taken["endpoint"], self.section.services):
            raise Fault(FaultCode.BAD_REQUEST, _NOT_OURS)
        if not are_browser_keys(taken["p256dh"], taken["auth"]):
            raise Fault(FaultCode.BAD_REQUEST, "These are not a browser's keys.")
        made = self._draft(visit, taken)
        if not await self.gate.store.write(push.subscribe, made):
            words = f"{push.MOST} browsers are notified already. Remove one first."
            raise Fault(FaultCode.CONFLICT, words)
        try:
            await self._record(visit, "push browser", made.id)
        except SaysoError:
            await self.gate.store.write(push.remove, made.id)  # nothing is pushed off the record
            raise
        return data({"done": True, "sentence": self._of_what(visit)})

    def _of_what(self, visit: Visit) -> str:
        """Return what this browser is notified of: nothing, if its person may answer nothing."""
        actor, approvers = visit.who.actor, self.gate.broker.asking.approvers
        if actor is None or approvers.visible((actor,), PersonId(visit.person)).is_empty:
            return _OF_NOTHING
        return "This browser is notified from now on."

    async def remove(self, visit: Visit) -> Response:
        """Stop notifying one of the person's own browsers."""
        await visit.form()
        place = visit.path("id")
        own = await self.gate.store.read(push.of_person, visit.person)
        if place in {one.id for one in own}:
            await self._record(visit, "forget push browser", place)
        if not await self.gate.store.write(push.remove, place, visit.person):
            raise Fault(FaultCode.NOT_FOUND, "No such browser is notified. Nothing was changed.")
        return elsewhere(_BACK)

    async def answer(self, visit: Visit) -> Response:
        """Take an answer that was given by a button of a notification."""
        # The worker has no form: the token it answers with is as secret as a form's, and
        # bound to the same session.
        form = await visit.form(signed=False)
        reply = form.get("decision", "")
        if reply not in {ApprovalReply.ALLOW_ONCE, ApprovalReply.DENY}:
            raise Fault(FaultCode.BAD_REQUEST, "A notification can only allow once or deny.")
        session = visit.who.token
        about = await self.gate.store.write(push.use, form.get("answer", ""), session)
        if about is None:
            count_failure(self.failed, visit.scope)
            raise Fault(FaultCode.FORBIDDEN, f"{_SPENT} Open the page to answer.")
        found = await self.gate.store.read(approvals.get, about.approval_id)
        if found is None or not _fits(found, about):
            raise Fault(FaultCode.FORBIDDEN, "This takes more than a press. Open its page.")
        self._note(visit, about)
        raw: dict[str, object] = {"id": found.id, "decision": reply}
        done: Any = await invoke(self.table["exec.approval.resolve"], raw, visit.who)
        said = {"done": done["accepted"], "sentence": done["sentence"], "code": found.code}
        return data(said, 200 if done["accepted"] else 409)

    def _note(self, visit: Visit, about: Answerable) -> None:
        """Record which notification the answer is given in."""
        place, actor = about.subscription, visit.who.actor
        if actor is not None:
            tag = tag_of(place, about.approval_id)
            view = View(about.approval_id, actor, Surface.ANSWERED, "", place, tag)
            self.gate.seen.note(view)

    def _draft(self, visit: Visit, taken: Mapping[str, str]) -> Draft:
        place = push.new_id()
        sealed = self.gate.broker.seals.seal(json.dumps(taken), push.use_of(place))
        label = browser_label(header(visit.scope, b"user-agent") or b"")
        session, endpoint = visit.who.token, taken["endpoint"]
        return Draft(place, session, visit.person, endpoint, sealed, label)

    def _permit(self, visit: Visit) -> None:
        """Refuse sessions that may not answer, or any if push is off.

        Raises:
            Fault: push is off.
            Forbidden: the session may not answer.
        """
        if not self.section.enabled:
            raise Fault(FaultCode.CONFLICT, "Web push is off: see http.push.enabled.")
        permit(self.table["exec.approval.resolve"], visit.who)

    async def _record(self, visit: Visit, what: str, place: str) -> None:
        by = visit.who.ref
        record: dict[str, object] = {"by": by, "what": what, "whom": visit.person, "push": place}
        await self.gate.journal.append("people", record)


def _fits(found: Approval, about: Answerable) -> bool:
    """Return whether a press in a notification is enough for the approval as it is now."""
    routine = found.evaluation.tier is Tier.ROUTINE and not found.step_up
    plain = is_plain(found.plan, found.evaluation)
    return routine and plain and found.plan.digest == about.digest
