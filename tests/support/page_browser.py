"""Sign in to the control page as a browser does, and use it over plain HTTP."""

import os
import re
from dataclasses import dataclass
from typing import Any

import httpx

from core.model.access import Scope
from core.store.people import page_links
from tests.support.api_gateway import ApiGateway, trusted_authorities

PERSON_SCOPES = frozenset({Scope.APPROVE, Scope.READ})
ADMIN_SCOPES = PERSON_SCOPES | {Scope.ADMIN}
GOES_TO = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
"""The headers that browsers send for a page that a person opens."""
_CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')


def link_for(
    home: ApiGateway, person: str = "ana", scopes: frozenset[Scope] = PERSON_SCOPES
) -> str:
    """Make a link as `sayso login` does; return its path."""
    made = home.do(home.gateway.store.write(page_links.create, person, scopes, "uid:0"))
    return f"/login/{made.secret}"


def session_token(home: ApiGateway, browser: "PageBrowser") -> str:
    """Return the token inside the session cookie of a browser of this process."""
    sealed = browser.session
    text = home.gateway.gate.broker.seals.opened(sealed, "page session")
    assert text is not None
    owner, _, token = text.partition("\n")
    assert owner == f"user {os.geteuid()}"
    return token


@dataclass(slots=True)
class PageBrowser:
    """A browser without JavaScript: cookies, forms, and the Origin that browsers send."""

    http: httpx.Client

    @classmethod
    def at(cls, home: ApiGateway, **headers: str) -> "PageBrowser":
        """Open a browser that is not signed in; it is closed when the gateway ends."""
        trusted = trusted_authorities()
        made = httpx.Client(base_url=home.url, timeout=20, headers=headers, verify=trusted)
        home.clients[object()] = made
        return cls(made)

    @classmethod
    def signed_in(
        cls, home: ApiGateway, person: str = "ana", scopes: frozenset[Scope] = PERSON_SCOPES
    ) -> "PageBrowser":
        """Open a browser and sign in by a link."""
        made = cls.at(home)
        made.sign_in(link_for(home, person, scopes))
        return made

    def sign_in(self, path: str) -> None:
        """Open a link and press its button."""
        assert (got := self.get(path)).status_code == 200, got.text
        entered = self.post(path)
        assert entered.status_code == 303, entered.text

    def get(self, path: str, **more: Any) -> httpx.Response:
        """Open an address, as a person does."""
        more["headers"] = {**GOES_TO, **more.get("headers", {})}
        return self.http.get(path, **more)

    @property
    def session(self) -> str:
        """Return the secret of the session, empty if this browser is not signed in."""
        jar = self.http.cookies.jar
        return next((one.value or "" for one in jar if "sayso_session" in one.name), "")

    def csrf(self, path: str = "/") -> str:
        """Return the CSRF token in the forms of a page."""
        found = _CSRF.search(self.get(path).text)
        assert found is not None
        return found[1]

    def post(self, path: str, origin: str | None = "", **fields: str) -> httpx.Response:
        """Send a form from our own page; with ``None`` as ``origin``, no Origin is sent."""
        own = str(self.http.base_url).rstrip("/") if origin == "" else origin
        headers = {} if own is None else {"Origin": own}
        return self.http.post(path, data=fields, headers=headers)

    def submit(self, path: str, **fields: str) -> httpx.Response:
        """Send a form with the CSRF token of this session."""
        return self.post(path, csrf=self.csrf("/sessions"), **fields)

    def answer(self, approval_id: str, decision: str, **fields: str) -> httpx.Response:
        """Answer an approval with a form."""
        return self.submit(f"/approve/{approval_id}/answer", decision=decision, **fields)
