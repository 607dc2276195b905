"""Limit how many runs there are at a time; give places to users in turn, and to their sessions."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.model.identity import SessionKey

_Place = asyncio.Future[None]


@dataclass(slots=True)
class _Queues:
    """The runs of one user that wait for a place, by session."""

    by_session: OrderedDict[SessionKey, OrderedDict[_Place, None]] = field(
        default_factory=OrderedDict
    )

    def add(self, session: SessionKey, place: _Place) -> None:
        """Have a run wait behind the others of its session."""
        self.by_session.setdefault(session, OrderedDict())[place] = None

    def drop(self, session: SessionKey, place: _Place) -> None:
        """Let a run wait no longer: others may have the places for hours."""
        queue = self.by_session.get(session)
        if queue is not None:
            queue.pop(place, None)
            if not queue:
                del self.by_session[session]

    def next(self) -> _Place | None:
        """Return the next run of the session that has waited longest since its last one."""
        while self.by_session:
            session, queue = self.by_session.popitem(last=False)
            place, _ = queue.popitem(last=False)
            if queue:
                self.by_session[session] = queue  # after all others
            if not place.done():
                return place
        return None


class FairTurns:
    """Places for runs: a user that asks for many delays each other user by one at most.

    So does one session of a user the user's other sessions. ``lost`` returns how many places a user
    cannot use now: one more turn for it would only keep a place from the others.
    """

    def __init__(self, most: int, lost: Callable[[str], int] = lambda _user: 0) -> None:
        self._most = self._free = most
        self._lost = lost
        self._taken: Counter[str] = Counter()
        self._waiting: OrderedDict[str, _Queues] = OrderedDict()

    def of(self, user: str) -> "UserTurns":
        """Return the turns of one Unix user."""
        return UserTurns(self, user)

    async def take(self, unwanted: asyncio.Event, user: str, session: SessionKey) -> bool:
        """Wait for a place, which has to be released; ``False``: unwanted before one was free."""
        place: _Place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, _Queues()).add(session, place)
        self._give()
        if place.done():
            return True
        word = asyncio.ensure_future(unwanted.wait())
        try:
            await asyncio.wait((place, word), return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            self._give_up(place, user, session)
            raise
        finally:
            word.cancel()
        if place.done():
            return True
        self._give_up(place, user, session)
        return False

    def release(self, user: str) -> None:
        """Give a user's place to the next."""
        self._free += 1
        self._taken[user] -= 1
        if not self._taken[user]:
            del self._taken[user]
        self._give()

    def regained(self) -> None:
        """Give out what a user may use again, because fewer of its places are lost."""
        self._give()

    def _give_up(self, place: _Place, user: str, session: SessionKey) -> None:
        """Stop waiting, or give the place back if it was assigned just now."""
        if not place.cancel():
            self.release(user)
            return
        queues = self._waiting.get(user)
        if queues is not None:
            queues.drop(session, place)
            if not queues.by_session:
                del self._waiting[user]

    def _give(self) -> None:
        """Give what is free to the users that have waited longest since their last place."""
        while self._free and (user := self._next()) is not None:
            self._free -= 1
            self._taken[user] += 1
            self._waiting.move_to_end(user)

    def _next(self) -> str | None:
        """Let the next run go on; return its user, ``None`` if none may."""
        for user in filter(self._may_have, tuple(self._waiting)):
            place = self._waiting[user].next()
            if place is not None:
                place.set_result(None)
                return user
            del self._waiting[user]
        return None

    def _may_have(self, user: str) -> bool:
        """Return whether one more place is of use to a user; one turn is, to be refused in."""
        return self._taken[user] < max(1, self._most - self._lost(user))


@dataclass(frozen=True, slots=True)
class UserTurns:
    """The turns of one user; implements ``core.runner.concurrency.StartOrder``."""

    turns: FairTurns
    user: str

    @asynccontextmanager
    async def turn(self, unwanted: asyncio.Event, session: SessionKey) -> AsyncIterator[bool]:
        """Hold a place for as long as the block lasts; ``False``: unwanted before one was free."""
        got = await self.turns.take(unwanted, self.user, session)
        try:
            yield got
        finally:
            if got:
                self.turns.release(self.user)
