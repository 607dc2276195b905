"""Check every part in health, ask platforms seldom, and notice clocks that jump."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.gate_proof.prover import Proof, ProofState
from bot.health.check import Finding, Kept
from bot.health.gate import GateProbe
from bot.health.probes import ClockProbe
from bot.health.report import Health
from bot.health.store import disk
from bot.jobs.scheduler import Clock
from bot.settings import load
from channels.base import Health as ChannelHealth
from channels.memory import MemoryChannel
from core.errors import ChannelError
from tests.bot.gate_proof.proving import Proving, proving
from tests.support.clock_work import Work
from tests.support.waiting import until


@dataclass
class Asked(MemoryChannel):
    """A channel that counts how often its platform is asked, and can be down."""

    asked: int = 0
    down: bool = False

    async def check(self) -> ChannelHealth:
        """Count."""
        self.asked += 1
        if self.down:
            raise ChannelError("the platform is down")
        return ChannelHealth(True, "listening")


def health_of(world: Proving, channel: MemoryChannel, gate: GateProbe | None = None) -> Health:
    """Return the health of a gate with one channel."""
    settings = load(world.home, environ={})
    return Health(world.gate.store, {"memory": channel}, settings, "boot-1", gate)


async def test_every_part_is_looked_at(tmp_path: Path) -> None:
    """Names, verdicts and words; the earlier keys still exist."""
    async with proving(tmp_path) as world:
        health = health_of(world, MemoryChannel(), GateProbe(world.prover, 900))
        await world.states()
        report = await health.report()

    parts = report["parts"]
    assert isinstance(parts, dict)
    assert {"ok", "pid", "parts", "openSurfaces", "gateProofs", "lockdown"} == set(report)
    assert [
        "store",
        "disk",
        "clock",
        "clock store",
        "channel memory",
        "lockdown",
        "gate proof socket",
        "gate proof chat",
        "gate proof tool",
    ] == list(parts)
    assert {"channel memory": "not started"} == {
        name: part["detail"] for name, part in parts.items() if not part["ok"]
    }
    assert " ms" in parts["store"]["detail"]
    assert "8 MiB kept for denials" in parts["disk"]["detail"]
    assert report["lockdown"] is None
    assert ["socket", "chat", "tool"] == list(report["gateProofs"])  # type: ignore[call-overload]


async def test_platforms_are_asked_once_a_minute(tmp_path: Path) -> None:
    """Twenty reports at once, or one after the other, ask once."""
    async with proving(tmp_path) as world:
        channel = Asked()
        health = health_of(world, channel)
        await asyncio.gather(*(health.report() for _ in range(10)))
        for _ in range(10):
            assert (await health.report())["ok"]

    assert 1 == channel.asked


async def test_a_platform_that_fails_is_a_part_that_fails(tmp_path: Path) -> None:
    """Not an exception; the others are still reported."""
    async with proving(tmp_path) as world:
        report = await health_of(world, Asked(down=True)).report()

    assert not report["ok"]
    assert {"ok": False, "detail": "the platform is down"} == report["parts"]["channel memory"]  # type: ignore[index]


async def test_a_closed_store_is_a_part_that_fails(tmp_path: Path) -> None:
    """It accepts no write, and the report is still made."""
    async with proving(tmp_path) as world:
        health = health_of(world, MemoryChannel())
        await world.gate.store.close()
        report = await health.report()

    assert not report["parts"]["store"]["ok"]  # type: ignore[index]
    assert -1 == report["openSurfaces"]


@dataclass
class Seen:
    """A part that can change."""

    ok: bool = True
    looks: int = 0

    async def __call__(self) -> Sequence[Finding]:
        """Check it."""
        self.looks += 1
        return [Finding.when(self.ok, "thing", "seen")]


async def test_what_is_bad_is_looked_at_sooner() -> None:
    """A recovery shows soon, and good news is cached."""
    seen = Seen(ok=False)
    kept = Kept(seen, good_s=60, bad_s=0.05)
    await kept()
    await asyncio.sleep(0.06)
    seen.ok = True
    await kept()
    await asyncio.sleep(0.06)
    await kept()

    assert 2 == seen.looks


@dataclass
class Clocks:
    """Two clocks that a test sets."""

    wall_s: float = 1_700_000_000.0
    steady_s: float = 50.0
    probe: ClockProbe = field(init=False)

    def __post_init__(self) -> None:
        """Start checking them."""
        self.probe = ClockProbe(lambda: self.wall_s, lambda: self.steady_s)

    def after(self, wall_s: float, steady_s: float) -> Finding:
        """Advance both and check."""
        self.wall_s += wall_s
        self.steady_s += steady_s
        return self.probe()


@pytest.mark.parametrize("jump_s", [-3_600.0, 5.0])
def test_a_wall_clock_that_jumps_is_told_for_a_while(jump_s: float) -> None:
    """Ten minutes long; a clock that NTP slews does not jump."""
    clocks = Clocks()

    assert clocks.after(10.01, 10.0).ok
    told = clocks.after(10.0 + jump_s, 10.0)
    assert not told.ok
    assert f"{jump_s:+.1f} s" in told.detail
    assert not clocks.after(10.0, 10.0).ok
    assert clocks.after(600.0, 600.0).ok


def test_a_home_that_is_gone_has_no_room(tmp_path: Path) -> None:
    """Recorded, not raised."""
    assert disk(tmp_path).ok
    assert not disk(tmp_path / "gone").ok
    none_free = disk(Path("/proc"))
    assert not none_free.ok
    assert none_free.detail == "0 MiB free; below 64 MiB is too little: free some space"


async def test_a_proof_that_is_late_or_failed_shows(tmp_path: Path) -> None:
    """Not yet proved is fine for half a minute; a round that never comes is not."""
    async with proving(tmp_path) as world:
        probe = GateProbe(world.prover, 60)

        async def found() -> dict[str, Finding]:
            return {one.subject: one for one in await probe()}

        early = (await found())["gate proof socket"]
        probe._since -= 31
        late = (await found())["gate proof socket"]
        now_ms = time.time_ns() // 1_000_000
        parts = []
        for state, age_s in (("held", 100), ("held", 300), ("ran", 1), ("incomplete", 1)):
            at_ms = now_ms - age_s * 1000
            proof = Proof("socket", ProofState(state), "words", at_ms, 3)
            world.prover.last["socket"] = proof
            parts.append((await found())["gate proof socket"].ok)
        world.gate.execution.guard.lockdown.engage("why", by="ana")
        locked = (await found())["lockdown"]

    assert (True, False) == (early.ok, late.ok)
    assert [True, False, False, False] == parts
    assert not locked.ok
    assert "why" in locked.detail


async def test_what_is_wrong_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A check runs every ten seconds; the log has it when something else is wrong."""
    async with proving(tmp_path) as world:
        health = health_of(world, MemoryChannel())
        for _ in range(3):
            await health.watch()

    assert 1 == sum("not started" in record.getMessage() for record in caplog.records)


async def test_the_clock_repeats_what_it_is_told() -> None:
    """Again and again, also after a failure, and never twice at a time."""
    times: list[float] = []
    under_way = 0

    async def job() -> None:
        nonlocal under_way
        under_way += 1
        times.append(under_way)
        await asyncio.sleep(0.15)
        under_way -= 1
        if len(times) == 1:
            raise RuntimeError("once")

    clock = Clock(Work())
    clock.start()
    clock.repeat("job", 0.1, job)
    await until(lambda: len(times) >= 3)
    clock.stop()

    assert {1} == set(times)
