"""Freeze PostgreSQL for longer than the watchdog waits: no gateway is ended because of it.

The server keeps its connections and answers nothing, as one whose disk or machine hangs. More than
two hundred callers wait with the gateway for the eight connections of its pool.
"""

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.client import Client
from bot.service.report import STORE_PATIENCE_S
from core.errors import SaysoError
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.postgres import PostgresServer, running_postgres
from tests.support.service_manager import Manager

pytestmark = [pytest.mark.deep, pytest.mark.slow, pytest.mark.timeout(400)]
WATCHDOG_S = 9.0
"""Less than the 60 s of the unit: a gateway silent for that long would have been ended."""
FROZEN_S = STORE_PATIENCE_S + 40.0
LONGEST_CALL_S = 60.0
CALLERS = 220
CONNECTIONS = 1000
"""Of the server, so that it keeps answering nothing. Once the kernel lets no more wait for it,
each call fails in a moment: with the usual 60 after 50 s."""
_STORE = "core.store.engine.postgres.store"
_WITHOUT = """
import sys, {store} as store
{lacking}
from bot.cli import main
sys.exit(main(["serve"]))
"""


@dataclass
class Watched(GatewayProcess):
    """A gateway that a service manager listens to, and how long its callers' calls took (s)."""

    manager: Manager = field(kw_only=True)
    code: str = ""
    took: list[float] = field(default_factory=list)

    def argv(self) -> list[str]:
        """Return the command that starts it; with ``code`` it lacks a limit."""
        return [sys.executable, "-c", self.code] if self.code else super().argv()

    def environ(self) -> dict[str, str]:
        """Return its environment, as the service manager makes it."""
        period = str(int(WATCHDOG_S * 1_000_000))
        told = {"NOTIFY_SOCKET": str(self.manager.path), "WATCHDOG_USEC": period}
        return {**super().environ(), **told}

    def keep_asking(self, over: threading.Event) -> None:
        """Ask what is pending, again and again."""
        while not over.is_set():
            began = time.monotonic()
            try:
                with Client(str(self.home / "gateway.sock")) as client:
                    client.call("exec.approval.list", {}, 300)
            except (SaysoError, OSError):
                time.sleep(0.05)
            self.took.append(time.monotonic() - began)
            time.sleep(1)


@dataclass
class Outage:
    """The messages of each gateway from the freeze to the thaw (monotonic seconds)."""

    gateways: dict[str, Watched]
    begin: float = 0.0
    end: float = 0.0

    def silence_s(self, name: str) -> float:
        """Return for how long a gateway gave no sign of life."""
        return self.gateways[name].manager.longest_silence(self.begin, self.end)


KINDS = {
    "as it is": "",
    "patient": _WITHOUT.format(
        store=_STORE, lacking="store._PATIENCE_S = store._POOL_WAIT_S = 10.0 ** 6"
    ),
    "commands without end": _WITHOUT.format(
        store=_STORE, lacking="store._COMMAND_TIMEOUT_S = 10.0 ** 6"
    ),
}
"""The gateway, and the controls: each lacks limits that let a call fail in time."""


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outage]:
    """Freeze one server under the three gateways at once, and let it continue."""
    with ExitStack() as stack:
        server = stack.enter_context(running_postgres(CONNECTIONS))
        over = threading.Event()
        seen = Outage({})
        for number, (kind, code) in enumerate(KINDS.items()):
            folder = tmp_path_factory.mktemp(f"g{number}")
            seen.gateways[kind] = stack.enter_context(_asked(folder, server, code, over))
        stack.callback(over.set)
        with server.frozen():
            seen.begin = time.monotonic()
            _listen(seen, FROZEN_S)
            seen.end = time.monotonic()
        _listen(seen, 15)
        yield seen


def _listen(seen: Outage, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for gateway in seen.gateways.values():
            gateway.manager.heard()
        time.sleep(0.05)


@contextmanager
def _asked(
    folder: Path, server: PostgresServer, code: str, over: threading.Event
) -> Iterator[Watched]:
    """Run a gateway over the server, and callers of it."""
    made = Watched(folder / "home", manager=Manager(folder / "notify"), code=code)
    write_config(made.home, None)
    path = made.home / "config.json5"
    path.write_text(json.dumps({**json.loads(path.read_text()), "store": {"url": server.create()}}))
    made.start()
    # The one whose commands never end needs no others beside it, and would keep them forever.
    callers = 0 if "_COMMAND" in code else CALLERS
    threads = [threading.Thread(target=made.keep_asking, args=(over,)) for _ in range(callers)]
    for thread in threads:
        thread.start()
    time.sleep(2)
    try:
        yield made
    finally:
        over.set()
        for thread in threads:
            thread.join()
        made.kill() if "_COMMAND" in code else made.stop()
        made.manager.socket.close()


def test_the_watchdog_is_fed_all_the_time(outage: Outage) -> None:
    """It would not be ended; its status line says what is wrong, and that it is over."""
    gateway = outage.gateways["as it is"]
    silence_s = outage.silence_s("as it is")
    print(f"silent for {silence_s:.1f} s at most of {outage.end - outage.begin:.0f} s")
    told = [words for words in gateway.manager.all if words.startswith("STATUS=")]

    assert silence_s < WATCHDOG_S
    assert any("the database does not work" in words for words in told)
    assert "waiting for an answer" in told[-1]
    assert gateway.process is not None
    assert gateway.process.poll() is None


def test_each_call_fails_in_time(outage: Outage) -> None:
    """However many wait for the same few connections; well below the watchdog's patience."""
    longest_s = max(outage.gateways["as it is"].took)
    print(f"{len(outage.gateways['as it is'].took)} calls, the longest {longest_s:.1f} s")

    assert longest_s < LONGEST_CALL_S < STORE_PATIENCE_S


def test_with_more_patience_a_call_takes_longer(outage: Outage) -> None:
    """Negative control: a call that waits for a pool connection waits for all before it."""
    longest_s = max(outage.gateways["patient"].took)
    print(f"with more patience: the longest call {longest_s:.1f} s")

    assert longest_s > LONGEST_CALL_S


def test_afterwards_it_works_by_itself(outage: Outage) -> None:
    """Requests are accepted again, without a restart."""
    done = outage.gateways["as it is"].cli("run", "-c", "true")

    assert done.returncode == 0, done.stderr


def test_a_call_that_never_ends_would_end_it(outage: Outage) -> None:
    """Negative control: a command without a limit starves the watchdog."""
    silence_s = outage.silence_s("commands without end")
    print(f"commands without end: silent for {silence_s:.1f} s")

    assert silence_s > WATCHDOG_S
