"""Run a browser's tests on each engine: SQLite in every run, PostgreSQL among the deep ones."""

import pytest

from tests.support.postgres import PostgresServer

ENGINES = ("sqlite", pytest.param("postgres", marks=pytest.mark.deep))


def store_of(request: pytest.FixtureRequest) -> str | None:
    """Return the URL of a new database for a parametrised fixture; ``None`` is the home's own."""
    if request.param != "postgres":
        return None
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.create()
