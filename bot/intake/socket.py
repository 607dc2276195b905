"""Serve the method table on gateway.sock; the kernel says who calls."""

from collections.abc import Mapping

from bot.intake.caller import of_peer
from bot.intake.methods import AnyMethod, Table, invoke
from core.ipc.jsonrpc import Handler, Notify
from core.ipc.unix import Peer


def handlers(table: Table) -> Mapping[str, Handler]:
    """Return what the socket calls for each method."""
    return {name: _handler(method) for name, method in table.items()}


def _handler(method: AnyMethod) -> Handler:
    async def handle(params: dict[str, object], peer: Peer, notify: Notify) -> object:
        return await invoke(method, params, of_peer(peer, notify))

    return handle
