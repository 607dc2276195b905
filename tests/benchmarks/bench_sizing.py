"""Measure what a gateway needs: memory, disk per request, requests a second, on both stores.

The figures of docs/how-to/sizing.md::

    python -m pytest --capture=no -m benchmark tests/benchmarks/bench_sizing.py
"""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.client import Client
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.memory_use import peak_kb
from tests.support.pace import slowness, words
from tests.support.postgres import PostgresServer, running_postgres

pytestmark = [pytest.mark.benchmark, pytest.mark.deep, pytest.mark.timeout(300)]
_REQUESTS = 400
_CALLERS = 8
_MOST_MB, _MOST_KB = 400, 40
"""The least that a page about sizes must promise."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A gateway under measurement, and where its state is."""

    gateway: GatewayProcess
    postgres: PostgresServer | None

    @property
    def peak_mb(self) -> float:
        """Return its peak resident memory."""
        assert self.gateway.process is not None
        return peak_kb(self.gateway.process.pid) / 1024

    def stored(self) -> dict[str, int]:
        """Return the bytes of the journal and of the store."""
        home = self.gateway.home
        if self.postgres is None:
            files = (home / "state.db", home / "state.db-wal")
            store = sum(path.stat().st_size for path in files if path.exists())
        else:
            self.postgres.run("CHECKPOINT")
            ((store,),) = self.postgres.run("SELECT pg_database_size(current_database())")
        return {"journal": (home / "audit.jsonl").stat().st_size, "store": store}

    def ask(self, many: int, callers: int) -> float:
        """Run a listed program this often over that many connections; return runs a second."""
        params = {"argv": ["/usr/bin/true"], "cwd": str(self.gateway.home), "agent": "main"}
        shares = [many // callers] * callers

        def one(share: int) -> None:
            with Client(str(self.gateway.home / "gateway.sock")) as client:
                for _ in range(share):
                    client.call("exec.run", params)

        begin = time.perf_counter()
        with ThreadPoolExecutor(callers) as pool:
            list(pool.map(one, shares))
        return sum(shares) / (time.perf_counter() - begin)


@contextmanager
def loaded(home: Path, engine: str) -> Iterator[Loaded]:
    """Run a gateway on one of the stores."""
    write_config(home, None)
    with running_postgres() if engine == "PostgreSQL" else _no_server() as server:
        if server is not None:
            config = json.loads((home / "config.json5").read_text())
            (home / "config.json5").write_text(json.dumps(config | {"store": {"url": server.base}}))
        gateway = GatewayProcess(home)
        gateway.start()
        try:
            yield Loaded(gateway, server)
        finally:
            gateway.stop()


@contextmanager
def _no_server() -> Iterator[None]:
    yield None


@pytest.mark.parametrize("engine", ["SQLite", "PostgreSQL"])
def test_sizes(engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Allowed requests one after the other and by several callers, then the disk of each."""
    with loaded(tmp_path / "home", engine) as one:
        one.ask(50, 1)
        idle_mb, before = one.peak_mb, one.stored()
        alone = one.ask(_REQUESTS, 1)
        together = one.ask(_REQUESTS, _CALLERS)
        after, busy_mb = one.stored(), one.peak_mb
    grown = {name: (after[name] - before[name]) / (2 * _REQUESTS) / 1024 for name in after}
    with capsys.disabled():
        print(
            f"\n{engine}: {idle_mb:.0f} MiB after the start, {busy_mb:.0f} MiB at the most; "
            f"{alone:.0f} requests/s from one caller, {together:.0f} from {_CALLERS}; "
            f"{grown['journal']:.1f} KiB of journal and {grown['store']:.1f} KiB of store "
            f"for each {words(slowness())}"
        )
    assert busy_mb < _MOST_MB
    assert sum(grown.values()) < _MOST_KB
    assert together > 1
