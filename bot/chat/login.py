"""Send an approver a one-time link to the control page, where nobody else reads the reply."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bot.intake.methods.login import LOGIN_PATH
from channels.base import Inbound, Reply, Tone
from channels.commands import LogIn
from core.approvals.routing.approvers import Approvers
from core.model.access import Scope
from core.model.identity import Actor
from core.ports import Journal
from core.store import Store
from core.store.people import page_links, people
from core.text.render import phrase, redact

_SCOPES: Final = frozenset({Scope.APPROVE, Scope.READ})
_OPENLY = "Others would read the link here. Send /login in a direct message to me."
_OFF = "The control page is off: set http.enabled in the gateway's config.json5, then restart it."
_STRANGER = (
    "You may not use /login: your account is not among the approvers of channels.{}. Nothing was "
    "changed."
)
_BY_GROUP = (
    "You are an approver by a group or role, which the control page cannot look up. Have "
    "person:{} listed among the approvers, then send /login again."
)
_UNLINKED = (
    "The control page needs to know who you are, and this account is linked to nobody. Get a code "
    "with `sayso people pair NAME` and send it here as /pair CODE."
)


@dataclass(frozen=True, slots=True)
class LoginLinks:
    """The links that people ask for in chats; ``page_url`` is empty if the page is off."""

    store: Store
    journal: Journal
    approvers: Approvers
    page_url: Callable[[], str]

    async def take(self, inbound: Inbound) -> Reply | None:
        """Reply to ``/login``: a link, or why there is none."""
        if not isinstance(inbound.command, LogIn):
            return None
        known = await self.store.read(people.known_as, inbound.actor)
        base = self.page_url()
        refused = self._refused(inbound, known, base)
        return refused or await self._made(inbound.actor, known, base)

    def _refused(self, inbound: Inbound, known: people.KnownAs, base: str) -> Reply | None:
        """Return why this person gets no link, or ``None``."""
        actor = inbound.actor
        if known.revoked or self.approvers.visible((actor,), known.person).is_empty:
            return _refusal(_STRANGER, actor.channel)
        if not inbound.private:
            return _refusal(_OPENLY)
        if not base:
            return _refusal(_OFF)
        if known.person == actor.ref:
            return _refusal(_UNLINKED)
        # Groups and roles are known for a person who writes in the chat, not for a browser.
        account = Actor(actor.channel, actor.account)
        if self.approvers.visible((account,), known.person).is_empty:
            return _refusal(_BY_GROUP, known.person)
        return None

    async def _made(self, actor: Actor, known: people.KnownAs, base: str) -> Reply:
        record: dict[str, object] = {
            "by": actor.ref,
            "what": "create",
            "person": redact(known.person).text,
            "scopes": sorted(_SCOPES),
        }
        await self.journal.append("page link", record)
        made = await self.store.write(page_links.create_anew, known.person, _SCOPES, actor.ref)
        words = phrase(
            "A link for {}, good for 10 minutes: it works once, in the browser that opens it.",
            redact(known.person, strict=True),
        )
        return Reply(words, Tone.OK, link=f"{base}{LOGIN_PATH}{made.secret}")


def _refusal(words: str, *values: str) -> Reply:
    return Reply(phrase(words, *(redact(one, strict=True) for one in values)), Tone.REFUSED)
