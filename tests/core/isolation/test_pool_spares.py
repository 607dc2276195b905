"""Start a spare executor only for somebody who may need it, and where there is room."""

import asyncio
import time
from typing import cast

import pytest

from core.isolation import pool
from core.isolation.call_audit import CallAudit
from core.isolation.executor import Executor
from core.isolation.tokens import SessionTokens
from core.isolation.upkeep import Options


@pytest.mark.parametrize(
    ("live", "wanted", "there", "stopped", "starts"),
    [
        (1, True, False, False, True),
        (2, True, False, False, False),
        (1, False, False, False, False),
        (1, True, True, False, False),
        (1, True, False, True, False),
        (2, False, False, True, False),
    ],
)
async def test_when_a_spare_is_started(
    monkeypatch: pytest.MonkeyPatch,
    live: int,
    *,
    wanted: bool,
    there: bool,
    stopped: bool,
    starts: bool,
) -> None:
    """It takes no last place, and none is started twice or for a pool that ends."""
    started: list[str] = []

    async def start(user: str) -> Executor:
        started.append(user)
        return Executor("1", user)

    options = Options("build", max_executors=2)
    tokens = SessionTokens(60, 1, time.monotonic)
    made = pool.ExecutorPool(options, tokens, cast("CallAudit", None))
    monkeypatch.setattr(pool, "_SPARE_AFTER_S", 0)
    monkeypatch.setattr(made, "_started", start)
    made._live = {Executor(str(number), "ana") for number in range(live)}
    timer = asyncio.get_running_loop().call_later(60, print)
    made._idle = {"ana": timer} if wanted else {}
    made._spares = {"ana": Executor("0", "ana")} if there else {}
    made._stopped = stopped

    await made._make_spare("ana")
    timer.cancel()

    assert started == (["ana"] if starts else [])
    assert (made._spares.keys() == {"ana"}) is (there or starts)
