"""State what every engine must do with app codes: each counts once, tries are few."""

import asyncio

import pytest

from core.errors import BadRequest
from core.store.people import people, totp_keys
from core.store.people.totp_keys import MOST_TRIES, TRIES_MS, TotpKey
from tests.support.stores import OpenStore


async def _enrol(bench: OpenStore, secret: str = "A" * 32) -> None:
    await bench.store.write(people.add, "ana")
    await bench.store.write(totp_keys.enrol, "ana", secret, "uid:0")


async def test_a_step_is_used_up_with_all_before_it(bench: OpenStore) -> None:
    """Also by answers at the same moment; the control: a later step counts."""
    await _enrol(bench)
    spent = [bench.store.write(totp_keys.spend, "ana", 70) for _ in range(8)]
    assert sum(await asyncio.gather(*spent)) == 1
    assert not await bench.store.write(totp_keys.spend, "ana", 69)
    assert await bench.store.write(totp_keys.spend, "ana", 71)


async def test_tries_are_few_and_come_back(bench: OpenStore) -> None:
    """After the time, or after a code that counted."""
    await _enrol(bench)
    tries = [await bench.store.write(totp_keys.take_try, "ana") for _ in range(MOST_TRIES + 2)]
    assert [one is not None for one in tries] == [True] * MOST_TRIES + [False] * 2
    await bench.advance(TRIES_MS)
    assert await bench.store.write(totp_keys.take_try, "ana") is not None
    for step in range(1, MOST_TRIES + 3):
        assert await bench.store.write(totp_keys.take_try, "ana") is not None
        assert await bench.store.write(totp_keys.spend, "ana", step)


async def test_a_new_app_ends_the_earlier_one(bench: OpenStore) -> None:
    """There is one per person; without a person there is none, and it can be removed."""
    await _enrol(bench)
    await bench.store.write(totp_keys.spend, "ana", 9)
    await _enrol(bench, "B" * 32)
    assert await bench.store.read(totp_keys.key_of, "ana") == TotpKey("ana", "B" * 32, 0)  # type: ignore[arg-type]
    assert await bench.store.write(totp_keys.remove, "ana")
    assert not await bench.store.write(totp_keys.remove, "ana")
    assert await bench.store.read(totp_keys.key_of, "ana") is None
    with pytest.raises(BadRequest, match="No person"):
        await bench.store.write(totp_keys.enrol, "nobody", "C" * 32, "uid:0")


async def test_what_is_in_clear_is_sealed_once(bench: OpenStore) -> None:
    """For its person; what is sealed is unchanged."""
    await _enrol(bench)
    seal = lambda secret, use: f"sealed:1:{use}:{secret[::-1]}"  # noqa: E731
    assert await bench.store.write(totp_keys.seal_all, seal) == 1
    assert await bench.store.write(totp_keys.seal_all, seal) == 0
    kept = await bench.store.read(totp_keys.key_of, "ana")
    assert kept is not None
    assert kept.secret == f"sealed:1:totp:ana:{'A' * 32}"
