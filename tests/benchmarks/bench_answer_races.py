"""Time how long two pages, a chat and the terminal take to show the same winner."""

from pathlib import Path
from statistics import quantiles

import pytest

from tests.browser.answer_race import check, four, race_home
from tests.support.gateway_process import bot_api
from tests.support.pace import Pace, words

GOAL_S = 1.0
ROUNDS = 20


@pytest.mark.benchmark
@pytest.mark.timeout(300)
async def test_all_four_know_within_a_second(tmp_path: Path) -> None:
    """From the first press to the last of the four: 95 of 100."""
    pace, took = Pace(), []
    with bot_api() as chat, race_home(tmp_path / "home", chat) as home:
        async with four(home, chat) as at:
            for number in range(ROUNDS):
                pace.sample()
                truth, told = await at.answer(f"race-{number}")
                check(truth, told)
                took.append(told.seconds)
    p95, slow = quantiles(took, n=20)[-1], pace.slowness()
    print(f"\nall four told after {sorted(took)[len(took) // 2]:.2f} s, p95 {p95:.2f} s")
    print(words(slow))
    assert p95 <= GOAL_S * slow
