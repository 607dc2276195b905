"""Serve the method table on the owner's and the shared socket; the kernel identifies callers."""

import pwd
from collections.abc import Callable, Mapping

from bot.intake.callers.caller import Admitted, Caller, of_peer
from bot.intake.registry.method import AnyMethod, Table, invoke
from core.errors import ConfigError
from core.ipc.jsonrpc import Handler, Notify
from core.ipc.peer import Peer
from core.model.identity import AgentId
from core.settings.gateway import UnixUserSection

CallerOf = Callable[[Peer, Notify | None], Caller]


def handlers(table: Table, caller_of: CallerOf = of_peer) -> Mapping[str, Handler]:
    """Return the handler that a socket calls for each method."""
    return {name: _handler(method, caller_of) for name, method in table.items()}


def urgent(table: Table) -> frozenset[str]:
    """Return the names of the methods that need no place."""
    return frozenset(name for name, method in table.items() if method.urgent)


def admitted(users: tuple[UnixUserSection, ...]) -> Mapping[int, Admitted]:
    """Return what each listed user may do, by uid; entries of one user are combined.

    Raises:
        ConfigError: no user has a given name.
    """
    found: dict[int, Admitted] = {}
    for one in users:
        uid = _uid(one)
        known = found.get(uid, Admitted(frozenset(), frozenset()))
        agents = known.agents | {AgentId(name) for name in one.agents}
        found[uid] = Admitted(agents, known.scopes | frozenset(one.may))
    return found


def _uid(user: UnixUserSection) -> int:
    if user.uid is not None:
        return user.uid
    try:
        return pwd.getpwnam(user.user or "").pw_uid
    except KeyError:
        raise ConfigError(
            f"intake.unix names the user {user.user!r}, which does not exist on this machine. "
            "Create the user, or correct the name."
        ) from None


def _handler(method: AnyMethod, caller_of: CallerOf) -> Handler:
    async def handle(params: dict[str, object], peer: Peer, notify: Notify) -> object:
        return await invoke(method, params, caller_of(peer, notify))

    return handle
