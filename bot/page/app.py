"""Assemble the pages: their addresses, who is let in, and faults as people read them."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path

from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from bot.api.access.access_log import ROUTE
from bot.api.access.authentication import Login
from bot.api.access.guard import Pages
from bot.api.http.bodies import header
from bot.api.http.client import count_failure
from bot.api.http.errors import Fault, FaultCode, too_many
from bot.api.http.rate_limits import Buckets, Places
from bot.api.rest.wakeups import ApiWakeups
from bot.factories.push import PushKeys
from bot.intake.callers.bearer import Bearers
from bot.intake.callers.caller import Caller
from bot.intake.methods.login import LOGIN_PATH
from bot.intake.registry.method import Table
from bot.page.approval import ApprovalPages
from bot.page.assets import Assets
from bot.page.cards import Cards
from bot.page.forms import FORMS, QUERIES
from bot.page.gateway import GatewayPages
from bot.page.install import InstallPages
from bot.page.live import Live
from bot.page.login import LoginPages
from bot.page.passkeys import PasskeyPages
from bot.page.plans import PlanPages
from bot.page.push import PushPages
from bot.page.records.history import HistoryPages
from bot.page.records.insight import Costs, InsightPages
from bot.page.records.lists import ListPages
from bot.page.records.story import Stories
from bot.page.render import Renderer
from bot.page.rules.backtest import StartedBacktests
from bot.page.rules.pages import RulesPages
from bot.page.rules.target import Targets
from bot.page.session_cookie import SessionCookie
from bot.page.start_page import StartPage
from bot.page.visit import (
    HEADERS,
    NO_FIELDS,
    Visit,
    data,
    let_frame,
    page,
    says,
    wants_json,
)
from bot.policy_tools.suggest import Report
from core.errors import Unauthenticated
from core.gate.gate import Gate
from core.model.identity import Intake
from core.settings.http import HttpSection
from core.trust.passkeys import relying_party

Handler = Callable[[Visit], Awaitable[Response]]
_SAFE = frozenset({"GET", "HEAD"})
_FAILURES_A_SECOND = 0.2


@dataclass(frozen=True, slots=True)
class PageParts:
    """The parts that the pages are made of.

    ``framed_by`` is the one origin whose pages may show ours in a frame: the demo's screen, made in
    this process (``bot.demo``). No setting sets it; empty means none.
    """

    table: Table
    gate: Gate
    section: HttpSection
    zone: tzinfo
    costs: Callable[[], Report]
    mark: str
    page_url: Callable[[], str] = str
    framed_by: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """One address: what it shows, and what its form does; ``public`` ones need no session."""

    pages: "ControlPage"
    get: Handler | None = None
    post: Handler | None = None
    public: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request.

        Raises:
            Fault: the request is not served.
        """
        visit = self.pages.visit(scope, receive)
        handler = self.get if scope["method"] in _SAFE else self.post
        if handler is None or scope["method"] not in {*_SAFE, "POST"}:
            allowed = ", ".join(["GET"] * bool(self.get) + ["POST"] * bool(self.post))
            raise Fault(FaultCode.WRONG_VERB, "Method not allowed here.", {"Allow": allowed})
        if not self.public:
            _ = visit.who
        response = self.pages.framed(await handler(visit))
        await response(scope, receive, send)


@dataclass(slots=True)
class ControlPage(Pages):
    """All pages of one gateway."""

    room: PageParts
    wakes: ApiWakeups
    rates: Buckets
    assets: Assets = field(default_factory=Assets.load)
    render: Renderer = field(init=False)
    _bearers: Bearers = field(init=False)
    _failed: Buckets = field(init=False)
    _streams: Places = field(init=False)
    _live: Live = field(init=False)
    _cookie: SessionCookie = field(init=False)
    _routes: tuple[Route, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Create the parts once."""
        room, limits = self.room, self.room.section.limits
        self.render = Renderer(self.assets, room.zone)
        self._bearers = Bearers(room.gate.store, lambda: room.gate.broker.asking.approvers)
        self._failed = Buckets(_FAILURES_A_SECOND, limits.failures)
        self._streams = Places(limits.waiting)
        self._cookie = SessionCookie(room.section, room.gate.broker.seals, room.mark)
        cards = Cards(self.render)
        start = StartPage(room.table, room.gate, self.render, cards)
        self._live = Live(start, room.gate, self.wakes, limits.longest_stream)
        self._routes = self._made_routes(start, cards)

    def _made_routes(self, start: StartPage, cards: Cards) -> tuple[Route, ...]:
        room = self.room
        approval = ApprovalPages(room.table, room.gate, self.render, cards)
        plans = PlanPages(room.table, room.gate, self.render, cards)
        past = HistoryPages(room.table, self.render, Stories(room.table, room.gate))
        rules = RulesPages(
            Targets(room.table), StartedBacktests(room.table), self.render, str(Path.home())
        )
        gateway = GatewayPages(
            room.table, room.gate.store, self.render, room.page_url, room.section.push.enabled
        )
        insight = InsightPages(room.table, self.render, Costs(room.costs))
        lists = ListPages(room.table, self.render)
        return (
            Route("/", View(self, start.show)),
            Route("/live", _LiveView(self)),
            Route("/approve/{ref}", View(self, approval.show)),
            Route("/approve/{ref}/answer", View(self, post=approval.answer)),
            Route("/approve/{ref}/preview", View(self, approval.preview)),
            Route("/plan/{ref}", View(self, plans.show, plans.answer)),
            Route("/runs/{ref}/stop", View(self, post=approval.stop)),
            Route("/lock-down", View(self, gateway.lockdown, gateway.engage)),
            Route("/history", View(self, past.show)),
            Route("/history/export", View(self, past.export)),
            Route("/history/verify", View(self, post=past.verify)),
            Route("/history/{ref}", View(self, past.story)),
            Route("/insight", View(self, insight.show)),
            Route("/lists/{name}", View(self, lists.show)),
            Route("/do/{action}", View(self, post=lists.act)),
            Route("/exec-approvals", View(self, rules.show, rules.save)),
            Route("/exec-approvals/backtest/{id}", View(self, rules.backtest)),
            Route("/sessions", View(self, gateway.sessions)),
            Route("/sessions/{id}/end", View(self, post=gateway.end)),
            *self._sign_in_routes(),
            *self._push_routes(),
            *self._install_routes(),
            Route("/static/{version}/{name}", View(self, self._static, public=True)),
        )

    def _sign_in_routes(self) -> tuple[Route, ...]:
        """Return the routes by which people sign in and prove who they are."""
        room = self.room
        login = LoginPages(
            room.gate.store,
            room.gate.journal,
            room.table,
            room.section,
            self.render,
            self._failed,
            self._cookie,
        )
        keys = PasskeyPages(
            room.gate.store, room.gate.journal, room.table, login, self._failed, room.page_url
        )
        return (
            Route("/approve/{ref}/passkey", View(self, post=keys.challenge)),
            Route("/passkeys/new", View(self, post=keys.begin)),
            Route("/passkeys", View(self, post=keys.register)),
            Route(f"{LOGIN_PATH}passkey/new", View(self, post=keys.offer, public=True)),
            Route(f"{LOGIN_PATH}passkey", View(self, post=keys.enter, public=True)),
            Route(
                f"{LOGIN_PATH}{{secret}}",
                View(self, login.offer, _unfilled(login.enter), public=True),
            ),
            Route("/logout", View(self, post=login.leave)),
        )

    def _push_routes(self) -> tuple[Route, ...]:
        """Return the routes of web push and of the answers given in notifications."""
        gate = self.room.gate
        keys = PushKeys(gate.store, gate.broker.seals)
        pages = PushPages(self.room.table, gate, keys, self.room.section.push, self._failed)
        return (
            Route("/push/new", View(self, post=pages.begin)),
            Route("/push", View(self, post=pages.subscribe)),
            Route("/push/{id}/remove", View(self, post=pages.remove)),
            Route("/push/answer", View(self, post=pages.answer)),
        )

    def _install_routes(self) -> tuple[Route, ...]:
        install = InstallPages(self.assets, self.render)
        return (
            Route("/manifest.webmanifest", View(self, install.manifest, public=True)),
            Route("/worker.js", View(self, install.worker, public=True)),
            Route("/offline", View(self, install.offline, public=True)),
        )

    @property
    def routes(self) -> Sequence[Route]:
        """Return the addresses of the pages."""
        return self._routes

    def owns(self, scope: Scope) -> bool:
        """Return whether a request is for a page."""
        return any(route.matches(scope)[0] is not Match.NONE for route in self._routes)

    async def admit(self, scope: Scope) -> None:
        """Find the session of a request, and refuse a form that is not from our own page.

        Raises:
            Fault: another site's form, or too many requests of a session or an address.
        """
        if scope["method"] not in _SAFE and header(scope, b"origin") is None:
            # Where it is set, it has been checked to be ours; browsers always send it here.
            raise Fault(FaultCode.WRONG_SITE, "Origin header missing.")
        state = scope["state"]
        state["caller"], state["login"] = None, None
        try:
            session = self._cookie.token(scope)
            if not session:
                return
            login = Login(session, Intake.HTTP, self._bearers.visitor)
            state["caller"], state["login"] = await login.caller(), login
        except Unauthenticated:
            count_failure(self._failed, scope)
            return
        wait = self.rates.take(state["caller"].token, time.monotonic())
        if wait:
            raise too_many(wait)
        state["session"] = session

    def visit(self, scope: Scope, receive: Receive) -> Visit:
        """Return the request as the pages know it."""
        state = scope["state"]
        route = state[ROUTE] = _template(self._routes, scope)
        session = state.get("session", "")
        fields, asks = FORMS.get(route, NO_FIELDS), QUERIES.get(route)
        return Visit(scope, receive, self.room.section, state["caller"], session, fields, asks)

    def refusal(self, fault: Fault, scope: Scope) -> Response:
        """Return a fault as people read it; a visitor who is not signed in is shown how to."""
        if wants_json(scope):
            response = data({"done": False, "sentence": fault.message}, fault.status)
        elif fault.code is FaultCode.UNAUTHORISED:
            response = self._sign_in(scope)
        else:
            response = self._said(fault, scope)
        response.headers.update(fault.headers or {})
        return self.framed(response)

    def _said(self, fault: Fault, scope: Scope) -> Response:
        """Return a page that says why, or that no such page exists, with a link home."""
        state = scope["state"]
        session = state.get("session", "")
        visit = Visit(scope, _never, self.room.section, state.get("caller"), session)
        known = fault.code is not FaultCode.NOT_FOUND or self.owns(scope)
        template = "said.html" if known else "not_found.html"
        text = self.render.text(
            template, visit=visit, words=fault.message, passkeys=self._has_passkeys
        )
        return page(text, fault.status)

    def framed(self, response: Response) -> Response:
        """Return an answer that the demo's screen may frame, if there is one."""
        if self.room.framed_by:
            let_frame(response, self.room.framed_by)
        return response

    def _sign_in(self, scope: Scope) -> Response:
        """Return how to sign in; a visitor from another site may be signed in after all.

        Browsers keep a SameSite=Strict cookie from the first request after such a link, so the page
        requests itself once more.
        """
        crossed = says(scope, b"sec-fetch-site", b"cross-site") and scope["method"] in _SAFE
        return page(
            self.render.text("signed_out.html", bounce=crossed, passkeys=self._has_passkeys),
            200 if crossed else 401,
        )

    @property
    def _has_passkeys(self) -> bool:
        """Return whether browsers create passkeys for this page."""
        return relying_party(self.room.page_url()) is not None

    async def stream(self, visit: Visit, send: Send) -> None:
        """Serve the stream of an open page.

        Raises:
            Fault: too many are open.
        """
        with self._streams.place(visit.who.token):
            await self._live.serve(visit, self._again, send)

    async def _again(self, visit: Visit) -> Caller:
        login: Login = visit.scope["state"]["login"]
        return await login.caller()

    async def _static(self, visit: Visit) -> Response:
        response = self.assets.response(visit.path("version"), visit.path("name"))
        for name, value in HEADERS.items():
            response.headers[name] = value
        return response


@dataclass(frozen=True, slots=True)
class _LiveView:
    """The address of the stream."""

    pages: ControlPage

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a stream.

        Raises:
            Fault: the request is not served.
        """
        if scope["method"] != "GET":
            raise Fault(FaultCode.WRONG_VERB, "Method not allowed here.", {"Allow": "GET"})
        visit = self.pages.visit(scope, receive)
        permitted = visit.who
        if permitted.actor is None:
            raise Fault(FaultCode.UNAUTHORISED, "You are not signed in.")
        await self.pages.stream(visit, send)


def pages_of(room: PageParts) -> Callable[[ApiWakeups, Buckets], Pages]:
    """Return the factory of a server's pages, which takes its wake-ups and rates."""

    def made(wakes: ApiWakeups, rates: Buckets) -> Pages:
        return ControlPage(room, wakes, rates)

    return made


def _template(routes: Sequence[Route], scope: Scope) -> str:
    return next((one.path for one in routes if one.matches(scope)[0] is not Match.NONE), "")


def _unfilled(handler: Handler) -> Handler:
    """Return a handler for a form without fields, which reads the form before it is called."""

    async def checked(visit: Visit) -> Response:
        await visit.form(signed=False)
        return await handler(visit)

    return checked


async def _never() -> dict[str, object]:
    return {"type": "http.disconnect"}
