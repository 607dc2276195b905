"""State what every engine must do with what people set for a session."""

from core.model.command import ExecOverrides
from core.model.identity import Actor, SessionKey
from core.model.policy import ExecAsk, ExecHost, ExecSecurity
from core.store.engine import replicas
from core.store.sessions import origins, overrides
from tests.support.store_records import ALICE, BOB, GROUP
from tests.support.stores import OpenStore

CHAT = SessionKey("telegram:-1001")
FULL = ExecOverrides(ExecHost.GATEWAY, ExecSecurity.FULL, ExecAsk.OFF)


async def test_what_is_set_is_read_back_with_who_and_when(bench: OpenStore) -> None:
    """The last one counts; what a platform said about groups is not kept."""
    await bench.store.write(overrides.put, CHAT, FULL, ALICE)
    grouped = Actor(BOB.channel, BOB.account, BOB.name, frozenset({"role:9"}))
    await bench.store.write(overrides.put, CHAT, ExecOverrides(node="n1"), grouped)

    settings = await bench.store.read(overrides.get, CHAT)

    assert settings is not None
    assert (ExecOverrides(node="n1"), BOB) == (settings.overrides, settings.by)
    assert settings.at_ms > 0
    assert await bench.store.read(overrides.get, SessionKey("other")) is None


async def test_clearing_leaves_the_sessions_chat(bench: OpenStore) -> None:
    """Origin and settings share a row, and neither removes the other."""
    await bench.store.write(overrides.put, CHAT, FULL, ALICE)
    await bench.store.write(origins.remember_origin, CHAT, GROUP)
    both = await bench.store.read(overrides.get, CHAT)

    assert both is not None
    assert FULL == both.overrides
    assert await bench.store.write(overrides.clear, CHAT)
    assert not await bench.store.write(overrides.clear, CHAT)
    assert await bench.store.read(overrides.get, CHAT) is None
    assert GROUP == await bench.store.read(origins.origin_of, CHAT)


async def test_every_change_wakes_the_readers(bench: OpenStore) -> None:
    """A reader that keeps a copy is told of each change, and whether it may keep one."""
    bench.notes.clear()
    await bench.store.write(overrides.put, CHAT, FULL, ALICE)
    every = await bench.store.read(overrides.every)
    await bench.store.write(overrides.clear, CHAT)

    assert 2 == bench.notes.count(overrides.CHANGED)
    assert [CHAT] == list(every.sessions)
    assert (bench.engine == "sqlite") == every.alone


async def test_a_gateway_that_starts_alone_forgets_what_the_last_one_was_told(
    bench: OpenStore,
) -> None:
    """Settings last as long as the gateways do; a second replica removes nothing."""
    await bench.store.write(overrides.put, CHAT, FULL, ALICE)
    await bench.store.write(origins.remember_origin, CHAT, GROUP)
    await bench.store.write(replicas.heartbeat, "other", 60_000)
    beside = await bench.store.write(overrides.begin, "new")
    await bench.store.write(replicas.leave, "other")
    await bench.store.write(replicas.heartbeat, "new", 60_000)
    await bench.store.write(overrides.begin, "new")

    assert (1 if bench.engine == "sqlite" else 0) == beside  # SQLite: its lock proves us alone
    assert await bench.store.read(overrides.get, CHAT) is None
    assert GROUP == await bench.store.read(origins.origin_of, CHAT)
