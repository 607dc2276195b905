"""Start what an answer allows after the record of the answer, however they are woken.

`tests/bot/evidence/test_export_proofs.py` verifies whole journals of answers and their runs.
"""

import asyncio
from contextlib import suppress

from core.gate.record import Recording


async def _answered(recording: Recording, taken: asyncio.Event) -> None:
    with recording.answer():
        await taken.wait()


async def test_a_start_waits_for_the_answers_that_are_being_taken() -> None:
    """And for none that comes later; the control: without any it waits for nothing."""
    recording, first, second = Recording(), asyncio.Event(), asyncio.Event()
    await asyncio.wait_for(recording.settled(), 30)

    one = asyncio.create_task(_answered(recording, first))
    await asyncio.sleep(0)
    start = asyncio.create_task(recording.settled())
    await asyncio.sleep(0)
    other = asyncio.create_task(_answered(recording, second))
    await asyncio.sleep(0)
    assert not start.done()

    first.set()
    await asyncio.wait_for(start, 30)
    assert one.done()
    assert not other.done()
    second.set()
    await other


async def test_an_answer_that_fails_holds_nothing_up() -> None:
    """It is over, whatever the outcome."""
    recording = Recording()
    with suppress(TimeoutError), recording.answer():
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)
    await asyncio.wait_for(recording.settled(), 30)
