"""Stream to an open page what changed, and nothing after the session's end."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from core.store.people import page_links, tokens
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PERSON_SCOPES, PageBrowser

Event = tuple[str, dict[str, Any]]


@contextmanager
def _stream(browser: PageBrowser, query: str = "") -> Iterator[Iterator[Event]]:
    timeout = httpx.Timeout(20, read=25)
    with browser.http.stream("GET", f"/live{query}", timeout=timeout) as answer:
        assert answer.status_code == 200
        yield _events(answer)


def _events(answer: httpx.Response) -> Iterator[Event]:
    kind = ""
    for line in answer.iter_lines():
        name, _, text = line.partition(": ")
        if name == "event":
            kind = text
        elif name == "data":
            yield kind, json.loads(text)


def _withdraw(home: ApiGateway, asked: str) -> None:
    home.client("agent").delete(f"/v1/requests/{asked}").raise_for_status()


def test_a_new_card_comes_and_its_end_is_told(home: ApiGateway, ana: PageBrowser) -> None:
    """Pushed, with how it ended, and by whom."""
    with _stream(ana) as events:
        next(events)
        asked = home.ask("git push origin live")["id"]
        _, came = next(one for one in events if asked in one[1]["cards"])
        assert asked in came["order"]
        home.client("person").post(f"/v1/approvals/{asked}/resolve", json={"decision": "deny"})
        _, gone = next(one for one in events if asked in one[1]["gone"])
        assert "Denied by person" in gone["gone"][asked]
        assert asked not in gone["order"]


def test_who_comes_back_gets_what_differs(home: ApiGateway, ana: PageBrowser) -> None:
    """A page says what it has: known cards are not sent again, ended ones are reported."""
    asked, ended = home.ask("git push origin one")["id"], home.ask("git push origin two")["id"]
    with _stream(ana) as events:
        _, first = next(events)
    rev = first["cards"][asked].split('data-rev="')[1].split('"')[0]
    _withdraw(home, ended)

    with _stream(ana, f"?seen={asked}.{rev},{ended}.000000000000") as events:
        _, again = next(events)
    assert asked not in again["cards"]
    assert "Withdrawn" in again["gone"][ended]
    with _stream(ana, f"?seen={asked}.000000000000") as events:  # the control: an older card
        assert asked in next(events)[1]["cards"]
    _withdraw(home, asked)


def test_only_what_differs_is_sent(home: ApiGateway, ana: PageBrowser) -> None:
    """The first event has all of the page; a new question changes nothing that runs."""
    with _stream(ana) as events:
        _, first = next(events)
        asked = home.ask("git push origin calm")["id"]
        _, came = next(one for one in events if asked in one[1]["cards"])
    _withdraw(home, asked)

    assert {"running", "health"} <= first.keys()
    assert "running" not in came


def test_a_revoked_session_hears_nothing_more(home: ApiGateway, ana: PageBrowser) -> None:
    """It is told that it is over, at once, and the stream ends."""
    token = home.do(_newest(home))
    with _stream(ana) as events:
        next(events)
        home.do(home.gateway.store.write(tokens.revoke, token))
        kind, said = next(events)
        asked = home.ask("git push origin unheard")["id"]
        assert (kind, said) == ("signed-out", {})
        assert list(events) == []
    _withdraw(home, asked)


async def _newest(home: ApiGateway) -> str:
    found = await home.gateway.store.read(tokens.listed)
    return [one for one in found if one.browser is not None][-1].id


def test_the_page_of_one_approval_hears_its_end(home: ApiGateway, ana: PageBrowser) -> None:
    """And the stream ends with it."""
    asked = home.ask("git push origin followed")["id"]
    with _stream(ana, f"?follow={asked}") as events:
        assert next(events)[1]["ended"] is False
        _withdraw(home, asked)
        assert next(events)[1]["ended"] is True
        assert list(events) == []


def test_a_stranger_hears_nothing(home: ApiGateway) -> None:
    """No stream without a session."""
    assert PageBrowser.at(home).get("/live").status_code == 401


def test_who_may_not_see_an_approval_hears_no_more_of_it_than_of_none(
    home: ApiGateway,
) -> None:
    """Neither whether it still waits, nor how it ended; an id that nothing has breaks no stream.

    A session that began in a chat sees what its account may answer: here nothing.
    """
    made = home.do(home.gateway.store.write(page_links.create, "bo", PERSON_SCOPES, "telegram:7"))
    bo = PageBrowser.at(home)
    bo.sign_in(f"/login/{made.secret}")
    asked, ended = home.ask("git push origin hers")["id"], home.ask("git push origin over")["id"]
    _withdraw(home, ended)
    unknown = f"{asked[:-6]}zzzzzz"
    for one in (asked, unknown):
        with _stream(bo, f"?follow={one}") as events:
            assert [said["ended"] for _, said in events] == [True]

    with _stream(bo, f"?seen={asked}.0,{ended}.0,{unknown}.0") as events:
        assert next(events)[1]["gone"] == {asked: "", ended: "", unknown: ""}
    _withdraw(home, asked)
