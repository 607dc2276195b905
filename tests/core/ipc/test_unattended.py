"""Finish what was begun for a caller that leaves, and lose no failure of it."""

import asyncio
import logging

import pytest

from core.errors import StoreError
from core.ipc.unattended import to_its_end


@pytest.mark.parametrize(
    ("failure", "said"),
    [(None, ""), (StoreError("away"), "away"), (KeyError("user"), "KeyError: 'user'")],
)
async def test_work_goes_on_without_its_caller(
    caplog: pytest.LogCaptureFixture, failure: Exception | None, said: str
) -> None:
    """It ends as it would; what fails is in the log, once, and nothing is left unretrieved."""
    unretrieved: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unretrieved.append(context))
    go_on, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await go_on.wait()
        ended.set()
        if failure is not None:
            raise failure

    caller = asyncio.create_task(to_its_end(work()))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    assert caller.cancelled()
    with caplog.at_level(logging.WARNING):
        go_on.set()
        await ended.wait()
        await asyncio.sleep(0.01)

    assert len(caplog.records) == (failure is not None)
    assert said in caplog.text
    assert not unretrieved


async def test_a_caller_that_stays_gets_the_outcome(caplog: pytest.LogCaptureFixture) -> None:
    """A result, or a failure, which only the caller reports."""

    async def work(failure: Exception | None) -> int:
        if failure is not None:
            raise failure
        return 7

    assert await to_its_end(work(None)) == 7
    with pytest.raises(StoreError):
        await to_its_end(work(StoreError("away")))
    assert not caplog.records
