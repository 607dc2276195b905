"""Track one executor: whose it is, what it does, how far it has got."""

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from core.isolation import wire
from core.isolation.call_audit import Caller
from core.isolation.client import Client
from core.isolation.containment import Cgroup
from core.isolation.process import Process
from core.isolation.tokens import Holder
from core.runner.link import Link


class Talk(Protocol):
    """What handles the executor's calls while it runs an agent."""

    async def api_key(self, params: wire.Object) -> wire.Object:
        """Return the key of a service (``get_api_key``).

        Raises:
            SaysoError: this run has none.
        """

    async def permission(self, params: wire.Object) -> wire.Object:
        """Have people decide on a tool call (``request_permission``).

        Raises:
            SaysoError: it cannot be submitted for approval.
        """

    def message(self, kind: str, data: wire.Object) -> None:
        """Handle what the agent says and does (``report_message``)."""


@dataclass(slots=True, eq=False)
class Executor:
    """An executor as the pool sees it; ``ending`` once the gateway wants nothing more of it.

    ``leaders`` are the processes that lead what it started: number, and start in ticks.
    ``cgroup`` contains all of that, if it has one.
    ``closed``: it reports that no process of its user could inspect it while it started.
    """

    id: str
    user: str
    process: Process = field(init=False)
    client: Client = field(init=False)
    ending: bool = False
    closed: bool = False
    cgroup: Cgroup | None = None
    run_id: str = ""
    token: str = field(default="", repr=False)
    holder: Holder | None = None
    link: Link | None = None
    talk: Talk | None = None
    leaders: list[object] = field(default_factory=list)
    completed: asyncio.Event = field(default_factory=asyncio.Event)

    def hang_up(self) -> None:
        """Close the connection; it exists before the loop can notice that the process ended."""
        self.client.close()

    @property
    def leader(self) -> tuple[int, int] | None:
        """Return the process of the agent or the shell: its pid, and its start time in ticks."""
        return _identity(self.leaders[:1])

    @property
    def adopter(self) -> tuple[int, int] | None:
        """Return the process whose descendant each of them stays, in any case: the executor."""
        return _identity(self.leaders[-1:])

    @property
    def caller(self) -> Caller:
        """Return this executor as a caller, for the journal."""
        session = "" if self.holder is None else self.holder.session
        return Caller(self.id, self.user, self.run_id, session)


def _identity(named: list[object]) -> tuple[int, int] | None:
    first = named[0] if named else None
    return (int(first[0]), int(first[1])) if isinstance(first, list) else None
