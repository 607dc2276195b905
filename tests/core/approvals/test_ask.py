"""Check to whom a question is put, and what happens if no one can be asked."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from core.approvals.ask import Asking
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.forwarding import (
    NO_FALLBACK,
    EscalationStep,
    Fallback,
    Forwarding,
    Timing,
)
from core.approvals.routing.quiet_hours import QuietHours
from core.approvals.routing.tiers import TierTerms, tiers_of
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.command import ExecRequest
from core.model.decision import DenialReason, Tier
from core.model.identity import Actor, AgentId, Intake, Requester, Target
from core.settings.approvals import ForwardMode, TiersSection
from core.store import Store, open_store, outbox
from core.store.people import pairing, people
from core.store.schema.records import Created
from core.store.sessions import origins
from tests.support.store_records import ASKER, SESSION, evaluation, plan

ROOM, CHIEF = Target("telegram", "-1001"), Target("slack", "U1")
NIGHT = QuietHours(time(22), time(7), ZoneInfo("Europe/Berlin"))
MIDNIGHT = round(datetime(2026, 5, 4, 22, tzinfo=UTC).timestamp() * 1000)
NOON = MIDNIGHT + 12 * 3_600_000
EVERYBODY = Approvers({"telegram": frozenset({"42"}), "slack": frozenset({"U1"})})


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Yield an empty store."""
    made = await open_store(f"sqlite:///{tmp_path / 'state.db'}")
    yield made
    await made.close()


def _asking(
    store: Store,
    forwarding: Forwarding,
    people: Approvers = EVERYBODY,
    *,
    now: int = NOON,
) -> Asking:
    return Asking(
        store,
        people,
        forwarding,
        Timing(600_000, 300_000),
        reachable=lambda place: place.channel != "discord",
        local="terminal",
        now=lambda: now,
    )


async def _open(
    asking: Asking, *, fallback: Fallback = NO_FALLBACK, origin: Target | None = None
) -> Approval:
    request = ExecRequest(requester=ASKER, session=SESSION, cwd="/", line="x", origin=origin)
    asked = await asking.open(request, plan(), evaluation(), fallback)
    assert isinstance(asked, Created)
    return asked.approval


async def _places(store: Store) -> list[Target]:
    items = await store.write(outbox.claim, 10, 1_000, ("telegram", "slack", "discord"))
    return [item.target for item in items]


async def test_the_remembered_chat_is_asked_where_the_request_names_none(store: Store) -> None:
    """A request over the socket goes to the chat that its session came from."""
    rules = Forwarding(True, ForwardMode.SESSION, ())
    unknown = await _open(_asking(store, rules))
    assert unknown.resolution is not None
    assert unknown.resolution.reason is DenialReason.NO_ROUTE
    await store.write(origins.remember_origin, SESSION, ROOM)
    asked = await _open(_asking(store, rules))
    assert (asked.resolution, asked.origin) == (None, ROOM)
    other = await _open(_asking(store, rules), origin=CHIEF)
    assert other.origin == CHIEF
    assert await _places(store) == [ROOM, CHIEF]


async def test_a_ladder_becomes_prompts_with_their_times(store: Store) -> None:
    """The store has all steps; the time of the question is that of all of them."""
    steps = (
        EscalationStep((ROOM,), False, 60_000),
        EscalationStep((CHIEF,), False, 120_000, 50_000),
    )
    asked = await _open(_asking(store, Forwarding(True, ForwardMode.SESSION, (), steps=steps)))
    assert asked.deadline_ms - asked.created_ms == 180_000
    assert await _places(store) == [ROOM]
    assert await store.read(outbox.next_due) is not None


@pytest.mark.parametrize("state", [ApprovalState.DENIED, ApprovalState.ALLOWED])
async def test_nobody_is_woken(store: Store, state: ApprovalState) -> None:
    """Without a waking step the fallback decides at once, and says until when that lasts."""
    rules = Forwarding(True, ForwardMode.TARGETS, (ROOM,), quiet=NIGHT)
    fallback = Fallback(state, "nobody could be asked")
    ended = (await _open(_asking(store, rules, now=MIDNIGHT), fallback=fallback)).resolution
    assert ended is not None
    allowed = state is ApprovalState.ALLOWED
    assert (ended.state, ended.reply) == (state, ApprovalReply(("deny", "allow-once")[allowed]))
    assert ended.note.endswith("nobody could be asked: quiet hours until 07:00 Europe/Berlin")
    assert (await _open(_asking(store, rules, now=NOON))).resolution is None


async def test_people_of_this_machine_are_not_woken_by_a_list(store: Store) -> None:
    """A person who looks at the list may answer at night as well."""
    rules = Forwarding(True, ForwardMode.TARGETS, (ROOM,), quiet=NIGHT)
    people = Approvers({"telegram": frozenset({"42"}), "terminal": frozenset({"uid:0"})})
    asked = await _open(_asking(store, rules, people, now=MIDNIGHT))
    assert asked.resolution is None
    assert asked.delivered_ms == asked.created_ms
    assert await _places(store) == []


async def test_places_without_a_channel_or_an_approver_are_not_asked(store: Store) -> None:
    """A channel that does not run here, and one on which no one may answer for this agent."""
    places = (Target("discord", "1"), ROOM, CHIEF)
    people = Approvers(
        {"telegram": frozenset({"42"}), "discord": frozenset({"7"})},
        by_agent={AgentId("main"): frozenset({"slack:U1"})},
    )
    await _open(_asking(store, Forwarding(True, ForwardMode.TARGETS, places), people))
    assert await _places(store) == [CHIEF]


async def test_the_agents_quorum_is_kept_with_the_question(store: Store) -> None:
    """Later configuration does not change a question that is asked."""
    rules = Forwarding(True, ForwardMode.TARGETS, (ROOM,))
    people = Approvers({"telegram": frozenset({"42", "43"})}, quorum=2)
    assert (await _open(_asking(store, rules, people))).quorum == 2


async def test_a_tier_asks_for_more_people_and_another_time(store: Store) -> None:
    """A critical question has its own quorum and deadline; a routine one those of all."""
    section = TiersSection.model_validate(
        {"critical": {"quorum": 2, "timeout": 30, "stepUp": True}}
    )
    rules = Forwarding(True, ForwardMode.TARGETS, (ROOM,))
    asking = replace(_asking(store, rules), tiers=tiers_of(section))
    request = ExecRequest(requester=ASKER, session=SESSION, cwd="/", line="x")
    for tier, quorum, answer_ms, step_up in (
        (Tier.CRITICAL, 2, 30_000, True),
        (Tier.ELEVATED, 1, 600_000, False),
        (Tier.ROUTINE, 1, 600_000, False),
    ):
        routine = evaluation()
        heavy = replace(routine, segments=(replace(routine.segments[0], tier=tier),))
        made = await asking.open(request, plan(), heavy, NO_FALLBACK)
        assert isinstance(made, Created)
        asked = made.approval
        assert (asked.quorum, asked.deadline_ms - asked.created_ms) == (quorum, answer_ms), tier
        assert asked.step_up is step_up, tier


def test_a_tier_never_needs_fewer_people_than_others_do() -> None:
    """If the agent or all need more, the tier does not lower it."""
    assert [TierTerms(2).needed(3), TierTerms(2).needed(1), TierTerms().needed(3)] == [3, 2, 3]


IN_CHAT = Requester(Intake.CHAT, "telegram:42")
ONLY_ANA = Approvers({"telegram": frozenset({"42"})})


async def _asked_by(asking: Asking, requester: Requester, fallback: Fallback) -> Approval:
    request = ExecRequest(requester=requester, session=SESSION, cwd="/", line="x", origin=ROOM)
    asked = await asking.open(request, plan(), evaluation(), fallback)
    assert isinstance(asked, Created)
    return asked.approval


@pytest.mark.parametrize("state", [ApprovalState.DENIED, ApprovalState.ALLOWED])
async def test_a_requester_is_no_one_to_ask(store: Store, state: ApprovalState) -> None:
    """Denied at once, whatever askFallback says: that is for outages, and no one is away."""
    asking = _asking(store, Forwarding(True, ForwardMode.SESSION, ()), ONLY_ANA)
    ended = (await _asked_by(asking, IN_CHAT, Fallback(state, "nobody is there"))).resolution
    assert ended is not None
    assert ended.state is ApprovalState.DENIED
    assert ended.reason is DenialReason.NO_ROUTE
    assert "telegram:42 requested this and is the only approver" in ended.note
    assert await _places(store) == []


async def test_where_nobody_is_listed_the_fallback_decides(store: Store) -> None:
    """The requester changes nothing if there is no route at all."""
    asking = _asking(store, Forwarding(True, ForwardMode.SESSION, ()), Approvers({}))
    fallback = Fallback(ApprovalState.ALLOWED, "nobody is there")
    ended = (await _asked_by(asking, IN_CHAT, fallback)).resolution
    assert ended is not None
    assert (ended.state, ended.note) == (ApprovalState.ALLOWED, "nobody is there")


async def test_a_requester_is_asked_about_elsewhere(store: Store) -> None:
    """A place with another approver is asked; on all accounts of the person it is the same one."""
    rules = Forwarding(True, ForwardMode.TARGETS, (ROOM, CHIEF))
    assert (await _asked_by(_asking(store, rules), IN_CHAT, NO_FALLBACK)).resolution is None
    assert await _places(store) == [CHIEF]
    await store.write(people.add, "ana")
    for account in (Actor("telegram", "42"), Actor("slack", "U1")):
        begun = await store.write(pairing.begin, "ana")
        assert begun is not None
        await store.write(pairing.pair, begun.code, account)
    ended = (await _asked_by(_asking(store, rules), IN_CHAT, NO_FALLBACK)).resolution
    assert ended is not None
    assert ended.state is ApprovalState.DENIED


async def test_whoever_is_listed_as_a_group_may_be_another(store: Store) -> None:
    """It is not known who is in a group, so it is asked."""
    group = Approvers({"telegram": frozenset({"42", "group:ops"})})
    asking = _asking(store, Forwarding(True, ForwardMode.SESSION, ()), group)
    assert (await _asked_by(asking, IN_CHAT, NO_FALLBACK)).resolution is None
