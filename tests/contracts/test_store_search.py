"""Narrow a search of the history in the database, without losing anything."""

from dataclasses import replace

import pytest

from core.store import approvals
from core.store.approvals import Narrowing, history_rows
from core.store.runs import runs
from tests.support.store_records import ALICE, ONCE, run_draft
from tests.support.stores import OpenStore


@pytest.mark.parametrize(
    ("narrowing", "found"),
    [
        (Narrowing(), {"asked", "unasked"}),
        (Narrowing(state="pending"), {"asked"}),
        (Narrowing(state="started"), {"unasked"}),
        (Narrowing(session="another"), set()),
        (Narrowing(by="nobody"), set()),
        (Narrowing(words="LS"), {"unasked"}),
        (Narrowing(words="nowhere"), set()),
        (Narrowing(words="%"), set()),
        (Narrowing(words="[secret: nothing"), {"asked", "unasked"}),
    ],
)
async def test_a_search_is_narrowed_in_the_database(
    bench: OpenStore, narrowing: Narrowing, found: set[str]
) -> None:
    """No search wants what it leaves out; the words of a mask are searched in what is shown."""
    unasked = run_draft()
    await bench.store.write(runs.begin, unasked)
    names = {await bench.ask(): "asked", unasked.id: "unasked"}
    rows = await bench.store.read(approvals.search, lambda _: True, 10, None, None, None, narrowing)
    assert {names[row.id] for row in rows} == found, [row.text for row in rows]


@pytest.mark.parametrize(
    "text", ["echo \u202e", "echo [secret: x]", "a\nb", "a" + " " * 20, r"\u{1}"]
)
async def test_a_text_that_is_shown_with_escapes_is_looked_at(bench: OpenStore, text: str) -> None:
    """Its words may be those of an escape, which the database does not know."""
    odd = run_draft()
    odd = replace(odd, plan=replace(odd.plan, text=text))
    await bench.store.write(runs.begin, odd)
    args = (None, None, None, Narrowing(words="202e"))
    rows = await bench.store.read(approvals.search, lambda _: True, 10, *args)
    assert [row.id for row in rows] == [odd.id]


async def test_a_search_by_the_decider_keeps_his_rows(bench: OpenStore) -> None:
    """By name or account in any case, and by the account with its channel."""
    asked = await bench.ask()
    await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, "in:1"))
    await bench.ask()
    for by in (ALICE.ref, ALICE.name.upper(), ALICE.account):
        args = (None, None, None, Narrowing(by=by))
        (row,) = await bench.store.read(approvals.search, lambda _: True, 10, *args)
        assert row.id == asked


async def test_a_search_ends_where_so_many_unasked_runs_are_read(
    bench: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that people were asked about are no part of that number: their questions are."""
    monkeypatch.setattr(history_rows, "_MOST_SEARCHED", 2)
    asked = await bench.ask()
    await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, None))
    made = [run_draft() for _ in range(3)]
    for one in made:
        await bench.advance(1_000)
        await bench.store.write(runs.begin, one)

    rows = await bench.store.read(approvals.search, lambda _: True, 10)
    assert [row.id for row in rows] == [made[2].id, made[1].id]
    assert await bench.store.read(approvals.searched_from) == rows[-1].at_ms
    assert await bench.store.read(approvals.searched_from, rows[-1].at_ms) is None
