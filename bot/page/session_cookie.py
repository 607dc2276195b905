"""The cookie of a page's session: it counts only for the Unix user whose browser was signed in.

Browsers send a cookie to every server of its host name, whatever the port (RFC 6265, 8.5). The web
server of another user of this machine, such as one that agents run as, gets it when the person
opens what that serves. So the cookie is sealed for the user at the other end of the connection, as
the kernel knows it, and holds the session's token for nobody else.
"""

import ipaddress
from dataclasses import dataclass

from starlette.types import Scope

from bot.page.visit import cookies
from core.errors import Unauthenticated
from core.runner import tcp_peer
from core.settings.http import HttpSection
from core.trust.sealing import Seals


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """What the session's cookie is called, and what is in it.

    ``mark`` is the gateway's own: all gateways of a host are sent each other's cookies.
    """

    section: HttpSection
    seals: Seals
    mark: str

    @property
    def name(self) -> str:
        """Return the cookie's name; the prefix makes browsers hold it to its host."""
        return (
            f"__Host-sayso-{self.mark}" if self.section.is_secure else f"sayso_session_{self.mark}"
        )

    @property
    def browser_name(self) -> str:
        """Return the name of the cookie that binds a link to the browser that opened it."""
        is_secure = self.section.is_secure
        return f"__Host-sayso-browser-{self.mark}" if is_secure else f"sayso_browser_{self.mark}"

    def sealed(self, token: str, scope: Scope) -> str | None:
        """Return the cookie's value for who sent a request; ``None`` if nobody knows who did.

        Raises:
            StateError: the store's key cannot be read or made.
        """
        use = self._use(scope)
        return None if use is None else self.seals.seal(token, use)

    def token(self, scope: Scope) -> str:
        """Return the session's token in a request's cookie, empty without one.

        Raises:
            Unauthenticated: it was given to somebody else, or is none of ours.
            StateError: the store's key cannot be read.
        """
        value = cookies(scope).get(self.name, "")
        if not value:
            return ""
        use = self._use(scope)
        token = None if use is None else self.seals.opened(value, use)
        if token is None:
            raise Unauthenticated("this cookie is no session of who sent it")
        return token

    def _use(self, scope: Scope) -> str | None:
        owner = _owner(scope, self.section)
        return None if owner is None else f"page session of {owner}"


def _owner(scope: Scope, section: HttpSection) -> str | None:
    """Return who sent a request, as far as this machine knows; ``None`` if it must know and cannot.

    Other machines are distinguished by their address where there is no TLS; with it, their browsers
    keep the cookie from servers that have no certificate for its host.
    """
    peer, own = scope.get("client"), scope.get("server")
    if peer is None or own is None:
        return None
    uid = tcp_peer.uid_of(peer, own)
    if uid is not None:
        return f"user {uid}"
    if tcp_peer.is_known() and (peer[0] == own[0] or _is_loopback(peer[0])):
        return None
    return "another machine" if section.is_secure else f"the machine at {peer[0]}"


def _is_loopback(host: str) -> bool:
    address = ipaddress.ip_address(host.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
