"""Kill two gateways of one database in turn, under load: whose journal has what?

What either stored is recorded once, by the gateway that stored it, although the other one lives
while it is away.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.killed_gateway import History, configure, load, scripts
from tests.support.gateway_process import GatewayProcess
from tests.support.postgres import PostgresServer

KILLS, SAMPLE = 60, 4
SEED = 20261130
Place = tuple[str, str]
"""A run, and the id of a journal."""
Recorded = dict[str, Counter[Place]]
"""By kind: how often each run has a record of it in each journal."""
Stored = dict[str, list[Place]]
"""By kind: what the database has, and in whose journal it belongs."""
_QUERIES = {
    "ask": "SELECT id, journal FROM approvals",
    "resolve": "SELECT approval_id AS id, journal FROM decisions",
    "end": "SELECT id, journal FROM runs WHERE state IN ('done', 'failed')",
}


def recorded(homes: Iterable[Path]) -> Recorded:
    """Return what the journals have of each run; an end that is unknown is not one."""
    found: Recorded = {kind: Counter() for kind in _QUERIES}
    for home in homes:
        own = (home / "audit.jsonl.id").read_text().strip()
        for line in map(json.loads, (home / "audit.jsonl").read_text().splitlines()):
            kind = "end" if line["kind"] in {"finish", "refuse"} else line["kind"]
            if kind in found and line.get("state") != "unknown":
                found[kind][line["run"], own] += 1
    return found


def stored(server: PostgresServer, url: str) -> Stored:
    """Return what the database has: what was asked, what was decided, and what ended."""
    rows = {kind: server.run(one, url) for kind, one in _QUERIES.items()}
    return {kind: [(row["id"], row["journal"]) for row in some] for kind, some in rows.items()}


def missing(found: Recorded, rows: Stored) -> dict[str, int]:
    """Return how many of each kind are not recorded where they belong."""
    return {kind: sum(not found[kind][one] for one in some) for kind, some in rows.items()}


def again(found: Recorded, rows: Stored) -> dict[str, int]:
    """Return how many of each kind are recorded more than once, in whatever journal."""
    runs = {kind: Counter(run for run, _ in found[kind].elements()) for kind in rows}
    return {kind: sum(runs[kind][run] > 1 for run, _ in some) for kind, some in rows.items()}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [SAMPLE, pytest.param(KILLS, marks=pytest.mark.deep)])
def test_each_journal_has_what_its_gateway_stored(
    kills: int,
    tmp_path: Path,
    postgres_server: PostgresServer,
    postgres_url: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And no other; each gateway is killed while the other lives, and comes back."""
    commands, dice = scripts(tmp_path / "commands"), random.Random(SEED)
    gateways = [GatewayProcess(tmp_path / name) for name in ("one", "two")]
    for gateway in gateways:
        configure(gateway.home, commands, postgres_url)
        gateway.start()
    with ExitStack() as stack:
        for gateway in gateways:
            stack.enter_context(load(gateway, commands, History(), most=1))
        for number in range(kills):
            time.sleep(dice.uniform(0.2, 1.0))
            gateways[number % 2].kill()
            time.sleep(dice.uniform(0.0, 0.3))
            gateways[number % 2].start()
    for gateway in gateways:
        gateway.stop()

    rows, found = stored(postgres_server, postgres_url), recorded(one.home for one in gateways)
    lacking, twice = missing(found, rows), again(found, rows)
    with capsys.disabled():
        sizes = {kind: len(ids) for kind, ids in rows.items()}
        print(f"\n{kills} kills: stored {sizes}, missing {lacking}, twice {twice}")
    assert set(lacking.values()) == {0}
    assert set(twice.values()) == {0}
    assert min(map(len, rows.values())) > kills


def test_what_is_missing_or_twice_is_counted() -> None:
    """The control."""
    found: Recorded = {"ask": Counter([("a", "one"), ("b", "two"), ("b", "one"), ("c", "two")])}
    rows: Stored = {"ask": [("a", "one"), ("b", "one"), ("c", "one"), ("d", "one")]}

    assert missing(found, rows) == {"ask": 2}
    assert again(found, rows) == {"ask": 1}
