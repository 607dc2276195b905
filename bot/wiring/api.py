"""Open the gateway to HTTP and WebSocket if the configuration says so.

Otherwise, no web framework is loaded and nothing is counted.
"""

import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self
from zoneinfo import ZoneInfo

from bot.gate_proof.prover import Prover
from bot.intake.registry.method import Table
from bot.settings import Settings
from core.gate.gate import Gate
from core.ports import Journal
from core.settings.http import HttpSection
from core.store import Store

if TYPE_CHECKING:
    from bot.api.http.metrics import Meters
    from bot.api.rest.pages import Report
    from bot.policy_tools.suggest import Report as CostReport


_COSTS_SPAN, _COSTS_MOST, _COSTS_S = "30d", 1_000, 20.0
"""How far back, over how many prompts, and for how long the page's count of costs may run."""


def _costs(settings: Settings, stopped: threading.Event) -> "CostReport":
    """Return what prompts cost, to be run in a thread; ``stopped`` ends the count.

    Raises:
        SaysoError: the store or the approvals file cannot be read, or it took too long.
    """
    from bot.policy_tools.weekly_suggest import Patience, week_of  # noqa: PLC0415 - as below

    patience = Patience(_COSTS_S, stopped=stopped)
    return week_of(settings, patience, _COSTS_SPAN, _COSTS_MOST)


@dataclass(slots=True)
class Network:
    """The API of one gateway; ``meters`` is ``None`` if it is off.

    ``listening_url`` is empty until it listens.
    """

    section: HttpSection
    home: Path
    zone: tzinfo
    meters: "Meters | None"
    costs: Callable[[threading.Event], "CostReport"]
    mark: str
    framed_by: str = ""
    listening_url: str = field(default="", init=False)

    @classmethod
    def of(cls, settings: Settings, framed_by: str = "") -> Self:
        """Return the API that the settings ask for; ``framed_by`` is ``PageParts``'s."""
        about = (settings.http, settings.home, ZoneInfo(settings.approvals.exec.zone))
        costs = partial(_costs, settings)
        if not settings.http.enabled:
            return cls(*about, None, costs, settings.mark)
        from bot.api.http.metrics import Meters  # noqa: PLC0415 - loaded where it is wanted only

        return cls(*about, Meters(), costs, settings.mark, framed_by)

    def page_url(self) -> str:
        """Return where people open the control page; empty if it is off."""
        if self.meters is None:
            return ""
        return self.section.url or self.listening_url

    def counted_store(self, store: Store) -> Store:
        """Return a store whose writes are timed."""
        if self.meters is None:
            return store
        from core.store.engine.timed import TimedStore  # noqa: PLC0415 - loaded where it is wanted only

        return TimedStore(store, self.meters.store_write)

    def counted_journal(self, journal: Journal) -> Journal:
        """Return a journal whose records are counted."""
        if self.meters is None:
            return journal
        from bot.api.http.metrics import MeteredJournal  # noqa: PLC0415 - loaded where it is wanted only

        return MeteredJournal(journal, self.meters)

    async def open(
        self, stack: AsyncExitStack, table: Table, gate: Gate, health: "Report", prover: Prover
    ) -> str | None:
        """Serve until the stack ends; return the base URL, ``None`` if the API is off.

        Both entry points are added to the prover.

        Raises:
            StateError: the address cannot listen, or the certificate cannot be used.
        """
        if self.meters is None:
            return None
        from bot.api.app import Parts, api  # noqa: PLC0415 - loaded where it is wanted only
        from bot.api.gate_proof import RestEntryPoint, WebSocketEntryPoint  # noqa: PLC0415 - as above
        from bot.page.app import PageParts, pages_of  # noqa: PLC0415 - as above

        stopped = threading.Event()
        stack.callback(stopped.set)
        costs = partial(self.costs, stopped)
        room = PageParts(
            table, gate, self.section, self.zone, costs, self.mark, self.page_url, self.framed_by
        )
        parts = Parts(
            table, gate, health, self.meters, self.section, self.home, pages=pages_of(room)
        )
        listening = await stack.enter_async_context(api(parts))
        self.listening_url = listening.url
        prover.add(RestEntryPoint(listening, parts.proving))
        prover.add(WebSocketEntryPoint(listening, parts.proving))
        return listening.url
