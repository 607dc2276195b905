"""Read one request of a browser: its session, its form, and whether it comes from our own page.

A session's secret travels in a cookie only (HttpOnly, SameSite=Strict). Whatever changes something
is a POST with the CSRF token of the session, from our own origin.
"""

import hashlib
import hmac
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope

from bot.api.http.bodies import header, read_body
from bot.api.http.errors import Fault, FaultCode
from bot.intake.callers.caller import Caller
from core.model.identity import Actor
from core.settings.http import HttpSection

CSRF = "csrf"
"""The field of a form, and the key in templates."""
_LONGEST_NAME = 60
_FORM = b"application/x-www-form-urlencoded"
_NO_FORM = "The form is not URL-encoded."
_MOST_FIELDS = 4_000
_LARGEST_FORM = 1 << 20
_UNFRAMED = "frame-ancestors 'none'"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; worker-src 'self'; "
    f"form-action 'self'; base-uri 'none'; {_UNFRAMED}"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}
"""Headers of every answer. A stricter referrer policy would strip Origin from our own forms."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a form: by name, and by prefix where the page has one for each item."""

    names: frozenset[str] = frozenset()
    each: re.Pattern[str] | None = None

    @classmethod
    def of(cls, names: str, each: str = "") -> "Fields":
        """Return fields from a list of names separated by blanks."""
        return cls(frozenset(names.split()), re.compile(each) if each else None)

    def has(self, name: str) -> bool:
        """Return whether a field is one of these."""
        return name in self.names or (self.each is not None and bool(self.each.fullmatch(name)))


NO_FIELDS: Final = Fields()
_OUR_SITE: Final = frozenset({b"same-origin", b"none"})
"""How browsers mark requests that our own page or the person made (Fetch Metadata)."""


@dataclass(slots=True)
class Visit:
    """One request; ``caller`` is ``None`` for visitors who are not signed in.

    ``fields`` are those that its form may have, ``asks`` the parameters that its address may have.
    """

    scope: Scope
    receive: Receive
    section: HttpSection
    caller: Caller | None
    session: str = field(default="", repr=False)
    fields: Fields = NO_FIELDS
    asks: Fields | None = None
    _form: dict[str, str] | None = None

    @property
    def who(self) -> Caller:
        """Return the caller who is signed in.

        Raises:
            Fault: nobody is.
        """
        if self.caller is None:
            raise Fault(FaultCode.UNAUTHORISED, "You are not signed in.")
        return self.caller

    @property
    def person(self) -> str:
        """Return the name of the person who is signed in, empty if nobody is."""
        actor = None if self.caller is None else self.caller.actor
        return "" if actor is None else actor.name

    @property
    def reader(self) -> Actor | None:
        """Return who reads the answer.

        Nobody reads the answer to a HEAD, a page that is loaded ahead, or what a page of another
        server on this host fetches: a browser sends the cookie along, because sites have no ports.
        """
        ahead = header(self.scope, b"sec-purpose") or header(self.scope, b"purpose")
        site = header(self.scope, b"sec-fetch-site")
        another_site = site is not None and site not in _OUR_SITE
        unread = ahead or another_site or self.scope["method"] == "HEAD"
        return None if unread else self.who.actor

    @property
    def csrf(self) -> str:
        """Return the token that a form of this session carries."""
        return csrf_of(self.session) if self.session else ""

    @property
    def wants_json(self) -> bool:
        """Return whether our own script sent this, which shows the answer itself."""
        return wants_json(self.scope)

    def path(self, name: str) -> str:
        """Return a part of the address."""
        return str(self.scope["path_params"][name])

    def query(self) -> dict[str, str]:
        """Return the parameters of the address.

        Raises:
            Fault: they are malformed, or one is given twice or unknown.
        """
        found = _pairs(self.scope["query_string"], "The address")
        if self.asks is not None:
            refuse_others(found, self.asks, "The address")
        return found

    async def form(self, *, signed: bool = True) -> dict[str, str]:
        """Return the fields of the form, each once; ``signed``: with the session's CSRF token.

        Raises:
            Fault: it is not one of ours, its CSRF token is not this session's, or it has an unknown
            field.
        """
        if self._form is None:
            self._form = await self._sent()
        found = {name: text for name, text in self._form.items() if name != CSRF}
        needed = signed and bool(self.session)
        if needed and not hmac.compare_digest(
            self._form.get(CSRF, "").encode(), self.csrf.encode()
        ):
            raise Fault(FaultCode.WRONG_SITE, "The form is out of date. Reload the page.")
        refuse_others(found, self.fields, "The form")
        return found

    async def _sent(self) -> dict[str, str]:
        """Return the body that was sent; an empty one is a form without fields."""
        kind = (header(self.scope, b"content-type") or b"").partition(b";")[0].strip().lower()
        if kind not in {_FORM, b""}:
            raise Fault(FaultCode.WRONG_TYPE, _NO_FORM)
        most = min(_LARGEST_FORM, self.section.limits.body_bytes)
        began = time.monotonic()
        body = await read_body(self.scope, self.receive, most, self.section.limits.patience)
        login = self.scope["state"].get("login")
        if login is not None and self.caller is not None:
            self.caller = await login.after(self.caller, began)
        if body and not kind:
            raise Fault(FaultCode.WRONG_TYPE, _NO_FORM)
        return _pairs(body, "The form")


def refuse_others(names: Iterable[str], known: Fields, what: str) -> None:
    """Refuse unknown names; ``what`` has them: the form, or the address.

    Raises:
        Fault: there is one.
    """
    other = next((name for name in names if not known.has(name)), None)
    if other is not None:
        shown = f"{other[:_LONGEST_NAME]!a}"
        words = f"{what} has a field that is not known here: {shown}. Nothing was changed."
        raise Fault(FaultCode.BAD_REQUEST, words)


def csrf_of(session: str) -> str:
    """Return the CSRF token of a session: it cannot be computed without its cookie."""
    return hmac.new(session.encode(), b"sayso control page form", hashlib.sha256).hexdigest()


def _pairs(text: bytes, what: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            text.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(text),
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise Fault(FaultCode.BAD_REQUEST, f"{what} is malformed.") from None
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Fault(FaultCode.BAD_REQUEST, f"{what} has a field twice.")
    return found


def cookies(scope: Scope, name: str) -> tuple[str, ...]:
    """Return the values of all cookies of one name.

    Other servers of this host set cookies that come along, odd ones and some of our own names: each
    is parsed separately (RFC 6265, 5.4), and the caller decides whose value counts.
    """
    lines = [value for key, value in scope["headers"] if key == b"cookie"]
    pairs = (pair.partition("=") for pair in b";".join(lines).decode("latin-1").split(";"))
    return tuple(value.strip() for key, _, value in pairs if key.strip() == name)


def wants_json(scope: Scope) -> bool:
    """Return whether one of our scripts sent the request."""
    return says(scope, b"accept", b"application/json")


def says(scope: Scope, name: bytes, value: bytes) -> bool:
    """Return whether a request has a header once, with this value; for pages about faults."""
    return [found for key, found in scope["headers"] if key == name] == [value]


def page(text: str, status: int = 200) -> Response:
    """Return a page."""
    return HTMLResponse(text, status, dict(HEADERS))


def data(value: object, status: int = 200) -> Response:
    """Return JSON for one of our scripts."""
    return JSONResponse(value, status, dict(HEADERS))


def let_frame(response: Response, origin: str) -> None:
    """Let pages of one origin show an answer in a frame."""
    name = "Content-Security-Policy"
    if name in response.headers:
        own = response.headers[name]
        response.headers[name] = own.replace(_UNFRAMED, f"frame-ancestors {origin}")
    if "X-Frame-Options" in response.headers:  # it cannot name an origin
        del response.headers["X-Frame-Options"]


def elsewhere(path: str) -> Response:
    """Send a browser to another of our pages after a form."""
    return Response(status_code=303, headers={**HEADERS, "Location": path})
