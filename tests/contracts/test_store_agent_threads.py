"""State what every engine must do with agents' threads: bring each message up to date."""

import pytest

from core.model.identity import AgentId, ApprovalId, Target
from core.store import outbox, prune
from core.store.engine.clock import now_ms
from core.store.outbox import agent_messages
from core.store.outbox.agent_messages import AgentMessage, message_of
from core.store.runs import runs
from core.store.schema.records import OutboxItem
from core.store.schema.states import OutboxKind
from core.store.sessions import agent_threads
from core.store.sessions.agent_threads import AgentThread
from tests.support.store_records import run_draft
from tests.support.stores import OpenStore

ROOM, THREAD = Target("telegram", "7"), Target("telegram", "7", thread="1")
MADE = AgentThread("chat\x1ft:1", AgentId("main"), "telegram:42", ROOM)
DAY = 86_400_000


async def _begin(bench: OpenStore, made: AgentThread = MADE) -> None:
    assert await bench.store.write(agent_threads.create, made)
    await bench.store.write(agent_threads.place_in, made.key, THREAD, "9")


async def _show(bench: OpenStore, *texts: str, ended: bool = False, key: str = MADE.key) -> bool:
    messages = [AgentMessage("head", text) for text in texts]
    return await bench.store.write(agent_messages.show, key, messages, ended=ended)


async def _claim(bench: OpenStore) -> list[OutboxItem]:
    return list(await bench.store.write(outbox.claim, 10, 5_000, ("telegram",)))


def _text(item: OutboxItem) -> str:
    return message_of(item.payload)[0].text


async def _sent(bench: OpenStore, item: OutboxItem, message: str = "m1") -> None:
    await bench.store.write(agent_messages.confirm, item.id, item.payload, message)


async def test_a_prompt_is_remembered_once_and_placed_once(bench: OpenStore) -> None:
    """A redelivery is not a second prompt; the first place counts."""
    await _begin(bench)
    assert not await bench.store.write(agent_threads.create, MADE)
    await bench.store.write(agent_threads.place_in, MADE.key, ROOM)

    (found,) = await bench.store.read(agent_threads.not_ended)
    assert (found.key, found.account, found.place, found.thread) == (
        MADE.key,
        "telegram:42",
        ROOM,
        THREAD,
    )


async def test_what_waits_is_changed_and_what_is_shown_is_edited(bench: OpenStore) -> None:
    """One message and one edit of it, however often more is said."""
    await _begin(bench)
    await _show(bench, "a")
    await _show(bench, "ab")
    (first,) = await _claim(bench)
    assert (first.kind, first.target, _text(first)) == (OutboxKind.AGENT, THREAD, "ab")
    assert message_of(first.payload)[1] == "9"
    await _sent(bench, first)
    await _show(bench, "ab")
    assert await _claim(bench) == []
    await _show(bench, "abc")
    await _show(bench, "abcd")
    (edit,) = await _claim(bench)
    assert (edit.kind, edit.message, _text(edit)) == (OutboxKind.EDIT, "m1", "abcd")
    await _sent(bench, edit)
    await _show(bench, "abcd", "e", ended=True)
    (second,) = await _claim(bench)
    assert (second.kind, _text(second)) == (OutboxKind.AGENT, "e")


@pytest.mark.parametrize("shown", [False, True], ids=["a first showing", "an edit"])
async def test_what_changes_while_it_is_sent_is_shown_next(
    bench: OpenStore, *, shown: bool
) -> None:
    """The ending is not lost behind what was being sent."""
    await _begin(bench)
    await _show(bench, "a")
    (item,) = await _claim(bench)
    if shown:
        await _sent(bench, item)
        await _show(bench, "ab")
        (item,) = await _claim(bench)
    await _show(bench, "abc", ended=True)
    assert await _claim(bench) == []
    await _sent(bench, item)
    (edit,) = await _claim(bench)
    assert (edit.kind, edit.message, _text(edit)) == (OutboxKind.EDIT, "m1", "abc")
    await _sent(bench, edit)
    assert await _claim(bench) == []


async def test_an_ended_thread_stays_as_it_is(bench: OpenStore) -> None:
    """A slower gateway on the same store changes nothing; nor does an unknown thread."""
    await _begin(bench)
    assert await _show(bench, "a", ended=True)
    assert not await _show(bench, "b")
    assert not await _show(bench, "b", key="unknown")
    (item,) = await _claim(bench)
    assert _text(item) == "a"
    assert await bench.store.read(agent_threads.not_ended) == ()
    assert await bench.store.read(agent_messages.shown, MADE.key) == (AgentMessage("head", "a"),)


async def test_what_may_have_arrived_is_sent_again_and_a_notice_is_not(bench: OpenStore) -> None:
    """A second copy of an agent's words is harmless, a lost ending is not."""
    await _begin(bench)
    await _show(bench, "a", ended=True)
    await bench.store.write(outbox.enqueue_notice, None, ROOM, "{}", "digest:1")
    assert len(await _claim(bench)) == 2
    await bench.advance(6_000)
    (again,) = await _claim(bench)
    assert (again.kind, _text(again)) == (OutboxKind.AGENT, "a")


async def test_fewer_messages_than_before_leave_no_old_words(bench: OpenStore) -> None:
    """What was masked later is shorter: the last message keeps only the first line."""
    await _begin(bench)
    await _show(bench, "a", "b")
    await _show(bench, "x", ended=True)

    assert [_text(item) for item in await _claim(bench)] == ["x", ""]


async def test_the_thread_of_a_run_is_found_by_its_request(bench: OpenStore) -> None:
    """It is where people are asked about its tool calls; any other run has none."""
    await _begin(bench)
    draft = run_draft(key=MADE.key)
    assert await bench.store.write(runs.begin, draft)

    assert await bench.store.read(agent_threads.thread_of, draft.id) == THREAD
    assert await bench.store.read(agent_threads.thread_of, ApprovalId("other")) is None


async def test_old_threads_are_forgotten_with_their_messages(bench: OpenStore) -> None:
    """Only those that ended, and with all of their items."""
    await _begin(bench)
    await _show(bench, "a", ended=True)
    (item,) = await _claim(bench)
    await _sent(bench, item)
    await bench.store.write(agent_threads.create, AgentThread("open", *_rest(MADE)))
    await bench.advance(40 * DAY)
    await bench.store.write(prune, await bench.store.read(now_ms) - DAY)

    assert await bench.store.read(agent_messages.shown, MADE.key) == ()
    assert [one.key for one in await bench.store.read(agent_threads.not_ended)] == ["open"]


def _rest(made: AgentThread) -> tuple[AgentId, str, Target]:
    return made.agent, made.account, made.place
