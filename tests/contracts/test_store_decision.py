"""State what every engine must hand out with a decision: its edits, to one sender only."""

from core.model.identity import ApprovalId
from core.store import approvals, outbox
from core.store.decision import FindAndAnswer, answer
from core.store.outbox import CLAIM_MS
from core.store.schema.records import ShownApproval, StoredAnswer
from tests.support.store_records import ALICE, BOB, DENY, GROUP, ONCE, PAGE, draft
from tests.support.stores import OpenStore

_CHANNELS = ("telegram", "terminal")
_CLAIM = (10, 30_000, _CHANNELS)


async def _decide(bench: OpenStore, asked: ApprovalId, channels: tuple[str, ...]) -> StoredAnswer:
    ballot = approvals.Ballot(asked, ONCE, ALICE, "in:1", channels=channels)
    decided = await bench.store.write(answer, ballot)
    assert decided is not None
    return decided


async def test_a_decision_hands_out_its_edits_once(bench: OpenStore) -> None:
    """Those of the named channels are claimed, with what they show; the others wait as usual."""
    asked = await bench.ask(draft(targets=(GROUP, PAGE)))
    await bench.send_all()
    decided = await _decide(bench, asked, ("telegram",))
    (edit,) = decided.edits
    (other,) = await bench.store.write(outbox.claim, *_CLAIM)

    assert (GROUP, PAGE) == (edit.target, other.target)
    assert (ShownApproval(decided.approval, None),) == edit.shows
    assert () == other.shows
    assert decided.approval == await bench.store.read(approvals.get, asked)


async def test_what_a_dead_sender_had_is_handed_out_again(bench: OpenStore) -> None:
    """An edit that was not sent within its claim is due again, and is sent in the end."""
    asked = await bench.ask()
    await bench.send_all()
    (edit,) = (await _decide(bench, asked, _CHANNELS)).edits
    early = await bench.store.write(outbox.claim, *_CLAIM)
    await bench.advance(CLAIM_MS + 1_000)
    (again,) = await bench.store.write(outbox.claim, *_CLAIM)
    await bench.store.write(outbox.sent, again.id, "")

    assert () == early
    assert (edit.id, edit.message) == (again.id, again.message)
    assert 0 == await bench.store.read(outbox.open_surfaces)


async def test_a_message_with_several_prompts_is_read_when_it_is_sent(bench: OpenStore) -> None:
    """What the others show may change until then, so it is not handed out."""
    first, second = draft(), draft()
    for one in (first, second):
        await bench.ask(one)
    items = await bench.store.write(outbox.claim, *_CLAIM)
    await bench.store.write(outbox.sent_group, tuple(item.id for item in items), "m1")
    (edit,) = (await _decide(bench, first.id, _CHANNELS)).edits

    assert ("m1", ()) == (edit.message, edit.shows)


async def test_a_denial_shows_why(bench: OpenStore) -> None:
    """What an edit shows of a denied question is its outcome, as everywhere."""
    asked = await bench.ask()
    await bench.send_all()
    ballot = approvals.Ballot(asked, DENY, ALICE, "in:1", "wrong branch", channels=_CHANNELS)
    decided = await bench.store.write(answer, ballot)
    assert decided is not None
    (shown,) = decided.edits[0].shows

    assert shown.outcome is not None
    assert "wrong branch" in shown.outcome.why  # type: ignore[union-attr]


async def test_an_answer_that_loses_hands_out_nothing(bench: OpenStore) -> None:
    """The edits belong to the gateway that decided."""
    asked = await bench.ask()
    await bench.send_all()
    await bench.store.write(approvals.answer, approvals.Ballot(asked, DENY, BOB, "in:0"))
    decided = await _decide(bench, asked, _CHANNELS)

    assert not decided.won
    assert () == decided.edits
    assert 1 == len(await bench.store.write(outbox.claim, *_CLAIM))


async def test_who_is_not_authorised_changes_nothing(bench: OpenStore) -> None:
    """What the judge returns instead of a ballot is returned; with a ballot it is decided."""
    asked = await bench.ask()
    await bench.send_all()
    seen: list[approvals.ResolvedReference] = []

    def refuse(meant: approvals.ResolvedReference) -> str:
        seen.append(meant)
        return "no"

    refused = await bench.store.write(FindAndAnswer(refuse), asked, ALICE)
    waiting = await bench.store.read(approvals.get, asked)
    allowing: FindAndAnswer[str] = FindAndAnswer(
        lambda meant: approvals.Ballot(
            meant.approvals[0].id, ONCE, ALICE, "in:1", channels=_CHANNELS
        )
    )
    decided = await bench.store.write(allowing, asked, ALICE)

    assert "no" == refused
    assert (waiting,) == seen[0].approvals
    assert waiting is not None
    assert waiting.resolution is None
    assert isinstance(decided, StoredAnswer)
    assert decided.won
    assert 1 == len(decided.edits)


async def test_a_sender_is_woken_only_where_an_edit_is_left_for_it(bench: OpenStore) -> None:
    """The others are already in the caller's hands."""
    woken = []
    for channels in (_CHANNELS, ("telegram",)):
        asked = await bench.ask(draft(targets=(GROUP, PAGE)))
        await bench.send_all()
        bench.notes.clear()
        await _decide(bench, asked, channels)
        assert f"approval:{asked}" in bench.notes
        woken.append("outbox" in bench.notes)

    assert [False, True] == woken
