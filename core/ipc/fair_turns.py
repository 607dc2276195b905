"""Limit the requests that each user of a shared socket begins at a time, so that all get a turn.

::

    request is read ─▶ waits for a turn of its user ─▶ begins ─▶ answered, or FOR_S later: next one

One connection may have many requests in flight and a user many connections; what is begun at once
is served side by side with all that the owner asks. Most requests are work at their begin alone
and then wait, for people or for a command, so a turn ends after a moment at the latest.
"""

import asyncio
from dataclasses import dataclass, field

AT_ONCE = 4
"""Turns of one user at a time."""
FOR_S = 0.1


class Turn:
    """A turn that was taken; it ends once, by whoever is first."""

    __slots__ = ("_places", "_timer")

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._timer: asyncio.TimerHandle | None = None
        self._timer = asyncio.get_running_loop().call_later(FOR_S, self.end)

    def end(self, _task: object = None) -> None:
        """Let the next request begin; a callback of the task that answers this one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._places.release()


@dataclass(slots=True)
class FairTurns:
    """The turns of the users of one socket; few are listed, so none is forgotten."""

    _users: dict[int, asyncio.Semaphore] = field(default_factory=dict)

    async def take(self, uid: int) -> Turn:
        """Wait for a turn, in the order of those who wait."""
        places = self._users.setdefault(uid, asyncio.Semaphore(AT_ONCE))
        await places.acquire()
        return Turn(places)
