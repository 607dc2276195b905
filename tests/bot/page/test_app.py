"""Answer an unknown address: a page for people with the way home, JSON for programs."""

import pytest

from tests.bot.page.markup import Markup
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PageBrowser

HTML = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
MISTYPED = ("/histroy", "/lists", "/login", "/approve", "/History", "/history/", "/v1x", "/%3Cb%3E")


@pytest.mark.parametrize("path", MISTYPED)
def test_a_mistyped_address_is_a_page_with_the_way_home(
    home: ApiGateway, ana: PageBrowser, path: str
) -> None:
    """Signed in with the navigation, otherwise how to sign in; it repeats no address."""
    ours, theirs = ana.get(path, headers=HTML), PageBrowser.at(home).get(path, headers=HTML)
    for answer in (ours, theirs):
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("text/html")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        page = Markup.of(answer.text)
        assert page.first("h1").text == "Not found"
        assert page.first("a", href="/").text
        assert path not in page.first("main").text
    assert "sayso login" in theirs.text
    assert "<nav" not in theirs.text
    assert "sayso login" not in ours.text
    assert 'aria-label="Pages"' in ours.text


@pytest.mark.parametrize(
    ("verb", "path", "headers", "status"),
    [
        ("GET", "/v1/histroy", HTML, 401),
        ("GET", "/v1", HTML, 401),
        ("GET", "/histroy", {"Accept": "*/*"}, 401),
        ("POST", "/histroy", HTML, 401),
        ("GET", "/health", HTML, 200),
        ("GET", "/openapi.json", HTML, 200),
    ],
)
def test_a_program_gets_json(
    home: ApiGateway, verb: str, path: str, headers: dict[str, str], status: int
) -> None:
    """Below /v1 and at API addresses whatever it accepts; elsewhere unless it accepts HTML."""
    answer = PageBrowser.at(home).http.request(verb, path, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("application/json")


def test_with_a_token_an_unknown_address_of_the_api_is_json(home: ApiGateway) -> None:
    """As before: 404 with a code that programs read."""
    answer = home.client("person").get("/v1/histroy", headers=HTML)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_another_host_and_a_doubled_header_are_refused_as_on_any_page(home: ApiGateway) -> None:
    """What is checked before the address is checked there, too."""
    browser = PageBrowser.at(home)
    assert browser.get("/histroy", headers={**HTML, "Host": "evil.example"}).status_code == 403
    doubled = [("Accept", "text/html"), ("Accept", "text/html")]
    assert browser.http.get("/histroy", headers=doubled).status_code == 404
    crossed = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "cross-site")]
    assert browser.http.get("/history", headers=[*doubled, *crossed]).status_code == 401
