"""Start a real PostgreSQL for the tests, and hand out databases in it.

``SAYSO_TEST_PG_URL`` names a server to use instead (its user may create databases). Otherwise
the system's binaries are started in a scratch folder; as root through ``runuser``, because
``initdb`` refuses root. Without either the tests fail and say what to install.
"""

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

_BINARIES = Path("/usr/lib/postgresql")
_USER = "postgres"
# No power failure happens here: without fsync a database is made in a tenth of the time, and a
# killed server still finds its writes in the kernel.
_FAST = "-c fsync=off -c shared_buffers=32MB -c listen_addresses=''"
_CONNECTIONS = 60


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server; ``base`` is the URL of a database in it that the tests own."""

    base: str
    folder: Path | None = None
    connections: int = _CONNECTIONS

    def create(self) -> str:
        """Create an empty schema (1 ms; a database takes 400); return a URL that sees only it."""
        name = f"t{uuid.uuid4().hex[:12]}"
        self.run(f"CREATE SCHEMA {name}")
        return f"{self.base}{'&' if '?' in self.base else '?'}search_path={name}"

    def run(self, statement: str, url: str | None = None) -> list[asyncpg.Record]:
        """Run one statement on the server's own database, or on ``url``."""

        async def go() -> list[asyncpg.Record]:
            conn = await asyncpg.connect(url or self.base)
            try:
                return list(await conn.fetch(statement))
            finally:
                await conn.close()

        with ThreadPoolExecutor(1) as pool:  # a browser test has a loop in its own thread
            return pool.submit(asyncio.run, go()).result()

    def stop_at_once(self) -> None:
        """Stop as in a crash: no checkpoint, every connection cut."""
        _control(self._own_folder(), "stop", "-m", "immediate")

    def start(self) -> None:
        """Start again after a stop."""
        _start(self._own_folder(), self.connections)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Freeze every process of the server: connections stay open, and nothing is answered."""
        first = int((self._own_folder() / "d" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{first}/task/{first}/children")
        stopped = [first]
        os.kill(first, signal.SIGSTOP)  # this one first, so that it starts no more
        try:
            for child in map(int, children.read_text().split()):
                os.kill(child, signal.SIGSTOP)
                stopped.append(child)
            yield
        finally:
            for process in reversed(stopped):
                os.kill(process, signal.SIGCONT)

    def _own_folder(self) -> Path:
        if self.folder is None:
            pytest.fail("This test stops the server: unset SAYSO_TEST_PG_URL.")
        return self.folder


@contextmanager
def running_postgres(connections: int = _CONNECTIONS) -> Iterator[PostgresServer]:
    """Yield a server; if it was started here, stop and remove it afterwards.

    While it is frozen, twice ``connections`` can wait to be accepted; the kernel refuses more.
    """
    given = os.environ.get("SAYSO_TEST_PG_URL")
    if given:
        yield from _lent(given)
        return
    folder = Path(tempfile.mkdtemp(prefix="spg", dir="/tmp"))  # short: a socket path has 107 bytes
    try:
        folder.chmod(0o755)
        if os.geteuid() == 0:
            account = pwd.getpwnam(_USER)
            os.chown(folder, account.pw_uid, account.pw_gid)
        _run(
            _binary("initdb"), "-D", str(folder / "d"), "-A", "trust", "-U", _USER,
            "-E", "UTF8", "--locale=C.UTF-8", "--no-sync",
        )  # fmt: skip
        _start(folder, connections)
        yield PostgresServer(f"postgresql://{_USER}@/postgres?host={folder}", folder, connections)
    finally:
        if (folder / "d" / "postmaster.pid").exists():
            _control(folder, "stop", "-m", "immediate")
        shutil.rmtree(folder, ignore_errors=True)


def _lent(url: str) -> Iterator[PostgresServer]:
    """Use our own database in a server that others run."""
    name = f"sayso_{uuid.uuid4().hex[:12]}"
    head, _, query = url.partition("?")
    server = PostgresServer(url)
    server.run(f"CREATE DATABASE {name}")
    try:
        yield PostgresServer(f"{head.rsplit('/', 1)[0]}/{name}" + (f"?{query}" if query else ""))
    finally:
        server.run(f"DROP DATABASE {name} WITH (FORCE)")


def _start(folder: Path, connections: int) -> None:
    options = f"{_FAST} -c max_connections={connections} -c unix_socket_directories={folder}"
    _control(folder, "start", "-l", str(folder / "log"), "-o", options)


def _control(folder: Path, *words: str) -> None:
    _run(_binary("pg_ctl"), "-D", str(folder / "d"), "-w", "-t", "30", *words)


def _binary(name: str) -> str:
    found = sorted(
        _BINARIES.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3].split(".")[0])
    )
    on_path = shutil.which(name)
    if not found and on_path is None:
        pytest.fail(
            f"No PostgreSQL ({name}) here. Run `apt-get install postgresql`, or set "
            "SAYSO_TEST_PG_URL to a server whose user may create databases."
        )
    return str(found[-1]) if found else str(on_path)


def _run(*argv: str) -> None:
    as_user = ("runuser", "-u", _USER, "--") if os.geteuid() == 0 else ()
    # A server keeps its output open for life, so a pipe would never end; a file takes it.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run([*as_user, *argv], stdout=output, stderr=output, cwd="/", check=False)
        if done.returncode:
            output.seek(0)
            pytest.fail(f"{argv[0]} failed: {output.read().decode(errors='replace')}")
