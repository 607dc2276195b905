"""Attack the control page: other sites' forms, frames, replayed links, planted sessions, markup.

Each attempt must fail with nothing changed; each kind has a control that succeeds, so that an
attempt that fails for another reason is seen.
"""

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.bot.page.attacks import HOSTS, ORIGINS, PAYLOADS
from tests.bot.page.markup import Markup
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PageBrowser, link_for, session_token


@pytest.fixture
def asked(home: ApiGateway) -> Iterator[str]:
    """Ask for something; afterwards it must still wait, and is withdrawn."""
    found = home.ask("git push origin main")["id"]
    yield found
    state = home.client("person").get(f"/v1/approvals/{found}").json()["state"]
    home.client("agent").delete(f"/v1/requests/{found}")
    assert state == "pending"


def _port(home: ApiGateway, text: str | None) -> str | None:
    return None if text is None else text.format(port=home.address[1])


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_form_of_another_site_changes_nothing(
    home: ApiGateway, ana: PageBrowser, asked: str, origin: str | None
) -> None:
    """With the session's cookie and even its CSRF token: by Origin alone."""
    token = ana.csrf()
    path = f"/approve/{asked}/answer"
    refused = ana.post(path, origin=_port(home, origin), csrf=token, decision="allow-once")
    assert refused.status_code == 403


@pytest.mark.parametrize(
    "token",
    [
        *("", "0" * 64, "x", "é", "é" * 32, "\U0001f600"),
        lambda ana, home: PageBrowser.signed_in(home).csrf(),
        lambda ana, home: ana.csrf()[:-1],
        lambda ana, home: ana.csrf().upper(),
        lambda ana, home: ana.session,
    ],
)
@pytest.mark.parametrize("path", ["/approve/{id}/answer", "/runs/{id}/stop", "/lock-down"])
def test_a_form_without_the_sessions_token_changes_nothing(
    home: ApiGateway,
    ana: PageBrowser,
    asked: str,
    path: str,
    token: str | Callable[[PageBrowser, ApiGateway], str],
) -> None:
    """Of another session, mangled or missing: refused."""
    given = token if isinstance(token, str) else token(ana, home)
    fields = {"csrf": given, "decision": "allow-once", "confirm": "yes"}
    if not given:
        del fields["csrf"]
    assert ana.post(path.format(id=asked), **fields).status_code == 403
    assert home.gateway.gate.execution.guard.lockdown.state() is None


def test_our_own_form_is_taken(home: ApiGateway, ana: PageBrowser) -> None:
    """The control of all of the above: own origin and own token decide."""
    found = home.ask("git push origin main")
    assert ana.answer(found["id"], "deny").status_code == 303


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", ""])
def test_only_a_plain_form_is_read(
    home: ApiGateway, ana: PageBrowser, asked: str, kind: str
) -> None:
    """What other sites can send without asking the browser, in another shape, is refused."""
    body = f"csrf={ana.csrf()}&decision=allow-once"
    headers = {"Origin": home.url, "Content-Type": kind}
    answer = ana.http.post(f"/approve/{asked}/answer", content=body, headers=headers)
    assert answer.status_code == 415


@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_post_changes_anything(
    home: ApiGateway, ana: PageBrowser, asked: str, verb: str
) -> None:
    """A link, an image or another verb never answers."""
    path = f"/approve/{asked}/answer?csrf={ana.csrf()}&decision=allow-once"
    headers = {"Origin": home.url}
    assert ana.http.request(verb, path, headers=headers).status_code in {400, 405}


@pytest.mark.parametrize("host", HOSTS)
def test_a_name_that_points_here_gets_nothing(
    home: ApiGateway, ana: PageBrowser, host: str
) -> None:
    """DNS rebinding: a page of another name has its own name in Host."""
    named = str(_port(home, host))
    headers = {"Host": named, "Origin": f"http://{named}"}
    assert ana.get("/", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/history",
        "/sessions",
        "/lock-down",
        "/exec-approvals",
        "/login/{link}",
        "/approve/zzzz",
    ],
)
def test_no_page_can_be_framed_or_run_foreign_script(
    home: ApiGateway, ana: PageBrowser, path: str
) -> None:
    """Also on errors: the headers are on every answer, and nothing on a page is inline."""
    answer = ana.get(path.format(link=link_for(home)[7:]))
    policy = answer.headers["content-security-policy"]

    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    for part in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    page = Markup.of(answer.text)
    for one in page.elements:
        assert "style" not in one.attributes
        assert not [name for name in one.attributes if name.startswith("on")]
        assert one.tag != "style"
        if one.tag == "script":
            assert (one.text, one.attributes["src"].startswith("/static/")) == ("", True)


@pytest.mark.parametrize("change", [lambda text: text[:-1], lambda text: text + "A", str.swapcase])
def test_a_mangled_link_is_none(home: ApiGateway, change: Callable[[str], str]) -> None:
    """And its own browser is not signed in by it."""
    browser, path = PageBrowser.at(home), link_for(home)
    mangled = "/login/" + change(path.removeprefix("/login/"))
    assert browser.get(mangled).status_code in {403, 404}
    assert browser.post(mangled).status_code in {403, 404}
    assert browser.get("/").status_code == 401


def test_a_planted_session_is_never_taken_over(home: ApiGateway) -> None:
    """Fixation: whatever cookie a browser brings, signing in makes another."""
    thief = PageBrowser.signed_in(home, "bo")
    planted = thief.session
    for value in (planted, home.tokens["person"], "chosen", ""):
        victim = PageBrowser.at(home)
        if value:
            victim.http.cookies.set(home.session_cookie, value, domain="127.0.0.1")
        victim.sign_in(link_for(home))
        made = [one.value for one in victim.http.cookies.jar if one.name == home.session_cookie]
        assert made[-1] not in {value, planted}
    assert "ana" not in thief.get("/").text.split("</header>")[0]


def test_a_planted_browser_cookie_opens_no_link_of_another(home: ApiGateway) -> None:
    """Choosing a browser's cookie does not allow using what it opens, without opening it."""
    chosen = "A" * 43
    victim, thief, path = PageBrowser.at(home), PageBrowser.at(home), link_for(home)
    victim.get(path)
    name = home.session_cookie.replace("session", "browser")
    thief.http.cookies.set(name, chosen, domain="127.0.0.1")
    assert thief.get(path).status_code == 403
    assert thief.post(path).status_code == 403
    assert victim.post(path).status_code == 303  # the control


@pytest.mark.parametrize("payload", PAYLOADS)
def test_markup_in_what_others_write_is_text_on_every_page(
    home: ApiGateway, ana: PageBrowser, payload: str
) -> None:
    """In the command, the session, the task's place and the reason; on four pages."""
    quoted = "'" + payload.replace("'", "'\\''") + "'"
    found = home.ask(f"printf %s {quoted} | tee /dev/null", session=payload[:190])
    pages: list[Any] = [ana.get("/"), ana.get(f"/approve/{found['id']}"), ana.get("/history")]
    ana.answer(found["id"], "deny", note=payload)
    pages += [ana.get(f"/approve/{found['id']}"), ana.get(f"/history/{found['id']}")]

    for answer in pages:
        assert answer.status_code == 200
        page = Markup.of(answer.text)
        assert {one.tag for one in page.elements}.isdisjoint({"img", "svg", "iframe", "base"})
        assert len([one for one in page.elements if one.tag == "script"]) == 1
        assert not re.search(r"(?i)<[a-z]+[^>]*\son[a-z]+\s*=", answer.text)
        for one in page.elements:
            assert one.attributes.get("href", "/").startswith(("/", "#"))
            assert one.attributes.get("action", "/").startswith("/")
    assert "49" not in Markup.of(pages[1].text).first("pre").text or "7*7" not in payload


def test_secrets_of_a_command_are_on_no_page(home: ApiGateway, ana: PageBrowser) -> None:
    """Masked in cards, history, story and exports, as in chats."""
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    found = home.ask(f"curl -H 'Authorization: Bearer {secret}' https://example.org")
    for path in ("/", f"/approve/{found['id']}", "/history", f"/history/{found['id']}"):
        assert secret not in ana.get(path).text
    for kind in ("jsonl", "csv"):
        text = ana.get(f"/history/export?format={kind}").text
        assert found["id"] in text
        assert secret not in text


def test_the_session_is_in_no_page(home: ApiGateway, ana: PageBrowser) -> None:
    """A page that leaks, as a screenshot or in a cache, signs no one in."""
    session = ana.session
    token = session_token(home, ana)
    for path in ("/", "/sessions", "/history", "/exec-approvals", "/lock-down"):
        text = ana.get(path).text
        assert session not in text
        assert token not in text


def test_guessing_gets_slow(tmp_path_factory: pytest.TempPathFactory) -> None:
    """After `http.limits.failures` wrong links or sessions an address is refused for a while."""
    from tests.support.api_gateway import api_gateway  # noqa: PLC0415

    with api_gateway(tmp_path_factory.mktemp("slow") / "home", limits={"failures": 3}) as home:
        guesser = PageBrowser.at(home)
        answers = [guesser.get(f"/login/{'g' * 42}{n}").status_code for n in range(5)]
        assert answers == [403, 403, 403, 429, 429]
        ana = PageBrowser.signed_in(home)
        assert ana.get("/").status_code == 200


def _slowly(body: str, meanwhile: Callable[[], object]) -> Iterator[bytes]:
    """Yield a form in two pieces; something happens between them."""
    yield body[:10].encode()
    time.sleep(0.5)
    meanwhile()
    yield body[10:].encode()


def test_a_session_that_ends_while_its_form_arrives_answers_nothing(home: ApiGateway) -> None:
    """The person signs out in another window between the head and the end of the body."""
    states = []
    for signs_out in (False, True):
        ana, asked = PageBrowser.signed_in(home), str(home.ask("git push origin slowly")["id"])
        body = f"csrf={ana.csrf()}&decision=deny"
        sent = _slowly(body, partial(ana.submit, "/logout") if signs_out else lambda: None)
        headers = {"Origin": home.url, "Content-Type": "application/x-www-form-urlencoded"}
        ana.http.post(f"/approve/{asked}/answer", content=sent, headers=headers)
        states.append(home.client("person").get(f"/v1/approvals/{asked}").json()["state"])
        home.client("agent").delete(f"/v1/requests/{asked}")

    assert states == ["denied", "pending"], "the first is the control"


@pytest.mark.parametrize("command", ["nosuch a\u202eb\u200b", "nosuch 'a b' c\u202e; true"])
def test_a_tried_command_is_shown_as_it_is(
    home: ApiGateway, ana: PageBrowser, command: str
) -> None:
    """A link can bring one along: what does not print is an escape, each argument has its bounds.

    A folder that does not exist is named the same way. Only the field holds what was typed.
    """
    for cwd in (str(home.home), "/no\u202esuch"):
        answer = ana.get("/exec-approvals", params={"try": command, "cwd": cwd})
        assert answer.status_code == 200
        shown = re.sub(r"<input[^>]*>", "", answer.text)
        assert not {"\u202e", "\u200b"}.intersection(shown)
        assert "\\u{202E}" in shown
