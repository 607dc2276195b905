"""Limit a gateway's backtests: how many are kept, whose they are, how many at a time."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.policy_tools.draft_backtest import DraftBacktests
from bot.policy_tools.weekly_suggest import Patience
from bot.settings import load
from core.errors import BadRequest
from tests.bot.policy_tools.past import home, remember
from tests.support.waiting import wait_until

KEPT = 16


@pytest.fixture
def backtests(tmp_path: Path) -> Iterator[DraftBacktests]:
    """Yield the backtests of a home in which nothing has happened: each ends at once."""
    made = DraftBacktests(load(home(tmp_path, {}), environ={}))
    yield made
    made.stop()


def _ended(backtests: DraftBacktests, owner: str) -> str:
    key = backtests.start(owner, {"version": 1}, "30d")

    def over() -> bool:
        look = backtests.of(key, owner)
        return look is not None and look.ended

    wait_until("the look's end", over)
    return key


def test_the_last_sixteen_are_kept(backtests: DraftBacktests) -> None:
    """None is dropped before there are more; then the oldest is, and no other."""
    keys = [_ended(backtests, "ana") for _ in range(KEPT)]
    assert all(backtests.of(key, "ana") for key in keys)

    keys.append(_ended(backtests, "ana"))
    assert [backtests.of(key, "ana") is not None for key in keys] == [False] + [True] * KEPT


def test_a_look_belongs_to_who_began_it(backtests: DraftBacktests) -> None:
    """Its id alone gives nothing to another person."""
    key = _ended(backtests, "ana")

    assert backtests.of(key, "ben") is None
    assert backtests.of("no such id", "ana") is None


async def test_nobody_has_two_at_a_time(tmp_path: Path) -> None:
    """A second of the same owner is refused while the first runs, and a third of anyone."""
    state = home(tmp_path, {})
    await remember(f"sqlite:///{state}/state.db", tmp_path, [("cat README.md", None)])
    held = DraftBacktests(load(state, environ={}), Patience(30.0, 30.0))
    try:
        first = held.start("ana", {"version": 1}, "30d")
        with pytest.raises(BadRequest, match="A backtest is under way"):
            held.start("ana", {"version": 1}, "30d")
        second = held.start("ben", {"version": 1}, "30d")
        with pytest.raises(BadRequest, match="A backtest is under way"):
            held.start("cleo", {"version": 1}, "30d")
        assert not any(
            look.ended for look in (held.of(first, "ana"), held.of(second, "ben")) if look
        )
    finally:
        held.stop()


def test_a_fault_is_reported_and_logged(
    backtests: DraftBacktests,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If there is no place for its files, the person who started it and the log are told."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    look = backtests.of(_ended(backtests, "ana"), "ana")

    assert look is not None
    assert look.fault == "It failed (FileNotFoundError); see the gateway's log."
    assert "the backtest of a draft failed" in caplog.text
    assert f"{tmp_path}/gone" in caplog.text
