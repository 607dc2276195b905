"""If a step-up is required and a person has an app, only its code allows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from core.approvals.answer import Answer, Answered, Answering, AnswerOutcome
from core.approvals.routing.approvers import Approvers
from core.model.approval import ApprovalReply
from core.model.identity import Actor, ApprovalId
from core.store import Store, approvals, open_store
from core.store.approvals import proofs
from core.store.engine.clock import now_ms
from core.store.people import pairing, people, totp_keys
from core.store.people.passkeys import PasskeySpend
from core.store.people.totp_keys import MOST_TRIES
from core.store.schema.records import AnswerRefusal
from core.trust.sealing import SEALING_KEY, Seals
from core.trust.totp import STEP_MS, new_secret
from tests.support.authenticator_app import code_at
from tests.support.store_records import DENY, ONCE, draft

ANA, BO = Actor("telegram", "42", "Ana"), Actor("telegram", "43", "Bo")
LISTED = frozenset({"person:ana", "person:bo"})


@dataclass(frozen=True, slots=True)
class Bench:
    """A store with two people who have an app each, and their secrets."""

    store: Store
    answering: Answering
    secrets: dict[str, str]

    async def ask(self, *, step_up: bool = True, quorum: int = 1) -> ApprovalId:
        """Ask another question."""
        question = replace(draft(), step_up=step_up, quorum=quorum)
        await self.store.write(approvals.create, question)
        return question.id

    async def code(self, person: str, steps: int = 0) -> str:
        """Return what the person's app shows, this many steps from now."""
        now = await self.store.read(now_ms)
        return code_at(self.secrets[person], now + steps * STEP_MS)

    async def answer(
        self,
        asked: ApprovalId,
        totp: str,
        actor: Actor = ANA,
        reply: ApprovalReply = ONCE,
        *,
        typed: bool = False,
    ) -> Answered:
        """Answer with a code."""
        return await self.answering.answer(Answer(asked, reply, actor, totp=totp, typed=typed))

    async def waits(self, asked: ApprovalId) -> bool:
        """Return whether a question still waits."""
        found = await self.store.read(approvals.get, asked)
        return found is not None and found.resolution is None


@asynccontextmanager
async def _bench(folder: Path, quorum: int = 1) -> AsyncIterator[Bench]:
    listed = Approvers({}, LISTED, quorum=quorum)
    store = await open_store(f"sqlite:///{folder}/state.db")
    secrets = {"ana": new_secret(), "bo": new_secret()}
    seals = Seals(folder / SEALING_KEY)
    try:
        for actor, name in ((ANA, "ana"), (BO, "bo")):
            await store.write(people.add, name)
            drawn = await store.write(pairing.begin, name)
            assert drawn is not None
            await store.write(pairing.pair, drawn.code, actor)
            sealed = seals.seal(secrets[name], totp_keys.use_of(name))
            await store.write(totp_keys.enrol, name, sealed, "uid:0")
        yield Bench(store, Answering(store, listed, seals), secrets)
    finally:
        await store.close()


async def test_the_code_allows_and_is_kept_with_the_decision(tmp_path: Path) -> None:
    """With the digest of the plan, the reply, and the person."""
    async with _bench(tmp_path) as bench:
        asked = await bench.ask()
        done = await bench.answer(asked, await bench.code("ana"))
        kept = await bench.store.read(proofs.of_approval, asked)
        found = await bench.store.read(approvals.get, asked)

    assert (done.outcome, found is not None) == (AnswerOutcome.ACCEPTED, True)
    assert found is not None
    assert [(one.person, one.digest, one.reply) for one in kept] == [
        ("ana", found.plan.digest, ONCE)
    ]


async def test_without_the_code_nothing_allows(tmp_path: Path) -> None:
    """No press, no typed word, no offer; denying needs none, nor does what requires no step-up."""
    async with _bench(tmp_path) as bench:
        asked = await bench.ask()
        pressed = await bench.answer(asked, "")
        typed = await bench.answer(asked, "", typed=True)
        offered = await bench.answering.offer(Answer(asked, ONCE, ANA, typed=True))
        assert {one.outcome for one in (pressed, typed, offered)} == {AnswerOutcome.NOT_PROVEN}
        assert f"`sayso approve {pressed.approval.code} allow-once --totp" in pressed.sentence  # type: ignore[union-attr]
        assert await bench.waits(asked)
        assert (await bench.answer(asked, "", reply=DENY)).outcome is AnswerOutcome.ACCEPTED
        plain = await bench.ask(step_up=False)
        assert (await bench.answer(plain, "")).outcome is AnswerOutcome.ACCEPTED


@pytest.mark.parametrize("steps", [-3, 3])
async def test_an_expired_code_proves_nothing(tmp_path: Path, steps: int) -> None:
    """Nor one that no clock shows yet; the current one does."""
    async with _bench(tmp_path) as bench:
        asked = await bench.ask()
        refused = await bench.answer(asked, await bench.code("ana", steps))
        assert (refused.outcome, await bench.waits(asked)) == (AnswerOutcome.NOT_PROVEN, True)
        done = await bench.answer(asked, await bench.code("ana"))
        assert done.outcome is AnswerOutcome.ACCEPTED


async def test_another_persons_code_proves_nothing(tmp_path: Path) -> None:
    """Bo's code is Bo's, and worth nothing for Ana's account."""
    async with _bench(tmp_path) as bench:
        asked, code = await bench.ask(), await bench.code("bo")
        refused = await bench.answer(asked, code)
        assert (refused.outcome, await bench.waits(asked)) == (AnswerOutcome.NOT_PROVEN, True)
        assert (await bench.answer(asked, code, BO)).outcome is AnswerOutcome.ACCEPTED


async def test_a_code_counts_once(tmp_path: Path) -> None:
    """Within its window, for another question, and for an earlier code after a later one."""
    async with _bench(tmp_path) as bench:
        first, second = await bench.ask(), await bench.ask()
        early, code = await bench.code("ana"), await bench.code("ana", 1)
        assert (await bench.answer(first, code)).outcome is AnswerOutcome.ACCEPTED
        for used in (code, early):
            again = await bench.answer(second, used)
            assert (again.outcome, "was used" in again.sentence) == (AnswerOutcome.NOT_PROVEN, True)
        assert await bench.waits(second)
        assert await bench.store.read(proofs.of_approval, second) == ()


async def test_of_answers_at_the_same_moment_one_is_proven(tmp_path: Path) -> None:
    """One code for eight questions allows one of them."""
    async with _bench(tmp_path) as bench:
        asked = [await bench.ask() for _ in range(MOST_TRIES)]
        code = await bench.code("ana")
        done = await asyncio.gather(*(bench.answer(one, code) for one in asked))
        waiting = [await bench.waits(one) for one in asked]

    assert [one.outcome for one in done].count(AnswerOutcome.ACCEPTED) == 1
    assert waiting.count(False) == 1


async def test_tries_are_few(tmp_path: Path) -> None:
    """After five wrong codes not even the right one is checked, and denying still counts."""
    async with _bench(tmp_path) as bench:
        asked = await bench.ask()
        right = await bench.code("ana")
        wrong = f"{(int(right) + 500_000) % 1_000_000:06}"
        for _ in range(MOST_TRIES):
            assert "is not the code" in (await bench.answer(asked, wrong)).sentence
        locked = await bench.answer(asked, right)
        assert "too many codes" in locked.sentence
        assert await bench.waits(asked)
        assert (await bench.answer(asked, right, BO)).outcome is AnswerOutcome.NOT_PROVEN
        own = await bench.answer(asked, await bench.code("bo"), BO)
        assert own.outcome is AnswerOutcome.ACCEPTED  # the control: it is Ana's codes that wait


async def test_each_of_several_proves_it(tmp_path: Path) -> None:
    """A vote without a code is not counted, and each proof is kept."""
    async with _bench(tmp_path, quorum=2) as bench:
        asked = await bench.ask(quorum=2)
        assert (await bench.answer(asked, "", typed=True)).outcome is AnswerOutcome.NOT_PROVEN
        one = await bench.answer(asked, await bench.code("ana"))
        two = await bench.answer(asked, await bench.code("bo"), BO)
        kept = await bench.store.read(proofs.of_approval, asked)

    assert [one.outcome, two.outcome] == [AnswerOutcome.COUNTED, AnswerOutcome.ACCEPTED]
    assert sorted(proof.person for proof in kept) == ["ana", "bo"]


async def test_without_an_app_the_typed_code_counts(tmp_path: Path) -> None:
    """A code from nowhere is not a typed word."""
    async with _bench(tmp_path) as bench:
        asked = await bench.ask()
        code = await bench.code("ana")
        await bench.store.write(totp_keys.remove, "ana")
        assert (await bench.answer(asked, code)).outcome is AnswerOutcome.NOT_TYPED
        assert (await bench.answer(asked, "", typed=True)).outcome is AnswerOutcome.ACCEPTED


async def test_an_app_that_is_enrolled_in_between_holds(tmp_path: Path) -> None:
    """The decision checks again in its own transaction, and refuses what carries no code."""
    async with _bench(tmp_path) as bench:
        asked = await bench.ask()
        refused = await bench.store.write(
            approvals.answer, approvals.Ballot(asked, ONCE, ANA, None)
        )
        assert refused is not None
        assert (refused.won, refused.refused) == (False, "changed")
        assert await bench.waits(asked)
        await bench.store.write(totp_keys.remove, "ana")
        won = await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ANA, None))
        assert won is not None
        assert won.won


async def test_with_the_key_lost_no_code_counts(tmp_path: Path) -> None:
    """It says what to do; typed words do not count instead; with the key back, the code does."""
    async with _bench(tmp_path) as bench:
        asked, code = await bench.ask(), await bench.code("ana")
        (tmp_path / SEALING_KEY).rename(tmp_path / "elsewhere")
        for typed in (False, True):
            lost = await bench.answer(asked, code, typed=typed)
            assert lost.outcome is AnswerOutcome.NOT_PROVEN
            assert "sayso people forget-totp ana" in lost.sentence
        Seals(tmp_path / SEALING_KEY).seal("another", "key")
        assert "is lost" in (await bench.answer(asked, code)).sentence
        (tmp_path / "elsewhere").rename(tmp_path / SEALING_KEY)
        assert (await bench.answer(asked, code)).outcome is AnswerOutcome.ACCEPTED


async def test_a_secret_moved_to_another_row_opens_nothing(tmp_path: Path) -> None:
    """A writer of the database cannot give Ana their own app; the control: her own row."""
    async with _bench(tmp_path) as bench:
        asked = await bench.ask()
        bos = await bench.store.read(totp_keys.key_of, "bo")
        assert bos is not None
        await bench.store.write(totp_keys.enrol, "ana", bos.secret, "uid:0")
        code = await bench.code("bo")
        assert (await bench.answer(asked, code)).outcome is AnswerOutcome.NOT_PROVEN
        assert (await bench.answer(asked, code, BO)).outcome is AnswerOutcome.ACCEPTED


@pytest.mark.parametrize("by_passkey", [False, True])
async def test_what_is_forgotten_in_between_proves_nothing(
    tmp_path: Path, *, by_passkey: bool
) -> None:
    """The decision checks again, and rejects an answer checked by what is gone; typed counts."""
    async with _bench(tmp_path) as bench:
        asked = await bench.ask()
        await bench.store.write(totp_keys.remove, "ana")
        spent = PasskeySpend("gone", 1, "0" * 32, "about", "{}")
        proof = (None, spent) if by_passkey else (7, None)
        refused = await bench.store.write(
            approvals.answer, approvals.Ballot(asked, ONCE, ANA, None, "", None, None, None, *proof)
        )
        assert refused is not None
        assert (refused.won, refused.refused) == (False, AnswerRefusal.CHANGED)
        assert await bench.waits(asked)
        assert (await bench.answer(asked, "", typed=True)).outcome is AnswerOutcome.ACCEPTED
