"""Recognise a person at a terminal; only they grant rights on gateway.sock (docs/decisions/0009).

The socket is shared with agents of the same uid. Calls that could grant rights count only from the
foreground of a terminal whose kernel session never asked for anything.
"""

from dataclasses import dataclass, field

from bot.intake.callers import unix_peer
from bot.intake.callers.caller import Caller
from core.model.identity import Requester
from core.store import Store
from core.store.people import people

_MOST_SESSIONS = 4_096
RUN_BY_US = (
    "This command was started by Sayso for a requester, so it counts as the requester's. Use a "
    "terminal."
)


@dataclass(slots=True)
class Askers:
    """The kernel sessions that asked to run something, whether or not a person was asked."""

    store: Store
    _here: dict[tuple[int, int], None] = field(default_factory=dict)

    def note(self, requester: Requester) -> None:
        """Remember who asked; beyond a limit the oldest are kept only in the store."""
        if requester.process is None:
            return
        self._here.pop(requester.process, None)
        self._here[requester.process] = None
        if len(self._here) > _MOST_SESSIONS:
            del self._here[next(iter(self._here))]

    async def known(self, requester: Requester) -> bool:
        """Return whether this kernel session has asked, here or before a restart."""
        if requester.process is None or requester.process in self._here:
            return True
        return await self.store.read(people.has_asked, requester)

    async def refusal(self, caller: Caller) -> str | None:
        """Return why a caller may not grant rights, ``None`` if it may.

        Over the network there is no terminal; the method's scope has been checked instead.
        """
        if caller.peer is None:
            return None
        if not unix_peer.at_terminal(caller.peer):
            return (
                "Only a person at a terminal may do this: run it there in the foreground. Nothing "
                "was changed."
            )
        if unix_peer.is_run(caller.peer.pid):
            return f"{RUN_BY_US} Nothing was changed."
        if await self.known(caller.requester):
            return (
                "This terminal has requested commands, so it counts as a requester's. Use "
                "another terminal. Nothing was changed."
            )
        return None
