"""Define where a runner takes its supervisors from."""

from dataclasses import dataclass
from typing import Protocol

from core.model.identity import ApprovalId, SessionKey
from core.runner.link import Link
from core.runner.supervisor.protocol import Private


@dataclass(frozen=True, slots=True)
class Order:
    """What a supervisor is needed for; ``fresh``: one that has not had a job yet.

    ``private`` is the folder that will be the run's own.
    """

    run_id: ApprovalId
    session: SessionKey
    fresh: bool = False
    private: Private | None = None


ANY = Order(ApprovalId(""), SessionKey(""))
"""Any supervisor, for no run in particular."""


class Supply(Protocol):
    """A source of supervisors. ``lost`` is what a run whose supervisor died prints."""

    lost: str

    @property
    def launcher_pid(self) -> int:
        """Return the launcher's process number, 0 if there is none."""

    async def start(self) -> None:
        """Make supervisors available.

        Raises:
            SpawnError: none can be started.
        """

    async def stop(self) -> None:
        """End what waits for a job."""

    async def take(self, order: Order = ANY) -> Link:
        """Return a supervisor that waits for its job.

        Raises:
            SpawnError: none is available.
            HostUnavailable: none can be started here.
        """

    def put_back(self, link: Link) -> None:
        """Put back a supervisor that got no job after all, or takes another."""

    def discard(self, link: Link) -> None:
        """End a supervisor that takes no other job."""

    def kill(self, pid: int) -> None:
        """Kill a supervisor that no longer answers, with all that it started."""
