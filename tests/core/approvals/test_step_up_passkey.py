"""If a step-up is required, a signature of one of the person's own passkeys allows, once."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from core.approvals.answer import Answer, Answered, Answering, AnswerOutcome
from core.approvals.routing.approvers import Approvers
from core.approvals.step_up import PasskeyAnswer
from core.model.approval import ApprovalReply
from core.model.identity import Actor, ApprovalId
from core.store import Store, approvals, open_store
from core.store.people import pairing, passkeys, people
from core.trust.passkeys import RelyingParty, approval_challenge
from core.trust.sealing import SEALING_KEY, Seals
from tests.support.passkey_device import PasskeyDevice, encoded
from tests.support.store_records import ALWAYS, DENY, ONCE, draft

ANA, BO = Actor("telegram", "42", "Ana"), Actor("telegram", "43", "Bo")
PAGE = RelyingParty("sayso.example", "https://sayso.example")


@dataclass(frozen=True, slots=True)
class Bench:
    """A store with Ana, who has two passkeys, and Bo, who has one."""

    store: Store
    answering: Answering
    first: PasskeyDevice
    second: PasskeyDevice
    bos: PasskeyDevice

    async def ask(self) -> ApprovalId:
        """Ask another question."""
        question = replace(draft(), step_up=True)
        await self.store.write(approvals.create, question)
        return question.id

    async def signed(
        self,
        asked: ApprovalId,
        device: PasskeyDevice,
        reply: ApprovalReply = ONCE,
        person: str = "ana",
    ) -> PasskeyAnswer:
        """Draw a challenge for a person's answer and have a passkey sign it."""
        found = await self.store.read(approvals.get, asked)
        assert found is not None
        about = passkeys.about_answer(asked, person, reply, "")
        nonce = await self.store.write(passkeys.draw, about)
        signed = device.sign(approval_challenge(asked, found.plan.digest, reply, "", nonce), PAGE)
        response = {
            "clientDataJSON": signed.client_data,
            "authenticatorData": signed.authenticator_data,
            "signature": signed.signature,
        }
        credential = json.dumps({"id": signed.passkey, "response": response})
        return PasskeyAnswer(nonce, credential, "", PAGE)

    async def answer(
        self,
        asked: ApprovalId,
        passkey: PasskeyAnswer | None,
        reply: ApprovalReply = ONCE,
        actor: Actor = ANA,
    ) -> Answered:
        """Answer with a passkey's signature."""
        return await self.answering.answer(Answer(asked, reply, actor, passkey=passkey))


@asynccontextmanager
async def _bench(folder: Path) -> AsyncIterator[Bench]:
    listed = Approvers({}, frozenset({"person:ana", "person:bo"}))
    store = await open_store(f"sqlite:///{folder}/state.db")
    first, second, bos = (PasskeyDevice(encoded(name.encode())) for name in ("a1", "a2", "b1"))
    try:
        for actor, name, own in ((ANA, "ana", (first, second)), (BO, "bo", (bos,))):
            await store.write(people.add, name)
            drawn = await store.write(pairing.begin, name)
            assert drawn is not None
            await store.write(pairing.pair, drawn.code, actor)
            for one in own:
                row = (name, one.id, one.public_key, 0, "a browser", "uid:0")
                assert await store.write(passkeys.add, *row)
        answering = Answering(store, listed, Seals(folder / SEALING_KEY))
        yield Bench(store, answering, first, second, bos)
    finally:
        await store.close()


async def test_each_of_a_persons_passkeys_allows(tmp_path: Path) -> None:
    """The one that signed is looked up among several; without one nothing is allowed."""
    async with _bench(tmp_path) as bench:
        for device in (bench.first, bench.second, bench.first):
            asked = await bench.ask()
            bare = await bench.answer(asked, None)
            done = await bench.answer(asked, await bench.signed(asked, device))
            assert (bare.outcome, done.outcome) == (
                AnswerOutcome.NOT_PROVEN,
                AnswerOutcome.ACCEPTED,
            )


async def test_another_persons_passkey_proves_nothing(tmp_path: Path) -> None:
    """Bo's is none of Ana's, whichever account sends it; the control is Bo's own answer."""
    async with _bench(tmp_path) as bench:
        asked = await bench.ask()
        theirs = await bench.signed(asked, bench.bos)
        refused = await bench.answer(asked, theirs)
        own = await bench.signed(asked, bench.bos, person="bo")
        done = await bench.answer(asked, own, actor=BO)

    assert refused.outcome is AnswerOutcome.NOT_PROVEN
    assert "not a passkey of yours" in refused.sentence
    assert done.outcome is AnswerOutcome.ACCEPTED


async def test_what_was_signed_counts_for_one_answer_alone(tmp_path: Path) -> None:
    """Not for another question, not for another reply, and not a second time."""
    async with _bench(tmp_path) as bench:
        asked, other = await bench.ask(), await bench.ask()
        given = await bench.signed(asked, bench.first)
        elsewhere = await bench.answer(other, given)
        more = await bench.answer(asked, given, ALWAYS)
        done = await bench.answer(asked, given)
        again = await bench.answer(other, given)

    assert [one.outcome for one in (elsewhere, more, done, again)] == [
        AnswerOutcome.NOT_PROVEN,
        AnswerOutcome.NOT_PROVEN,
        AnswerOutcome.ACCEPTED,
        AnswerOutcome.NOT_PROVEN,
    ]


async def test_a_denial_needs_no_passkey(tmp_path: Path) -> None:
    """No one is prevented from refusing."""
    async with _bench(tmp_path) as bench:
        done = await bench.answer(await bench.ask(), None, DENY)

    assert done.outcome is AnswerOutcome.ACCEPTED


def test_what_proves_is_in_no_text_about_an_answer() -> None:
    """A code and a passkey's signature stay out of tracebacks and logs."""
    given = PasskeyAnswer("0" * 32, "what-was-signed", "", PAGE)

    shown = repr(Answer("a", ONCE, ANA, totp="123456", passkey=given))

    assert "what-was-signed" not in shown
    assert "123456" not in shown
    assert "reply=" in shown, "the control"
