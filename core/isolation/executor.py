"""Track one executor: whose it is, what it does, how far it is."""

import asyncio
from dataclasses import dataclass, field

from core.isolation.call_audit import Caller
from core.isolation.client import Client
from core.isolation.process import Process
from core.isolation.tokens import Holder
from core.runner.link import Link


@dataclass(slots=True, eq=False)
class Executor:
    """An executor as the pool sees it; ``ending`` once the gateway wants nothing more of it.

    ``leaders`` are the processes that lead what it started: number, and start in ticks.
    """

    id: str
    user: str
    process: Process = field(init=False)
    client: Client = field(init=False)
    ending: bool = False
    run_id: str = ""
    token: str = ""
    holder: Holder | None = None
    link: Link | None = None
    leaders: list[object] = field(default_factory=list)
    completed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def caller(self) -> Caller:
        """Return who this is, for the journal."""
        session = "" if self.holder is None else self.holder.session
        return Caller(self.id, self.user, self.run_id, session)
