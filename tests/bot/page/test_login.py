"""Sign in: one browser, one use, and a session that is a person's and not the API's."""

import httpx
import pytest

from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.page_browser import GOES_TO, PageBrowser, link_for, session_token


def _cookie(answer: httpx.Response, name: str) -> str:
    lines = answer.headers.get_list("set-cookie")
    return next(line for line in lines if line.startswith(f"{name}=") and "Max-Age=0" not in line)


def test_a_link_signs_in_by_its_button_and_not_by_being_opened(home: ApiGateway) -> None:
    """A program that previews links uses none up; the button leads to what waits."""
    browser, path = PageBrowser.at(home), link_for(home)
    offered = browser.get(path)

    assert "Sign in as" in offered.text
    assert browser.get("/").status_code == 401
    entered = browser.post(path)
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    assert "Waiting for an answer" in browser.get("/").text


def test_the_session_is_in_a_cookie_that_scripts_and_other_sites_do_not_get(
    home: ApiGateway,
) -> None:
    """HttpOnly and SameSite=Strict, for the whole host; plain HTTP on loopback has no Secure."""
    browser, path = PageBrowser.at(home), link_for(home)
    opened = _cookie(browser.get(path), home.session_cookie.replace("session", "browser"))
    session = _cookie(browser.post(path), home.session_cookie)

    assert "HttpOnly" in opened
    assert "Path=/; Max-Age=43200; HttpOnly; SameSite=Strict" in session
    assert "Secure" not in session


def test_behind_tls_the_cookie_is_secure_and_bound_to_the_host(tmp_path_factory: object) -> None:
    """If `http.url` says that people use TLS, whatever terminates it."""
    folder = tmp_path_factory.mktemp("tls") / "home"  # type: ignore[attr-defined]
    with api_gateway(folder, url="https://sayso.example") as home:
        host = {"Host": "sayso.example"}
        browser, path = PageBrowser.at(home, **host), link_for(home)
        opened = _cookie(browser.get(path), f"__Host-sayso-browser-{home.gateway.settings.mark}")
        bound = opened.partition(";")[0]
        form = {**host, "Origin": "https://sayso.example", "Cookie": bound}
        entered = browser.http.post(path, headers=form)

        assert entered.status_code == 303, entered.text
        assert "SameSite=Strict; Secure" in _cookie(
            entered, f"__Host-sayso-{home.gateway.settings.mark}"
        )
        own = {**form, "Origin": "http://sayso.example"}
        assert browser.http.post(path, headers=own).status_code == 403  # used, or wrong site


def test_another_browser_cannot_use_the_link(home: ApiGateway) -> None:
    """The first browser that opened it keeps it; the second is told so and gets no session."""
    first, second, path = PageBrowser.at(home), PageBrowser.at(home), link_for(home)
    assert first.get(path).status_code == 200

    assert second.get(path).status_code == 403
    assert "another browser" in second.post(path).text
    assert first.post(path).status_code == 303


def test_a_link_works_once(home: ApiGateway) -> None:
    """Used again, even in the same browser, it says so."""
    browser, path = PageBrowser.at(home), link_for(home)
    browser.sign_in(path)
    again = browser.post(path)
    assert (again.status_code, "used already" in again.text) == (403, True)


def test_a_look_at_the_head_binds_nothing(home: ApiGateway) -> None:
    """HEAD is what some programs send to links before people open them."""
    browser, path = PageBrowser.at(home), link_for(home)
    assert PageBrowser.at(home).http.head(path).status_code == 200
    assert browser.get(path).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"User-Agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"},
        {"User-Agent": "TelegramBot (like TwitterBot)"},
        {"User-Agent": "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)"},
        {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
        {**GOES_TO, "Sec-Purpose": "prefetch"},
        {**GOES_TO, "Purpose": "prefetch"},
    ],
)
def test_what_fetches_a_link_for_a_preview_uses_none_up(
    home: ApiGateway, headers: dict[str, str]
) -> None:
    """Not even twice, with its cookies; the person's browser opens it, and then the bot is out."""
    bot, person, path = PageBrowser.at(home), PageBrowser.at(home), link_for(home)
    for _ in range(2):
        assert bot.http.get(path, headers=headers).status_code == 200
    assert person.get(path).status_code == 200
    assert bot.post(path).status_code == 403
    assert not bot.session
    assert person.post(path).status_code == 303


def test_a_person_who_goes_there_does_bind_it(home: ApiGateway) -> None:
    """The control for the one above: with these headers a second browser is refused."""
    path = link_for(home)
    assert PageBrowser.at(home).get(path).status_code == 200
    assert PageBrowser.at(home).get(path).status_code == 403


def test_a_browser_that_does_not_say_where_it_goes_binds_by_the_button(home: ApiGateway) -> None:
    """Over plain HTTP none says it; a form without the page before it makes no session."""
    silent, path = PageBrowser.at(home), link_for(home)
    assert silent.post(path).status_code == 403
    assert silent.http.get(path).status_code == 200
    assert silent.post(path).status_code == 303


def test_signing_in_anew_ends_the_session_before(home: ApiGateway, ana: PageBrowser) -> None:
    """A session that was planted in the browser, or forgotten there, is over."""
    before = ana.session
    ana.sign_in(link_for(home))

    assert ana.session != before
    old = PageBrowser.at(home, Cookie=f"{home.session_cookie}={before}")
    assert old.get("/").status_code == 401
    assert ana.get("/").status_code == 200


def test_signing_out_ends_the_session(home: ApiGateway, ana: PageBrowser) -> None:
    """The cookie is worthless from then on, wherever a copy of it is."""
    kept = ana.session
    left = ana.submit("/logout")
    assert left.status_code == 200
    assert "You are not signed in" in left.text
    assert 'http-equiv="refresh"' not in left.text  # that page would reload itself again and again
    assert 'data-passkey="enter"' not in left.text  # none can be made for this address
    assert PageBrowser.at(home, Cookie=f"{home.session_cookie}={kept}").get("/").status_code == 401


def test_a_session_is_no_token_and_a_token_no_session(home: ApiGateway, ana: PageBrowser) -> None:
    """What leaks from one place opens no other; each opens its own."""
    bare = session_token(home, ana)
    for session in (ana.session, bare):
        bearer = {"Authorization": f"Bearer {session}"}
        assert PageBrowser.at(home).get("/v1/approvals", headers=bearer).status_code == 401
    assert PageBrowser.at(home, Cookie=f"{home.session_cookie}={bare}").get("/").status_code == 401
    assert home.client("person").get("/v1/approvals").status_code == 200
    token = home.tokens["person"]
    assert PageBrowser.at(home, Cookie=f"{home.session_cookie}={token}").get("/").status_code == 401


def test_gateways_of_one_host_do_not_sign_each_other_out(
    home: ApiGateway, ana: PageBrowser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """All ports of a host get its cookies: their names let a browser be signed in at both."""
    folder = tmp_path_factory.mktemp("beside") / "home"
    with api_gateway(folder) as other:
        beside = PageBrowser.at(other)
        beside.http.cookies = ana.http.cookies
        beside.sign_in(link_for(other))
        assert beside.get("/").status_code == 200
        assert ana.get("/").status_code == 200
        assert beside.submit("/logout").status_code == 200
        assert ana.get("/").status_code == 200


@pytest.mark.parametrize("path", ["/login/short", f"/login/{'x' * 43}", "/login/%2e%2e"])
def test_an_unknown_link_opens_nothing(home: ApiGateway, path: str) -> None:
    """It is answered with a page, and no one is signed in."""
    browser = PageBrowser.at(home)
    assert browser.get(path).status_code in {403, 404}
    assert browser.post(path).status_code in {403, 404}
    assert not browser.session
