"""Seal the cookie of a page's session, so that only the signed-in browser's Unix user can use it.

Browsers send a cookie to every server of its host name, whatever the port (RFC 6265, 8.5). The web
server of another user of this machine, such as one that agents run as, gets it when the person
opens one of its pages. So the cookie is sealed for the user at the other end of the connection, as
the kernel knows it, and no one else can read the session's token from it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from starlette.types import Scope

from bot.api.http.client import client_of
from bot.page.visit import cookies
from core.errors import Unauthenticated
from core.settings.http import HttpSection
from core.trust.sealing import Seals

_SESSION: Final = "page session"
_BROWSER: Final = "page browser"


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """The name and content of the session's cookie.

    ``mark`` is the gateway's own: all gateways of a host are sent each other's cookies.
    """

    section: HttpSection
    seals: Seals
    mark: str

    @property
    def name(self) -> str:
        """Return the cookie's name; its prefix makes browsers restrict it to its host."""
        return (
            f"__Host-sayso-{self.mark}" if self.section.is_secure else f"sayso_session_{self.mark}"
        )

    @property
    def browser_name(self) -> str:
        """Return the name of the cookie that binds a link to the browser that opened it."""
        is_secure = self.section.is_secure
        return f"__Host-sayso-browser-{self.mark}" if is_secure else f"sayso_browser_{self.mark}"

    def sealed(self, token: str, scope: Scope) -> str | None:
        """Return the cookie's value for the sender of a request; ``None`` if that is unknown.

        Raises:
            StateError: the store's key cannot be read or made.
        """
        return self._sealed(token, _SESSION, scope)

    def token(self, scope: Scope) -> str:
        """Return the session's token from a request's cookie, empty without one.

        Raises:
            Unauthenticated: it was issued to somebody else, or is not one of ours.
            StateError: the store's key cannot be read.
        """
        values = cookies(scope, self.name)
        if not any(values):
            return ""
        token = next(self._opened(values, _SESSION, scope), None)
        if token is None:
            raise Unauthenticated("this cookie is not a session of its sender")
        return token

    def sealed_browser(self, browser: str, scope: Scope) -> str | None:
        """Return the value of the cookie that binds a link, ``None`` if the user is unknown.

        Raises:
            StateError: the store's key cannot be read or made.
        """
        return self._sealed(browser, _BROWSER, scope)

    def browsers(self, scope: Scope) -> tuple[str, ...]:
        """Return the links that a browser is already bound to; no other server can have set these.

        Raises:
            StateError: the store's key cannot be read.
        """
        return tuple(self._opened(cookies(scope, self.browser_name), _BROWSER, scope))

    def _sealed(self, secret: str, use: str, scope: Scope) -> str | None:
        owner = _owner(scope, self.section)
        return None if owner is None else self.seals.seal(f"{owner}\n{secret}", use)

    def _opened(self, values: Iterable[str], use: str, scope: Scope) -> Iterator[str]:
        """Yield the values sealed for the sender; whose the others are is not looked up."""
        for text in self.seals.opened_among(values, use):
            owner, _, secret = text.partition("\n")
            if owner == _owner(scope, self.section):
                yield secret


def _owner(scope: Scope, section: HttpSection) -> str | None:
    """Return who sent a request, as far as this machine knows; ``None`` if it should but cannot.

    Without TLS, other machines are distinguished by their address; with it, their browsers keep the
    cookie from servers that have no certificate for its host.
    """
    peer = scope.get("client")
    if peer is None or scope.get("server") is None:
        return None
    client = client_of(scope)
    if client.uid is not None:
        return f"user {client.uid}"
    if client.local:
        return None
    return "another machine" if section.is_secure else f"the machine at {peer[0]}"
