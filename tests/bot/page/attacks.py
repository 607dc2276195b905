"""Attempt attacks on the control page, each with what it would look like if it succeeded.

An attempt returns whether it succeeded, judged by its result (an answer, a session, markup, a page
that can be framed), never by the status alone. ``CONTROLS`` are the same judges on what does
succeed: our own form, a link in its own browser, markup that was not escaped.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import httpx

from bot.page.visit import HEADERS, let_frame, page
from core.store.people import page_links, people
from tests.bot.page.markup import Markup
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PERSON_SCOPES, PageBrowser, link_for, session_token
from tests.support.page_routes import views

ORIGINS = (
    None,
    "null",
    "https://evil.example",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    "http://localhost.evil.example",
    "https://127.0.0.1:{port}",
    "http://127.0.0.1:{port}.evil.example",
    "http://user@127.0.0.1:{port}",
    "http://127.0.0.1:{port}/",
    "file://",
)
HOSTS = ("evil.example", "127.0.0.1.evil.example", "sayso.evil.example:80", "evil.example:{port}")
PAYLOADS = (
    "<script>alert(1)</script>",
    "</code></pre><script>alert(1)</script>",
    "'\"><img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
    "{{ 7*7 }}{% include 'base.html' %}",
    "</title><script>alert(1)</script>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<a href=javascript:alert(1)>allow</a>",
    "<form action=//evil.example><button>Allow once",
    "<style>*{display:none}</style>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<base href=//evil.example/>",
    "<details ontoggle=alert(1) open>",
)
REFLECTED = (
    "/history?grep={text}",
    "/history?agent={text}",
    "/exec-approvals?agent={text}",
    "/exec-approvals?agent=main&try={text}&cwd={text}",
    "/lists/{text}",
    "/approve/{text}",
    "/{text}",
    "/history?{text}=1",
)
"""Addresses that show what is in them, or in what they lead to, on their page."""
_SCRIPTING = {"img", "svg", "iframe", "base", "object", "embed", "style"}


class Kind(StrEnum):
    """The classes of attempts."""

    CSRF = "cross-site request forgery"
    XSS = "cross-site scripting"
    FRAMING = "clickjacking"
    REPLAY = "link replay"
    FIXATION = "session fixation"


@dataclass(frozen=True, slots=True)
class Scene:
    """The target, and where it is."""

    home: ApiGateway
    ana: PageBrowser

    @property
    def port(self) -> int:
        """Return the port that the page is served on."""
        return self.home.address[1]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt; ``succeeds`` makes it and returns its result."""

    kind: Kind
    name: str
    succeeds: Callable[[Scene], bool]


def attempts(home: ApiGateway) -> Iterator[Attempt]:
    """Yield all attempts."""
    yield from _forged()
    yield from _scripted()
    shown = [path for path, view in views(home).items() if view.get is not None]
    for path in (*shown, "/no-such-page"):
        yield Attempt(Kind.FRAMING, path, partial(_framed, path=path))
    yield from (Attempt(Kind.REPLAY, one.__name__[1:], one) for one in _REPLAYS)
    for name, cookie in _PLANTED.items():
        yield Attempt(Kind.FIXATION, name, partial(_taken_over, cookie=cookie))


def controls() -> Iterator[Attempt]:
    """Yield what succeeds, judged as the attempts are: at least one of each class."""
    yield Attempt(Kind.CSRF, "our own form", lambda at: _answers(at, _own_form))
    yield Attempt(Kind.XSS, "markup that is not escaped", lambda _: _scripts("<p><img src=x></p>"))
    yield Attempt(Kind.XSS, "a handler", lambda _: _scripts("<p onclick=x></p>"))
    yield Attempt(Kind.XSS, "an address", lambda _: _scripts("<a href=javascript:x>x</a>"))
    yield Attempt(Kind.FRAMING, "a page that the demo's screen frames", lambda _: _demo_frames())
    yield Attempt(Kind.REPLAY, "a link in its own browser", _used_as_meant)
    yield Attempt(
        Kind.FIXATION, "the session that was made", lambda at: _reads(at, _own_session(at))
    )


# Cross-site request forgery: is anything answered, stopped, locked or changed?


def _forged() -> Iterator[Attempt]:
    def form(**headers: str) -> Callable[[Scene, str], httpx.Response]:
        return lambda at, asked: at.ana.http.post(
            f"/approve/{asked}/answer",
            data={"csrf": at.ana.csrf(), "decision": "deny"},
            headers={name: text.format(port=at.port) for name, text in headers.items()},
        )

    for origin in ORIGINS:
        headers = {} if origin is None else {"Origin": origin}
        yield _forgery(f"Origin {origin}", form(**headers))
    for host in HOSTS:
        yield _forgery(f"Host {host}", form(Host=host, Origin=f"http://{host}"))
    for name, token in _TOKENS.items():
        yield _forgery(f"token {name}", partial(_with_token, token=token))
    for kind in ("text/plain", "multipart/form-data; boundary=x", "application/json", ""):
        yield _forgery(f"type {kind}", partial(_of_type, kind=kind))
    for verb in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"):
        yield _forgery(f"verb {verb}", partial(_by_verb, verb=verb))


def _forgery(name: str, sends: Callable[[Scene, str], httpx.Response]) -> Attempt:
    return Attempt(Kind.CSRF, name, lambda at: _answers(at, sends))


def _answers(at: Scene, sends: Callable[[Scene, str], httpx.Response]) -> bool:
    """Return whether what is sent answers a waiting question."""
    asked = str(at.home.ask("git push origin forged")["id"])
    sends(at, asked)
    state = at.home.client("person").get(f"/v1/approvals/{asked}").json()["state"]
    at.home.client("agent").delete(f"/v1/requests/{asked}")
    return bool(state != "pending")


def _own_form(at: Scene, asked: str) -> httpx.Response:
    return at.ana.answer(asked, "deny")


_TOKENS: dict[str, Callable[[Scene], str]] = {
    "missing": lambda _: "",
    "of zeros": lambda _: "0" * 64,
    "short": lambda _: "x",
    "of another session": lambda at: PageBrowser.signed_in(at.home).csrf(),
    "cut": lambda at: at.ana.csrf()[:-1],
    "in capitals": lambda at: at.ana.csrf().upper(),
    "the session itself": lambda at: at.ana.session,
}


def _with_token(at: Scene, asked: str, token: Callable[[Scene], str]) -> httpx.Response:
    given = {"csrf": text} if (text := token(at)) else {}
    return at.ana.post(f"/approve/{asked}/answer", decision="deny", **given)


def _of_type(at: Scene, asked: str, kind: str) -> httpx.Response:
    body = f"csrf={at.ana.csrf()}&decision=deny"
    headers = {"Origin": at.home.url, "Content-Type": kind}
    return at.ana.http.post(f"/approve/{asked}/answer", content=body, headers=headers)


def _by_verb(at: Scene, asked: str, verb: str) -> httpx.Response:
    path = f"/approve/{asked}/answer?csrf={at.ana.csrf()}&decision=deny"
    return at.ana.http.request(verb, path, headers={"Origin": at.home.url})


# Cross-site scripting: is there an element, a handler or an address that is not ours?


def _scripted() -> Iterator[Attempt]:
    for text in PAYLOADS:
        yield Attempt(Kind.XSS, f"stored {text}", partial(_stored, text=text))
    for path in REFLECTED:
        for text in ("<img src=x onerror=alert(1)>", '"><script>alert(1)</script>'):
            yield Attempt(Kind.XSS, f"{path} {text}", partial(_reflected, path=path, text=text))


def _reflected(at: Scene, path: str, text: str) -> bool:
    """Return whether markup in an address becomes markup on the page that answers."""
    return _scripts(_got(at, path.format(text=str(httpx.QueryParams({"x": text}))[2:])).text)


def _stored(at: Scene, text: str) -> bool:
    """Return whether markup in a command, a session or a reason becomes markup on a page."""
    quoted = "'" + text.replace("'", "'\\''") + "'"
    asked = at.home.ask(f"printf %s {quoted} | tee /dev/null", session=text[:190])["id"]
    pages = [at.ana.get(path).text for path in ("/", f"/approve/{asked}", "/history")]
    at.ana.answer(asked, "deny", note=text)
    after = (f"/approve/{asked}", f"/history/{asked}", "/lists/agent-sessions")
    return any(map(_scripts, (*pages, *(at.ana.get(path).text for path in after))))


def _scripts(html: str) -> bool:
    for one in Markup.of(html).elements:
        foreign = one.tag in _SCRIPTING or any(name.startswith("on") for name in one.attributes)
        if one.tag == "script":
            foreign = bool(one.text) or not one.attributes.get("src", "").startswith("/static/")
        for name in ("href", "action"):
            foreign = foreign or not one.attributes.get(name, "/").startswith(("/", "#"))
        if foreign:
            return True
    return False


# Clickjacking: may another site show it in a frame?


def _got(at: Scene, path: str) -> httpx.Response:
    known = {"ref": "zzzz", "name": "grants", "id": "zzzz", "secret": "z" * 43, "version": "z"}
    address = re.sub(r"\{(\w+)\}", lambda one: known[one[1]], path)
    return at.ana.get(address, headers={"Accept": "text/html"})


def _framed(at: Scene, path: str) -> bool:
    return _framable(_got(at, path))


def _framable(answer: httpx.Response) -> bool:
    policy = answer.headers.get("content-security-policy", "")
    by_policy = "frame-ancestors 'none'" in policy and "default-src 'none'" in policy
    return not (by_policy and answer.headers.get("x-frame-options") == "DENY")


def _demo_frames() -> bool:
    made = page("")
    assert dict(HEADERS)["X-Frame-Options"] == "DENY"
    let_frame(made, "http://127.0.0.1:1")
    return _framable(httpx.Response(200, headers=dict(made.headers)))


# Link replay: does a link that was used, opened or made elsewhere give anyone a session?


def _enters(browser: PageBrowser, path: str) -> bool:
    browser.post(path)
    return browser.get("/").status_code == 200


def _used_as_meant(at: Scene) -> bool:
    browser, path = PageBrowser.at(at.home), link_for(at.home)
    browser.get(path)
    return _enters(browser, path)


def _used_before(at: Scene) -> bool:
    path = link_for(at.home)
    PageBrowser.at(at.home).sign_in(path)
    thief = PageBrowser.at(at.home)
    thief.get(path)
    return _enters(thief, path)


def _used_before_in_this_browser(at: Scene) -> bool:
    browser, path = PageBrowser.at(at.home), link_for(at.home)
    browser.sign_in(path)
    browser.submit("/logout")
    return _enters(browser, path)


def _opened_elsewhere(at: Scene) -> bool:
    path = link_for(at.home)
    PageBrowser.at(at.home).get(path)
    thief = PageBrowser.at(at.home)
    thief.get(path)
    return _enters(thief, path)


def _never_opened(at: Scene) -> bool:
    return _enters(PageBrowser.at(at.home), link_for(at.home))


def _opened_by_head(at: Scene) -> bool:
    path, thief = link_for(at.home), PageBrowser.at(at.home)
    thief.http.head(path)
    return _enters(thief, path)


def _with_a_chosen_browser(at: Scene) -> bool:
    path, thief = link_for(at.home), PageBrowser.at(at.home)
    PageBrowser.at(at.home).get(path)
    thief.http.cookies.set(_browser(at), "A" * 43, domain="127.0.0.1")
    thief.get(path)
    return _enters(thief, path)


def _mangled(at: Scene) -> bool:
    path = link_for(at.home)
    changed = (path[:-1], f"{path}A", "/login/" + path[7:].swapcase(), f"{path}/", f"{path}%00")
    found = []
    for one in changed:
        thief = PageBrowser.at(at.home)
        thief.get(one)
        found.append(_enters(thief, one))
    return any(found)


def _withdrawn_by_the_next(at: Scene) -> bool:
    store = at.home.gateway.store
    made = [
        at.home.do(store.write(page_links.create_anew, "ana", PERSON_SCOPES, "chat:test:1"))
        for _ in range(2)
    ]
    thief, path = PageBrowser.at(at.home), f"/login/{made[0].secret}"
    thief.get(path)
    return _enters(thief, path)


def _of_a_revoked_person(at: Scene) -> bool:
    store, path = at.home.gateway.store, link_for(at.home, "bo")
    at.home.do(store.write(people.revoke, "bo"))
    thief = PageBrowser.at(at.home)
    thief.get(path)
    entered = _enters(thief, path)
    at.home.do(store.write(people.restore, "bo"))
    return entered


def _from_another_site(at: Scene) -> bool:
    thief, path = PageBrowser.at(at.home), link_for(at.home)
    thief.get(path)
    thief.post(path, origin="https://evil.example")
    return thief.get("/").status_code == 200


_REPLAYS = (
    *(_used_before, _used_before_in_this_browser, _opened_elsewhere, _never_opened),
    *(_opened_by_head, _with_a_chosen_browser, _mangled, _withdrawn_by_the_next),
    *(_of_a_revoked_person, _from_another_site),
)


# Session fixation: does a cookie that another person knows read as the person who signs in?


def _own_session(at: Scene) -> str:
    browser = PageBrowser.signed_in(at.home)
    return f"{at.home.session_cookie}={browser.session}"


def _browser(at: Scene) -> str:
    """Return the name of the cookie that binds a link to a browser."""
    return at.home.session_cookie.replace("session", "browser")


def _named(value: str) -> Callable[[Scene], str]:
    return lambda at: f"{at.home.session_cookie}={value}"


def _bare(at: Scene) -> str:
    """Return the token of a session of Ana's, which its cookie never contains as is."""
    return f"{at.home.session_cookie}={session_token(at.home, PageBrowser.signed_in(at.home))}"


def _reads(at: Scene, cookie: str) -> bool:
    """Return whether a cookie reads as Ana."""
    answer = PageBrowser.at(at.home, Cookie=cookie).get("/")
    return answer.status_code == 200 and "<bdi>ana</bdi>" in answer.text.split("</header>")[0]


_PLANTED: dict[str, Callable[[Scene], str]] = {
    "a chosen value": _named("chosen"),
    "an empty value": _named(""),
    "a quoted value": _named('"chosen"'),
    "the thief's own session": lambda at: (
        f"{at.home.session_cookie}={PageBrowser.signed_in(at.home, 'bo').session}"
    ),
    "a token of the API": lambda at: f"{at.home.session_cookie}={at.home.tokens['person']}",
    "the token that a session is sealed around": _bare,
    "two of a name": lambda at: f"{at.home.session_cookie}=one; {at.home.session_cookie}=two",
    "a name in capitals": lambda at: f"{at.home.session_cookie.upper()}=chosen",
    "a name without the gateway's mark": lambda at: f"sayso_session={_value(at)}",
    "the name for TLS": lambda at: f"__Host-sayso={_value(at)}",
    "the secret of a link": lambda at: f"{at.home.session_cookie}={link_for(at.home)[7:]}",
    "the browser's cookie": lambda at: (
        f"{_browser(at)}={'A' * 43}; {at.home.session_cookie}={'A' * 43}"
    ),
    "a session before signing in anew": lambda at: _own_ended(at, "again"),
    "a session that was signed out": lambda at: _own_ended(at, "out"),
}


def _value(at: Scene) -> str:
    return PageBrowser.signed_in(at.home).session


def _own_ended(at: Scene, how: str) -> str:
    browser = PageBrowser.signed_in(at.home)
    kept = browser.session
    if how == "again":
        browser.sign_in(link_for(at.home))
    else:
        browser.submit("/logout")
    return f"{at.home.session_cookie}={kept}"


def _taken_over(at: Scene, cookie: Callable[[Scene], str]) -> bool:
    """Plant a cookie, let Ana sign in over it, and return whether it reads as Ana."""
    planted = cookie(at)
    victim, path = PageBrowser.at(at.home), link_for(at.home)
    victim.get(path)
    bound = f"{_browser(at)}={victim.http.cookies[_browser(at)]}"
    headers = {"Origin": at.home.url, "Cookie": f"{planted}; {bound}"}
    entered = httpx.post(f"{at.home.url}{path}", headers=headers)
    name = at.home.session_cookie
    fresh = re.search(rf"{name}=([^;]+)", entered.headers.get("set-cookie", ""))
    return _reads(at, planted) or bool(fresh and f"{name}={fresh[1]}" == planted)
