"""Find out who sent a request, as far as this machine knows: an address or a local Unix user.

All users of a machine share its loopback addresses. What is otherwise counted by or bound to an
address is counted by or bound to a user there, as the kernel knows the other end of the connection.
"""

import ipaddress
import time
from dataclasses import dataclass
from typing import Final

from starlette.types import Scope

from bot.api.http.errors import Fault, FaultCode, too_many
from bot.api.http.rate_limits import Buckets
from core.ipc.users import owner_of
from core.runner import tcp_peer

_FOUND: Final = "client"
"""The key in a scope's state that holds what was found."""
_SOMEBODY_HERE: Final = "this machine"


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request. ``uid`` is ``None`` if the kernel names no user of this machine.

    ``local``: the connection comes from this machine, so the kernel names its user.
    """

    address: str
    uid: int | None = None
    local: bool = False

    @property
    def key(self) -> str:
        """Return what this client is counted under.

        On this machine that is a user, whatever the address and the uid: all of 127.0.0.0/8 belongs
        to everybody, and a user may have several uids.
        """
        if self.uid is None:
            return _SOMEBODY_HERE if self.local else self.address
        owner = owner_of(self.uid)
        return f"uids of {owner}" if owner else f"uid {self.uid}"


def client_of(scope: Scope) -> Client:
    """Return who sent a request; the kernel is asked once per request.

    Raises:
        Fault: the kernel cannot be asked.
    """
    state = scope.setdefault("state", {})
    found = state.get(_FOUND)
    if not isinstance(found, Client):
        found = state[_FOUND] = client_at(scope.get("client"), scope.get("server"))
    return found


def count_failure(failed: Buckets, scope: Scope) -> None:
    """Count one failed attempt of a client.

    Raises:
        Fault: there were too many.
    """
    wait = failed.take(client_of(scope).key, time.monotonic())
    if wait:
        raise too_many(wait)


def client_at(peer: tcp_peer.Address | None, own: tcp_peer.Address | None) -> Client:
    """Return the client at the other end of a connection to ``own``.

    Raises:
        Fault: the kernel cannot be asked.
    """
    address = _counted(peer)
    if peer is None or own is None or not _is_address(peer[0]):
        return Client(address)
    try:
        uid = tcp_peer.uid_of(peer, own)
    except OSError as error:
        words = f"The system could not be asked who sent this request: {error.strerror}."
        raise Fault(FaultCode.UNAVAILABLE, words, {"Retry-After": "1"}) from None
    local = uid is not None or peer[0] == own[0] or _parsed(peer[0]).is_loopback
    return Client(address, uid, local=local and tcp_peer.is_known())


def address_of(scope: Scope) -> str:
    """Return the address of a client; for IPv6, its /64 network."""
    return _counted(scope.get("client"))


def _counted(peer: tcp_peer.Address | None) -> str:
    if peer is None:
        return "unknown"
    if not _is_address(peer[0]):
        return str(peer[0])
    address = _parsed(peer[0])
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False).network_address)
    return str(address)


def _is_address(host: str) -> bool:
    try:
        _parsed(host)
    except ValueError:
        return False
    return True


def _parsed(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an address; for one of IPv4 on an IPv6 socket, the plain IPv4 address."""
    address = ipaddress.ip_address(host.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address
