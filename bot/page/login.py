"""Sign in with a one-time link, and sign out.

Opening the link binds it to this browser by a separate cookie and signs nobody in: the button on
that page does, once. A program that fetches links in chats for a preview opens nothing: browsers
mark each page that a person navigates to (Fetch Metadata), and the link is bound only then. With
browsers that send no such mark, as over plain HTTP, the button binds the link.
"""

import re
import secrets
from dataclasses import dataclass

from starlette.responses import Response

from bot.api.http.bodies import header
from bot.api.http.client import count_failure
from bot.api.http.errors import Fault, FaultCode
from bot.api.http.rate_limits import Buckets
from bot.intake.registry.method import Table, invoke
from bot.page.render import Renderer
from bot.page.session_cookie import SessionCookie
from bot.page.visit import Visit, elsewhere, page
from core.ports import Journal
from core.settings.http import HttpSection
from core.store import Store
from core.store.people import page_links
from core.store.people.page_links import SESSION_LIFE_MS, Link, LinkState
from core.store.people.tokens import NewToken

_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_REFUSALS = {
    LinkState.UNKNOWN: "This link is not known. It may have been mistyped, or made elsewhere.",
    LinkState.EXPIRED: "This link has expired; links last 10 minutes.",
    LinkState.USED: "This link was used already; each signs in once.",
    LinkState.ELSEWHERE: "This link was opened in another browser first, and only works there.",
}
_GONE = "You are not signed in: the browser closed its connection too early. Ask for a new link."
_GOES_TO = {"sec-fetch-mode": b"navigate", "sec-fetch-dest": b"document"}
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("Firefox", "Firefox"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


@dataclass(frozen=True, slots=True)
class LoginPages:
    """The pages for visitors who are not signed in; ``failed`` slows clients that try links."""

    store: Store
    journal: Journal
    table: Table
    section: HttpSection
    render: Renderer
    failed: Buckets
    cookie: SessionCookie

    async def offer(self, visit: Visit) -> Response:
        """Bind a link to this browser and offer to sign in."""
        secret = _secret(visit)
        if visit.scope["method"] == "HEAD":
            return page("")
        browser = next(iter(self.cookie.browsers(visit.scope)), None) or secrets.token_urlsafe(32)
        if _is_opened(visit):
            link = await self.store.write(page_links.open_in, secret, browser)
        else:
            link = await self.store.read(page_links.seen_by, secret, browser)
        if link.state is not LinkState.OPEN:
            return self._refused(visit, link)
        answer = page(self.render.text("login.html", person=link.person, path=visit.scope["path"]))
        kept = self.cookie.sealed_browser(browser, visit.scope)
        if kept is not None:
            self._set(answer, self.cookie.browser_name, kept, page_links.LIFE_MS, "lax")
        return answer

    async def enter(self, visit: Visit) -> Response:
        """Sign in with a new session in this browser; any earlier one is ended."""
        secret = _secret(visit)
        browser = next(iter(self.cookie.browsers(visit.scope)), None)
        if browser is None:
            link = await self.store.read(page_links.seen_by, secret, "")
            never_here = Link(LinkState.ELSEWHERE) if link.state is LinkState.OPEN else link
            return self._refused(visit, never_here)
        label = browser_label(header(visit.scope, b"user-agent") or b"")
        made = await self.store.write(page_links.use, secret, browser, label)
        if isinstance(made, Link):
            return self._refused(visit, made)
        answer = elsewhere("/")
        await self.begin(visit, made, label, answer)
        answer.delete_cookie(self.cookie.browser_name, secure=self.section.is_secure)
        return answer

    async def begin(self, visit: Visit, made: NewToken, label: str, answer: Response) -> None:
        """Start a new session in this browser; any earlier one is ended.

        Raises:
            Fault: the browser's connection is closed, so its user cannot be determined.
        """
        value = self.cookie.sealed(made.text, visit.scope)
        await self._note(visit, made, label)
        if value is None:
            raise Fault(FaultCode.FORBIDDEN, _GONE)
        self._set(answer, self.cookie.name, value, SESSION_LIFE_MS, "strict")

    async def leave(self, visit: Visit) -> Response:
        """Sign this browser out."""
        await visit.form()
        await invoke(self.table["page.end"], {"id": visit.who.token}, visit.who)
        answer = page(self.render.text("signed_out.html", bounce=False, passkeys=False))
        answer.delete_cookie(self.cookie.name, secure=self.section.is_secure)
        return answer

    async def _note(self, visit: Visit, made: NewToken, label: str) -> None:
        record: dict[str, object] = {
            "by": made.token.ref,
            "what": "sign in",
            "person": made.token.person,
            "name": made.token.name,
            "browser": label,
        }
        await self.journal.append("page session", record)
        if visit.caller is not None:
            await invoke(self.table["page.end"], {"id": visit.caller.token}, visit.caller)

    def _refused(self, visit: Visit, link: Link) -> Response:
        count_failure(self.failed, visit.scope)
        return page(self.render.text("said.html", words=_REFUSALS[link.state], visit=visit), 403)

    def _set(self, answer: Response, name: str, value: str, life_ms: int, same: str) -> None:
        answer.headers.append(
            "Set-Cookie",
            f"{name}={value}; Path=/; Max-Age={life_ms // 1000}; HttpOnly; "
            f"SameSite={same.title()}{'; Secure' if self.section.is_secure else ''}",
        )


def _is_opened(visit: Visit) -> bool:
    """Return whether a person opens this page: no fetch, no preview, no page loaded ahead."""
    said = {name: header(visit.scope, name.encode()) for name in _GOES_TO}
    ahead = header(visit.scope, b"sec-purpose") or header(visit.scope, b"purpose")
    return said == _GOES_TO and not ahead


def _secret(visit: Visit) -> str:
    secret = visit.path("secret")
    if not _SECRET.fullmatch(secret):
        raise Fault(FaultCode.NOT_FOUND, _REFUSALS[LinkState.UNKNOWN])
    return secret


def browser_label(agent: bytes) -> str:
    """Return ``Firefox on Linux`` for a User-Agent; no part of the header itself is repeated."""
    text = agent.decode("latin-1")
    name = next((words for mark, words in _BROWSERS if mark in text), "a browser")
    system = next((words for mark, words in _SYSTEMS if mark in text), "")
    return f"{name} on {system}" if system else name
