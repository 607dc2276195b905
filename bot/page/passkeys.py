"""Register passkeys, sign in with one, and create the challenge that allows something.

A passkey is registered in a session that a one-time link has just begun, where the link came from
a person at a terminal. A session that is older, or was begun by a passkey or by a link sent to a
chat account, registers none: whoever takes over a session or a chat account cannot add a key that
is later accepted as proof.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from bot.api.http.bodies import header
from bot.api.http.client import count_failure
from bot.api.http.errors import Fault, FaultCode
from bot.api.http.rate_limits import Buckets
from bot.intake.callers import visibility
from bot.intake.registry.method import Table, permit
from bot.page.login import LoginPages, browser_label
from bot.page.visit import Visit, data
from channels.argument_values import grant_terms
from core.errors import BadRequest
from core.model.approval import ApprovalReply
from core.ports import Journal
from core.store import Store, approvals
from core.store.engine.clock import now_ms
from core.store.people import page_links, passkeys, tokens
from core.store.people.tokens import NewToken, Token
from core.trust import passkeys as checks
from core.trust.passkeys import NotProven, RelyingParty, relying_party

REGISTER_MS: Final = 10 * 60_000
"""How long after its one-time link a session may register passkeys."""
_AT_A_TERMINAL: Final = "uid:"
"""Prefix of the creator's name for sessions whose link was made over the gateway's socket."""
_MOST: Final = 10
_SIGN_IN: Final = "sign in"


@dataclass(frozen=True, slots=True)
class PasskeyPages:
    """The endpoints for passkeys that the scripts of the page call."""

    store: Store
    journal: Journal
    table: Table
    login: LoginPages
    failed: Buckets
    page_url: Callable[[], str]

    async def begin(self, visit: Visit) -> Response:
        """Return what a browser needs to create a passkey for the person who is signed in."""
        await visit.form()
        session = await self._fresh(visit)
        known = await self.store.read(passkeys.of_person, visit.person)
        if len(known) >= _MOST:
            words = f"You have {_MOST} passkeys; at a terminal: sayso people forget-passkey ID"
            raise Fault(FaultCode.CONFLICT, words)
        about = _register(session)
        nonce = await self.store.write(passkeys.draw, about)
        options = checks.creation_options(
            self._party(),
            visit.person,
            checks.plain_challenge(about, nonce),
            tuple(one.id for one in known),
        )
        return data({"nonce": nonce, "options": options})

    async def register(self, visit: Visit) -> Response:
        """Store a passkey that an authenticator has created."""
        form = await visit.form()
        session = await self._fresh(visit)
        about, nonce = _register(session), form.get("nonce", "")
        if not await self.store.write(passkeys.use, nonce, about):
            raise _stale()
        try:
            challenge = checks.plain_challenge(about, nonce)
            made = checks.registered(form.get("credential", ""), challenge, self._party())
        except NotProven as error:
            raise Fault(FaultCode.CONFLICT, f"No passkey was registered: {error}.") from None
        name = browser_label(header(visit.scope, b"user-agent") or b"")
        record: dict[str, object] = {"by": session.ref, "what": "passkey", "whom": visit.person}
        await self.journal.append("people", {**record, "passkey": made.id})
        key = (made.id, made.public_key, made.sign_count, name)
        try:
            done = await self.store.write(page_links.register, session, *key)
        except BadRequest as error:
            raise Fault(FaultCode.FORBIDDEN, str(error)) from None
        words = "The passkey is registered." if done else "This passkey is registered already."
        return data({"done": done, "sentence": words}, 200 if done else 409)

    async def challenge(self, visit: Visit) -> Response:
        """Return the challenge that this person's passkey signs to allow an approval in one way."""
        form = await visit.form()
        permit(self.table["exec.approval.resolve"], visit.who)
        meant = await self.store.read(approvals.find, visit.path("ref"))
        found = visibility.seen(meant, visit.who)
        known = await self.store.read(passkeys.of_person, visit.person)
        reply = form.get("decision", "")
        if len(found) != 1 or reply not in {ApprovalReply.ALLOW_ONCE, ApprovalReply.ALLOW_ALWAYS}:
            raise Fault(FaultCode.BAD_REQUEST, "There is nothing to sign for this.")
        if not known:
            words = f"Type the code {found[0].code} to allow it, or that of your authenticator app."
            raise Fault(FaultCode.CONFLICT, words)
        limit = form.get("limit", "") if reply == ApprovalReply.ALLOW_ALWAYS else ""
        if limit and grant_terms(limit) is None:
            raise Fault(FaultCode.BAD_REQUEST, "There is nothing to sign for this.")
        about = passkeys.about_answer(found[0].id, visit.person, reply, limit)
        nonce = await self.store.write(passkeys.draw, about)
        challenge = checks.approval_challenge(
            found[0].id, found[0].plan.digest, reply, limit, nonce
        )
        known_ids = tuple(one.id for one in known)
        options = checks.request_options(self._party(), challenge, known_ids)
        return data({"nonce": nonce, "options": options})

    async def offer(self, visit: Visit) -> Response:
        """Return the challenge that any passkey signs to sign in."""
        await visit.form()
        count_failure(self.failed, visit.scope)
        nonce = await self.store.write(passkeys.draw, _SIGN_IN)
        challenge = checks.plain_challenge(_SIGN_IN, nonce)
        options = checks.request_options(self._party(), challenge)
        return data({"nonce": nonce, "options": options})

    async def enter(self, visit: Visit) -> Response:
        """Sign in with a new session of the passkey's owner."""
        form = await visit.form()
        nonce = form.get("nonce", "")
        if not await self.store.write(passkeys.use, nonce, _SIGN_IN):
            count_failure(self.failed, visit.scope)
            raise _stale()
        label = browser_label(header(visit.scope, b"user-agent") or b"")
        try:
            made = await self._entered(form.get("credential", ""), nonce, label)
        except NotProven as error:
            count_failure(self.failed, visit.scope)
            raise Fault(FaultCode.FORBIDDEN, f"You are not signed in: {error}.") from None
        except BadRequest as error:
            raise Fault(FaultCode.FORBIDDEN, str(error)) from None
        answer = data({"done": True, "sentence": "You are signed in."})
        await self.login.begin(visit, made, label, answer)
        return answer

    async def _entered(self, credential: str, nonce: str, label: str) -> NewToken:
        """Return a session of the owner of the passkey that signed.

        Raises:
            NotProven: no registered passkey signed, or a copy of one did.
            BadRequest: its owner no longer exists.
        """
        signed = checks.signed_of(credential)
        key = await self.store.read(passkeys.get, signed.passkey)
        if key is None:
            raise NotProven("the passkey is not registered here")
        challenge = checks.plain_challenge(_SIGN_IN, nonce)
        last = key.sign_count
        count = checks.check(signed, challenge, self._party(), key.public_key, last)
        made = await self.store.write(page_links.enter_by_passkey, key.person, key.id, count, label)
        if made is None:
            raise NotProven("this passkey has since given a newer answer")
        return made

    async def _fresh(self, visit: Visit) -> Token:
        """Return the session, if a one-time link has just begun it.

        Raises:
            Fault: it has not.
        """
        session = await self.store.read(tokens.by_id, visit.who.token)
        now = await self.store.read(now_ms)
        if session is None or not may_register(session, now):
            words = (
                "A passkey is added within 10 minutes of signing in by a link from a terminal: "
                f"sayso login --person {visit.person}"
            )
            raise Fault(FaultCode.FORBIDDEN, words)
        return session

    def _party(self) -> RelyingParty:
        """Return the relying party that passkeys are created for here.

        Raises:
            Fault: browsers create none for this page.
        """
        party = relying_party(self.page_url())
        if party is None:
            words = "Passkeys need the page at a name and over HTTPS. Set http.url."
            raise Fault(FaultCode.CONFLICT, words)
        return party


def may_register(session: Token, now: int) -> bool:
    """Return whether a session may register a passkey: a link from a terminal began it recently."""
    at_a_terminal = session.by.startswith(_AT_A_TERMINAL)
    return at_a_terminal and now - session.created_ms <= REGISTER_MS


def _register(session: Token) -> str:
    return f"register:{session.id}"


def _stale() -> Fault:
    return Fault(FaultCode.CONFLICT, "This took too long, or was already done. Try again.")
