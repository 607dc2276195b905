"""Prove who allows where a question requires a step-up: an app's code, or a passkey's signature."""

from dataclasses import dataclass, field

from core.approvals import messages
from core.model.approval import Approval, ApprovalReply
from core.model.identity import PersonId
from core.store import Store
from core.store.people import passkeys, totp_keys
from core.store.people.passkeys import Passkey, PasskeySpend, about_answer
from core.store.people.totp_keys import TotpKey
from core.trust import passkeys as passkey_checks
from core.trust.passkeys import NotProven, PasskeyProof, RelyingParty
from core.trust.sealing import Seals
from core.trust.totp import matching_step


@dataclass(frozen=True, slots=True)
class PasskeyAnswer:
    """What a passkey signed for the challenge of ``nonce``, on the page of ``party``.

    ``limit`` is how an allow-always is limited, in the words of the answer.
    """

    nonce: str
    credential: str = field(repr=False)
    limit: str
    party: RelyingParty


@dataclass(frozen=True, slots=True)
class Authorised:
    """The approval that an answer refers to, who may answer it, and what proves this person."""

    approval: Approval
    person: PersonId
    app: TotpKey | None
    passkeys: tuple[Passkey, ...]


@dataclass(frozen=True, slots=True)
class Proven:
    """What an allow was proven with: the step of a code, or what a passkey signed."""

    step: int | None = None
    passkey: PasskeySpend | None = None


def required(approval: Approval, reply: ApprovalReply) -> bool:
    """Return whether this reply to a question counts only from somebody who proves who it is."""
    waits = approval.resolution is None
    return waits and approval.step_up and reply is not ApprovalReply.DENY


@dataclass(frozen=True, slots=True)
class StepUp:
    """The check of proofs; what it returns is used up by the store, with the answer."""

    store: Store
    seals: Seals

    async def by_passkey(
        self, found: Authorised, reply: ApprovalReply, given: PasskeyAnswer
    ) -> Proven | str:
        """Return what a passkey signed, or the sentence why it proves nothing.

        Raises:
            StoreError: the store cannot be read.
        """
        about = about_answer(found.approval.id, found.person, reply, given.limit)
        is_open = await self.store.read(passkeys.is_open, given.nonce, about)
        try:
            return Proven(passkey=_checked(reply, given, found, about, is_open=is_open))
        except NotProven as error:
            return messages.passkey_refused(found.approval, str(error))

    async def by_code(self, found: Authorised, reply: ApprovalReply, code: str) -> Proven | str:
        """Return the step of a code, or the sentence why it proves nothing.

        Each try is counted first.

        Raises:
            StoreError: the try cannot be counted.
        """
        approval, app = found.approval, found.app
        if app is None:
            return messages.not_proven(approval, reply)
        secret = self.seals.opened(app.secret, totp_keys.use_of(app.person))
        if secret is None:
            return messages.app_not_readable(approval, app.person)
        at_ms = await self.store.write(totp_keys.take_try, app.person)
        if at_ms is None:
            return messages.too_many_codes(approval)
        step = matching_step(secret, code, at_ms)
        if step is None or step <= app.last_step:
            return messages.wrong_code(approval, used=step is not None)
        return Proven(step)


def _checked(
    reply: ApprovalReply, given: PasskeyAnswer, found: Authorised, about: str, *, is_open: bool
) -> PasskeySpend:
    """Return what is used up by the signature of the person's passkey.

    Raises:
        NotProven: it did not sign this answer to this plan, here, by its person.
    """
    if not is_open:
        raise NotProven("what it signed was used before, is too old or is for another answer")
    approval = found.approval
    signed = passkey_checks.signed_of(given.credential)
    own = next((one for one in found.passkeys if one.id == signed.passkey), None)
    if own is None:
        raise NotProven("it is not a passkey of yours that is registered here")
    challenge = passkey_checks.approval_challenge(
        approval.id, approval.plan.digest, reply, given.limit, given.nonce
    )
    key, last = own.public_key, own.sign_count
    count = passkey_checks.check(signed, challenge, given.party, key, last)
    proof = PasskeyProof(nonce=given.nonce, reply=reply, limit=given.limit, signed=signed)
    return PasskeySpend(own.id, count, given.nonce, about, proof.model_dump_json())
