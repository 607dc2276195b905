"""Send messages at a rate, each place at its own."""

import asyncio
import time

import pytest

from channels.pacing import Clock, Clocks, Rate, TurnFarOff


async def test_a_loop_that_stalled_sends_no_bunch() -> None:
    """Ten messages that became due while nothing ran are still sent at the rate."""
    clock, left = Clock(Rate(0.05, 2)), list[float]()

    async def send() -> None:
        await clock.take(patient=False)
        left.append(time.monotonic())

    sending = [asyncio.create_task(send()) for _ in range(12)]
    await asyncio.sleep(0.01)
    time.sleep(0.5)  # noqa: ASYNC251 - the stall
    await asyncio.gather(*sending)

    for start in left:
        assert sum(start <= at < start + 0.045 for at in left) <= 3


async def test_a_turn_far_off_is_refused_unless_the_message_is_patient() -> None:
    """The refusal says how far off it is, including those that wait."""
    clock = Clock(Rate(30.0, 1))
    await clock.take(patient=False)
    first = asyncio.create_task(clock.take(patient=True))
    await asyncio.sleep(0)

    with pytest.raises(TurnFarOff) as far:
        await clock.take(patient=False)

    assert 55 < far.value.seconds <= 60
    first.cancel()


async def test_what_the_platform_asked_for_holds_one_place() -> None:
    """The place is left alone for that long; another one continues."""
    clocks, rate = Clocks(), Rate(1.0, 3)
    clocks.of("C1", rate).hold(30)

    with pytest.raises(TurnFarOff):
        await clocks.of("C1", rate).take(patient=False)
    await clocks.of("C2", rate).take(patient=False)


async def test_clocks_of_idle_places_are_forgotten() -> None:
    """A bot that writes to many places over time keeps few clocks, and none that matters."""
    clocks, rate = Clocks(), Rate(1.0, 3)
    busy = clocks.of("1", rate)
    await busy.take(patient=False)
    for place in range(2, 3_000):
        clocks.of(str(place), rate)

    assert len(clocks) <= 1_002
    assert busy is clocks.of("1", rate)
