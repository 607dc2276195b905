"""Serve the people directory (docs/decisions/0009).

Any local peer may look, and may take rights away. What could grant rights (adding, pairing,
unlinking, restoring) counts only from a person at a terminal, or over the network from a token with
the scope ``admin``.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import Askers
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import Name, NoParams, Params
from bot.intake.results.answer import ChangeAnswer, safe
from bot.intake.results.people import (
    PairAnswer,
    PasskeyRow,
    PasskeysAnswer,
    PeopleAnswer,
    PersonAnswer,
    TotpAnswer,
)
from core.errors import NotFound
from core.model.access import PEOPLES_SCOPES, Scope
from core.ports import Journal
from core.store import Store
from core.store.people import pairing, passkeys, people, totp_keys
from core.trust import totp
from core.trust.sealing import Seals

RULES = frozenset({Scope.ADMIN})
PERSON = "[person at a terminal](../decisions/0009-people-over-the-socket.md)"
TYPED = f"on the socket only from a {PERSON}"


class NameParams(Params):
    """A method about a named person."""

    name: Name = Field(description="a person's name")


class WhoParams(Params):
    """A method about a person, or about one account such as ``telegram:42``."""

    who: Name = Field(description="a person's name, or `channel:account`")


class AccountParams(Params):
    """A method about one account: ``telegram:42``."""

    account: Annotated[
        str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f:]+:[^\x00-\x1f\x7f]+$")
    ] = Field(description="`channel:account`")


class PasskeyIdParams(Params):
    """A method about one passkey."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,1400}$")] = Field(
        description="the passkey's id"
    )


@dataclass(frozen=True, slots=True)
class PeopleMethods(Group):
    """The methods about people; each change is in the journal."""

    store: Store
    journal: Journal
    askers: Askers
    seals: Seals

    @handles("people.list", PEOPLES_SCOPES, "List the people with their accounts.")
    async def listed(self, _params: NoParams, _caller: Caller) -> PeopleAnswer:
        """List the people with their accounts."""
        found = await self.store.read(people.listed)
        return PeopleAnswer(people=[PersonAnswer.of(one) for one in found])

    @handles("people.add", RULES, "Add a person.", note=TYPED)
    async def add(self, params: NameParams, caller: Caller) -> ChangeAnswer:
        """Add a person."""
        name = params.name
        refusal = await self._refusal(caller)
        if refusal is not None:
            return refusal
        await self._record(caller, "add", name)
        if await self.store.write(people.add, name):
            return ChangeAnswer.of(f"{name} was added. Next: `sayso people pair {name}`.")
        return ChangeAnswer.of(f"{name} already exists.")

    @handles(
        "people.pair", RULES, "Create a code that links the account that sends it.", note=TYPED
    )
    async def pair(self, params: NameParams, caller: Caller) -> PairAnswer:
        """Create a code that links the account that sends it; it is shown only once.

        Raises:
            NotFound: no one has this name.
        """
        name = params.name
        refusal = await self.askers.refusal(caller)
        if refusal is not None:
            return PairAnswer.of(refusal, done=False)
        await self._record(caller, "pair", name)
        drawn = await self.store.write(pairing.begin, name)
        if drawn is None:
            raise NotFound(f"No person is named {name}; add one with `sayso people add {name}`.")
        sentence = (
            f"Send `/pair {drawn.code}` from the account to link, within "
            f"{pairing.CODE_LIFE_MS // 60_000} minutes. The first account to send it becomes "
            f"{name}'s."
        )
        return PairAnswer(
            done=True, sentence=safe(sentence), code=drawn.code, expires_ms=drawn.expires_ms
        )

    @handles("people.unlink", RULES, "Unlink an account from its person.", note=TYPED)
    async def unlink(self, params: AccountParams, caller: Caller) -> ChangeAnswer:
        """Unlink an account from its person; from then on it counts as a separate person."""
        refusal = await self._refusal(caller)
        if refusal is not None:
            return refusal
        await self._record(caller, "unlink", params.account)
        channel, _, account = params.account.partition(":")
        person = await self.store.write(people.unlink, channel, account)
        if person is None:
            return ChangeAnswer.of(f"{params.account} is not linked.", done=False)
        return ChangeAnswer.of(f"{params.account} no longer belongs to {person}.")

    @handles("people.revoke", RULES, "Revoke a person's or an account's right to approve.")
    async def revoke(self, params: WhoParams, caller: Caller) -> ChangeAnswer:
        """Stop a person or an account of this name from answering; every local process may.

        Raises:
            NotFound: no one has this name.
        """
        who = params.who
        # An account may be one that nobody has linked; a name must be a known person's.
        if ":" not in who and not await self.store.read(people.exists, who):
            raise _nobody(who)
        await self._record(caller, "revoke", who)
        if await self.store.write(people.revoke, who):
            return ChangeAnswer.of(f"{who} is revoked: answers and earlier votes no longer count.")
        raise _nobody(who)

    @handles("people.restore", RULES, "Restore a revoked right to approve.", note=TYPED)
    async def restore(self, params: WhoParams, caller: Caller) -> ChangeAnswer:
        """Let a person's or an account's answers count again.

        Raises:
            NotFound: no one has this name.
        """
        who = params.who
        refusal = await self._refusal(caller)
        if refusal is not None:
            return refusal
        if ":" not in who and not await self.store.read(people.exists, who):
            raise _nobody(who)
        await self._record(caller, "restore", who)
        if await self.store.write(people.restore, who):
            return ChangeAnswer.of(f"{who} may approve again, wherever the configuration says so.")
        return ChangeAnswer.of(f"{who} is not revoked.", done=False)

    @handles(
        "people.totp",
        RULES,
        "Enrol a person's authenticator app; an earlier one ends.",
        note=f"only from a {PERSON}",
        local=True,
    )
    async def enrol(self, params: NameParams, caller: Caller) -> TotpAnswer:
        """Generate the secret of a person's app; it is shown only once."""
        name = params.name
        refusal = await self.askers.refusal(caller)
        if refusal is not None:
            return TotpAnswer.of(refusal, done=False)
        await self._record(caller, "totp", name)
        secret = totp.new_secret()
        sealed = self.seals.seal(secret, totp_keys.use_of(name))
        await self.store.write(totp_keys.enrol, name, sealed, caller.ref)
        sentence = (
            f"Open this link in {name}'s authenticator app; it is not shown again. From now on, "
            f"where a tier has stepUp, {name} can allow only with a code from the app."
        )
        return TotpAnswer(done=True, sentence=sentence, uri=totp.uri(secret, name))

    @handles(
        "people.forgetTotp",
        RULES,
        "Remove a person's authenticator app; the typed code counts again.",
        note=f"only from a {PERSON}",
        local=True,
    )
    async def forget_app(self, params: NameParams, caller: Caller) -> ChangeAnswer:
        """Remove a person's app."""
        refusal = await self._refusal(caller)
        if refusal is not None:
            return refusal
        await self._record(caller, "forget totp", params.name)
        if await self.store.write(totp_keys.remove, params.name):
            return ChangeAnswer.of(f"{params.name} no longer has an authenticator app.")
        return ChangeAnswer.of(safe(f"{params.name!a} has no authenticator app."), done=False)

    @handles(
        "people.passkeys",
        PEOPLES_SCOPES,
        "List the passkeys that people registered on the control page.",
    )
    async def passkeys(self, _params: NoParams, _caller: Caller) -> PasskeysAnswer:
        """List everybody's passkeys."""
        found = await self.store.read(passkeys.listed)
        return PasskeysAnswer(passkeys=[PasskeyRow.of(one) for one in found])

    @handles(
        "people.forgetPasskey",
        RULES,
        "Remove a passkey; after a person's last, what counted before does.",
        note=f"only from a {PERSON}",
        local=True,
    )
    async def forget_passkey(self, params: PasskeyIdParams, caller: Caller) -> ChangeAnswer:
        """Remove a passkey."""
        refusal = await self._refusal(caller)
        if refusal is not None:
            return refusal
        await self._record(caller, "forget passkey", params.id)
        person = await self.store.write(passkeys.forget, params.id)
        if person is None:
            return ChangeAnswer.of(
                "No passkey has this id; see `sayso people passkeys`.", done=False
            )
        return ChangeAnswer.of(f"This passkey no longer belongs to {person}.")

    async def _refusal(self, caller: Caller) -> ChangeAnswer | None:
        why = await self.askers.refusal(caller)
        return None if why is None else ChangeAnswer.of(why, done=False)

    async def _record(self, caller: Caller, what: str, whom: str) -> None:
        record: dict[str, object] = {"by": caller.ref, "what": what, "whom": safe(whom)}
        await self.journal.append("people", record)


def _nobody(who: str) -> NotFound:
    return NotFound(safe(f"Nobody has the name or account {who!a}; see `sayso people list`."))
