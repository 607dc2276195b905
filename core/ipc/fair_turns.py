"""Limit the requests that each user of a shared socket begins at a time, so that all get a turn.

::

    request is read ─▶ waits for a turn of its user ─▶ begins ─▶ answered, or FOR_S later: next one

One connection may have many requests in flight and a user many connections; requests begun at once
are served concurrently with all of the owner's. Most requests take work only at their beginning and
then wait, for people or for a command, so a turn ends after a moment at the latest.
"""

import asyncio
from dataclasses import dataclass, field

AT_ONCE = 4
"""Turns of one user at a time."""
FOR_S = 0.1


class Turn:
    """A turn that was taken; it ends once, the first time that ``end`` is called."""

    __slots__ = ("_places", "_timer")

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._timer: asyncio.TimerHandle | None = None
        self._timer = asyncio.get_running_loop().call_later(FOR_S, self.end)

    def end(self, _task: object = None) -> None:
        """Let the next request begin; also a callback of the task that answers this one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._places.release()


@dataclass(slots=True)
class FairTurns:
    """The turns of the users of one socket; few are listed, so none is forgotten."""

    _users: dict[int, asyncio.Semaphore] = field(default_factory=dict)

    async def take(self, uid: int) -> Turn:
        """Wait for a turn, first come first served."""
        places = self._users.setdefault(uid, asyncio.Semaphore(AT_ONCE))
        await places.acquire()
        return Turn(places)
