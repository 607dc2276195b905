"""Read one request of a browser: whose session, what its form says, and that it is our own.

A session's secret travels in a cookie only (HttpOnly, SameSite=Strict). What changes something is a
POST with the CSRF token of the session, from our own origin.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
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
_FORM = b"application/x-www-form-urlencoded"
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
"""What every answer has. A stricter referrer policy would take Origin from our own forms."""


@dataclass(slots=True)
class Visit:
    """One request; ``caller`` is ``None`` for who is not signed in."""

    scope: Scope
    receive: Receive
    section: HttpSection
    caller: Caller | None
    session: str = field(default="", repr=False)
    _form: dict[str, str] | None = None

    @property
    def who(self) -> Caller:
        """Return who is signed in.

        Raises:
            Fault: nobody is.
        """
        if self.caller is None:
            raise Fault(FaultCode.UNAUTHORISED, "You are not signed in.")
        return self.caller

    @property
    def person(self) -> str:
        """Return the name of who is signed in, empty where nobody is."""
        actor = None if self.caller is None else self.caller.actor
        return "" if actor is None else actor.name

    @property
    def reader(self) -> Actor | None:
        """Return who reads the answer; nobody reads a HEAD's, or a page that is loaded ahead."""
        ahead = header(self.scope, b"sec-purpose") or header(self.scope, b"purpose")
        return None if ahead or self.scope["method"] == "HEAD" else self.who.actor

    @property
    def csrf(self) -> str:
        """Return the token that a form of this session carries."""
        return csrf_of(self.session) if self.session else ""

    @property
    def wants_json(self) -> bool:
        """Return whether our own script asks, which shows the answer by itself."""
        return wants_json(self.scope)

    def path(self, name: str) -> str:
        """Return a part of the address."""
        return str(self.scope["path_params"][name])

    def query(self) -> dict[str, str]:
        """Return the parameters of the address.

        Raises:
            Fault: they are malformed, or one is given twice.
        """
        return _pairs(self.scope["query_string"], "The address")

    async def form(self, *, signed: bool = True) -> dict[str, str]:
        """Return the fields of the form, each once; ``signed``: with the session's CSRF token.

        Raises:
            Fault: it is none of ours, or its CSRF token is not this session's.
        """
        if self._form is None:
            kind = (header(self.scope, b"content-type") or b"").partition(b";")[0].strip().lower()
            if kind != _FORM:
                raise Fault(FaultCode.WRONG_TYPE, "The form is not URL-encoded.")
            most = min(_LARGEST_FORM, self.section.limits.body_bytes)
            body = await read_body(self.scope, self.receive, most, self.section.limits.patience)
            self._form = _pairs(body, "The form")
            needed = signed and bool(self.session)
            if needed and not hmac.compare_digest(self._form.pop(CSRF, ""), self.csrf):
                raise Fault(FaultCode.WRONG_SITE, "The form is out of date. Reload the page.")
        return self._form


def csrf_of(session: str) -> str:
    """Return the CSRF token of a session: nothing that can be computed without its cookie."""
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


def cookies(scope: Scope) -> dict[str, str]:
    """Return the cookies of a request; one that is there twice or malformed counts as none."""
    try:
        text = (header(scope, b"cookie") or b"").decode("ascii")
        jar = SimpleCookie(text)
    except (Fault, UnicodeDecodeError, CookieError):
        return {}
    names = [part.partition("=")[0].strip() for part in text.split(";")]
    return {name: one.value for name, one in jar.items() if names.count(name) == 1}


def wants_json(scope: Scope) -> bool:
    """Return whether a script of ours asks."""
    return says(scope, b"accept", b"application/json")


def says(scope: Scope, name: bytes, value: bytes) -> bool:
    """Return whether a request has a header once, with this value; for pages about faults."""
    return [found for key, found in scope["headers"] if key == name] == [value]


def page(text: str, status: int = 200) -> Response:
    """Return a page."""
    return HTMLResponse(text, status, dict(HEADERS))


def data(value: object, status: int = 200) -> Response:
    """Return what a script of ours reads."""
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
    """Send a browser to another page of ours after a form."""
    return Response(status_code=303, headers={**HEADERS, "Location": path})
