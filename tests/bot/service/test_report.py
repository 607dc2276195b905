"""Report to the service manager when a real gateway serves, hangs, or waits for its store."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.app import Gateway, gateway
from bot.service.notify import Notifier
from bot.service.report import ServiceReport
from bot.settings import load
from core.errors import StoreAway
from core.store import Store
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.service_manager import Manager
from tests.support.waiting import wait_until

PERIOD_S = 1.5


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    """Listen."""
    made = Manager(tmp_path / "notify")
    yield made
    made.socket.close()


@dataclass
class Served(GatewayProcess):
    """`sayso serve` as a service manager starts it."""

    notify: str = field(kw_only=True)

    def environ(self) -> dict[str, str]:
        """Return its environment."""
        period = str(int(PERIOD_S * 1_000_000))
        return {**super().environ(), "NOTIFY_SOCKET": self.notify, "WATCHDOG_USEC": period}


@pytest.fixture
def served(tmp_path: Path, manager: Manager) -> Iterator[Served]:
    """Run a gateway that a service manager watches."""
    home = tmp_path / "home"
    write_config(home, None)
    process = Served(home, notify=str(manager.path), real=True)
    process.start()
    yield process
    process.stop()


def test_it_tells_how_it_is(served: Served, manager: Manager) -> None:
    """Ready once it listens; what waits; a reload from start to end; its stop."""
    assert served.process is not None
    manager.waits_for("READY=1")
    assert manager.all[0] == "READY=1", "nothing is told before it serves"
    wait_until("the line of it", lambda: "listening on" in served.log.read_text())
    manager.waits_for("STATUS=0 waiting for an answer, 0 running")
    served.process.send_signal(signal.SIGHUP)
    reloading = manager.waits_for("RELOADING=1\nMONOTONIC_USEC=")
    manager.waits_for("READY=1", since=manager.all.index(reloading))
    served.cli("lockdown", "on", "--why", "a test")
    manager.waits_for("STATUS=locked down")
    served.process.send_signal(signal.SIGTERM)
    manager.waits_for("STOPPING=1")


def test_no_process_of_the_gateway_has_the_variables(served: Served) -> None:
    """Otherwise anything that it starts could say that the gateway is ready, or alive."""
    assert served.process is not None
    top = served.process.pid
    children = Path(f"/proc/{top}/task/{top}/children").read_text().split()
    assert children, "the launcher runs"
    for child in children:
        environ = Path(f"/proc/{child}/environ").read_bytes()
        assert b"NOTIFY_SOCKET" not in environ
        assert b"WATCHDOG" not in environ


def test_a_gateway_that_hangs_is_silent(served: Served, manager: Manager) -> None:
    """Stopped, it sends nothing for as long as the manager waits; before and after it does."""
    assert served.process is not None
    manager.waits_for("WATCHDOG=1")
    served.process.send_signal(signal.SIGSTOP)
    stat = Path(f"/proc/{served.process.pid}/stat")
    wait_until("its stop", lambda: stat.read_text().rpartition(") ")[2].startswith("T"))
    manager.heard()
    time.sleep(2 * PERIOD_S)
    silent = manager.heard()
    served.process.send_signal(signal.SIGCONT)
    assert silent == []
    manager.waits_for("WATCHDOG=1", since=len(manager.all))


@dataclass
class Faulty:
    """A store whose database is away, or whose calls never end."""

    store: Store
    fault: Callable[[], object] | None = None

    async def write(self, *words: object) -> object:
        """Write, or fail."""
        return await self._done(self.store.write, words)

    async def read(self, *words: object) -> object:
        """Read, or fail."""
        return await self._done(self.store.read, words)

    async def _done(self, call: Callable[..., object], words: tuple[object, ...]) -> object:
        if self.fault is not None:
            found = self.fault()
            return await found if asyncio.iscoroutine(found) else found
        found = call(*words)
        assert asyncio.iscoroutine(found)
        return await found


@dataclass
class Inside:
    """A gateway in this process and the store that its report sees."""

    gateway: Gateway
    manager: Manager

    async def alive(self, fault: Callable[[], object] | None, often: int) -> int:
        """Make the store fail; return how often the watchdog was fed once its patience is over.

        It watches for a second, and until it was fed this often.
        """
        notifier = Notifier(str(self.manager.path), watchdog_s=0.3)
        report = ServiceReport(notifier, self.gateway.gate, store_patience_s=1.0)
        store = Faulty(self.gateway.store, fault)
        gate = self.gateway.gate
        own, gate.store = gate.store, store  # type: ignore[assignment]
        task = asyncio.create_task(report.run())
        try:
            await asyncio.sleep(1.5)
            assert "WATCHDOG=1" in self.manager.heard()
            await asyncio.sleep(1.0)
            fed = 0
            async with asyncio.timeout(20):
                while (fed := fed + self.manager.heard().count("WATCHDOG=1")) < often:
                    await asyncio.sleep(0.05)
            return fed
        finally:
            gate.store = own
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def inside(tmp_path: Path, manager: Manager) -> AsyncIterator[Inside]:
    """Run a gateway here."""
    home = tmp_path / "home"
    write_config(home, None)
    async with gateway(load(home, environ={})) as running:
        yield Inside(running, manager)


async def _stuck() -> None:
    await asyncio.Event().wait()


def _away() -> None:
    raise StoreAway


@pytest.mark.slow
async def test_a_store_that_is_stuck_starves_the_watchdog(inside: Inside) -> None:
    """No answer and no error for longer than any call may take."""
    assert await inside.alive(_stuck, 0) == 0


@pytest.mark.parametrize("fault", [None, _away], ids=["well", "away"])
async def test_a_database_that_is_away_does_not(
    inside: Inside, fault: Callable[[], object] | None
) -> None:
    """It answers with an error, and a restart would not cure it; the control is well."""
    assert await inside.alive(fault, 3) >= 3


async def test_a_loop_that_is_stuck_starves_the_watchdog(inside: Inside) -> None:
    """A call that blocks the loop keeps it from sending."""
    report = ServiceReport(Notifier(str(inside.manager.path), watchdog_s=0.3), inside.gateway.gate)
    task = asyncio.create_task(report.run())
    await asyncio.sleep(0.5)
    assert "WATCHDOG=1" in inside.manager.heard()
    time.sleep(1.0)  # noqa: ASYNC251 - the fault
    assert inside.manager.heard() == []
    await asyncio.sleep(0.5)
    assert "WATCHDOG=1" in inside.manager.heard()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
