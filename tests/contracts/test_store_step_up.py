"""State what every engine must do with a question that needs a proof: it counts once, or never."""

import asyncio
from dataclasses import replace

from core.model.identity import ApprovalId
from core.store import approvals
from core.store.approvals import proofs
from core.store.people import passkeys, totp_keys
from core.store.people.passkeys import PasskeySpend
from core.store.schema.records import AnswerRefusal, StoredAnswer
from tests.contracts.people_records import pair
from tests.support.store_records import ALICE, ALWAYS, DENY, ONCE, draft
from tests.support.stores import OpenStore


async def _asked(bench: OpenStore, *, step_up: bool = True) -> ApprovalId:
    return await bench.ask(replace(draft(), step_up=step_up))


async def _say(bench: OpenStore, ballot: approvals.Ballot) -> StoredAnswer:
    answer = await bench.store.write(approvals.answer, ballot)
    assert answer is not None
    return answer


async def _spend(bench: OpenStore, count: int) -> PasskeySpend:
    """Return a passkey's signature, with a challenge that is still unused."""
    nonce = await bench.store.write(passkeys.draw, "an answer")
    return PasskeySpend("key", count, nonce, "an answer", "{}")


async def _with_app(bench: OpenStore) -> None:
    await pair(bench, "ana", ALICE)
    await bench.store.write(totp_keys.enrol, "ana", "A" * 32, "uid:0")


async def test_a_code_allows_one_question(bench: OpenStore) -> None:
    """Of two answers at one moment as well; what it allowed is recorded, a later code counts."""
    await _with_app(bench)
    asked = [await _asked(bench) for _ in range(3)]
    ballots = [approvals.Ballot(one, ONCE, ALICE, None, step=70) for one in asked[:2]]

    answers = await asyncio.gather(*(_say(bench, one) for one in ballots))
    later = await _say(bench, approvals.Ballot(asked[2], ALWAYS, ALICE, None, step=71))

    assert sorted(one.won for one in answers) == [False, True]
    assert {one.refused for one in answers} == {None, AnswerRefusal.CHANGED}
    assert later.won
    (kept,) = await bench.store.read(proofs.of_approval, asked[2])
    assert (kept.person, kept.reply, kept.step, kept.passkey) == ("ana", ALWAYS, 71, None)


async def test_who_has_an_app_allows_by_it_alone(bench: OpenStore) -> None:
    """Without a code nothing is allowed, a denial needs none; the control: a plain question."""
    await _with_app(bench)
    plain, first, second = [await _asked(bench, step_up=needed) for needed in (False, True, True)]

    typed = await _say(bench, approvals.Ballot(first, ONCE, ALICE, None))
    denied = await _say(bench, approvals.Ballot(second, DENY, ALICE, None))
    usual = await _say(bench, approvals.Ballot(plain, ONCE, ALICE, None))

    assert (typed.won, typed.refused) == (False, AnswerRefusal.CHANGED)
    assert (denied.won, usual.won) == (True, True)
    assert await bench.store.read(proofs.of_approval, plain) == ()


async def test_what_gave_a_proof_and_is_forgotten_proves_nothing(bench: OpenStore) -> None:
    """Neither counts as typed then; a person who never had either answers without."""
    await _with_app(bench)
    await bench.store.write(passkeys.add, "ana", "key", "public", 0, "a browser", "uid:0")
    by_code, by_key, by_hand = [await _asked(bench) for _ in range(3)]
    signed = await _spend(bench, 1)
    await bench.store.write(totp_keys.remove, "ana")
    await bench.store.write(passkeys.forget, "key")

    for ballot in (
        approvals.Ballot(by_code, ONCE, ALICE, None, step=70),
        approvals.Ballot(by_key, ONCE, ALICE, None, passkey=signed),
    ):
        assert (await _say(bench, ballot)).refused is AnswerRefusal.CHANGED
    assert (await _say(bench, approvals.Ballot(by_hand, ONCE, ALICE, None))).won


async def test_a_passkey_allows_one_question(bench: OpenStore) -> None:
    """With a used challenge and a count that grows; what it signed is recorded."""
    await pair(bench, "ana", ALICE)
    await bench.store.write(passkeys.add, "ana", "key", "public", 0, "a browser", "uid:0")
    first, second = [await _asked(bench) for _ in range(2)]
    signed = await _spend(bench, 1)

    allowed = await _say(bench, approvals.Ballot(first, ONCE, ALICE, None, passkey=signed))
    again = await _say(bench, approvals.Ballot(second, ONCE, ALICE, None, passkey=signed))
    copied = await _spend(bench, 1)
    cloned = await _say(bench, approvals.Ballot(second, ONCE, ALICE, None, passkey=copied))

    assert allowed.won
    assert (again.refused, cloned.refused) == (AnswerRefusal.CHANGED, AnswerRefusal.CHANGED)
    (kept,) = await bench.store.read(proofs.of_approval, first)
    assert (kept.step, kept.passkey, kept.public_key) == (0, "{}", "public")
