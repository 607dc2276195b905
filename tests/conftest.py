"""Hold the fixtures that several folders share."""

import asyncio
import gc
import os
import signal
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.order import group_of, long_first
from tests.support.postgres import PostgresServer, running_postgres
from tests.support.stores import OpenStore, folder_in_memory, postgres_bench, sqlite_bench

# A shell starts a background job with SIGINT ignored, and nohup one with SIGHUP ignored; every
# child inherits that, so no test could send one to a command.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Seventeen thousand tests are collected, and stay: scanning them again while more arrive takes a
# third of that time, and later scans would make each test wait.
gc.disable()

EXAMPLES = int(os.environ.get("SAYSO_PROPERTY_EXAMPLES", "0"))
"""Random examples of each property; by default 100, the same ones in every run."""

# The machine may be busy; time is measured in benchmarks. A property that fails by chance in CI
# would refuse an unrelated change: `make test-full` draws new examples.
settings.register_profile(
    "sayso",
    settings.get_profile(settings.get_current_profile_name()),
    deadline=None,
    derandomize=not EXAMPLES and "SAYSO_FUZZ_LINES" not in os.environ,
    database=None,
    max_examples=EXAMPLES or 100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("sayso")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each worker of pytest-xdist begin with its share of the slow tests."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        items[:] = long_first(items, group_of, workers)


def pytest_collection_finish() -> None:
    """Collect garbage as usual, but skip what exists by now."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Yield a real PostgreSQL server, one a test process."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """Return the URL of a new, empty database."""
    return postgres_server.create()


@pytest.fixture(scope="session")
def executor_path() -> Iterator[str]:
    """Yield the path of an installed executor, one a test process; no test changes the file."""
    from tests.support.executors import installed  # noqa: PLC0415 - most folders need none

    with installed() as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[OpenStore]:
    """Yield a fresh store on each engine in turn, with a clock that the test moves."""
    if request.param == "sqlite":
        with folder_in_memory() as folder:
            async for made in sqlite_bench(folder):
                yield made
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    async for made in postgres_bench(server, await asyncio.to_thread(server.create)):
        yield made
