"""Show on the start page what waits and runs, and how the gateway is."""

import re
import time

from core.model.identity import ApprovalId
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PageBrowser
from tests.support.waiting import wait_until

_HEALTH_S = 5.5
"""A little longer than the page caches the health."""
_CARD = re.compile(r'<article class="card" id="c-([0-9a-z]{26})"')


def _withdraw(home: ApiGateway, *ids: str) -> None:
    for one in ids:
        home.client("agent").delete(f"/v1/requests/{one}").raise_for_status()


def test_what_waits_is_there_the_soonest_deadline_first(home: ApiGateway, ana: PageBrowser) -> None:
    """Each once, and gone when it is withdrawn."""
    asked = [home.ask(f"git push origin branch-{n}")["id"] for n in range(3)]
    found = _CARD.findall(ana.get("/").text)
    assert [one for one in found if one in asked] == asked

    _withdraw(home, *asked)
    assert not set(asked) & set(_CARD.findall(ana.get("/").text))


def test_identical_requests_are_one_card(home: ApiGateway, ana: PageBrowser) -> None:
    """As in chats: the first represents all, and says how many there are."""
    asked = [home.ask("git push origin same")["id"] for _ in range(3)]
    text = ana.get("/").text

    assert [one for one in _CARD.findall(text) if one in asked] == asked[:1]
    assert "3 times" in text
    _withdraw(home, *reversed(asked))


def test_more_than_a_page_is_counted(home: ApiGateway, ana: PageBrowser) -> None:
    """Twenty cards, and how many more wait."""
    asked = [home.ask(f"git push origin many-{n}")["id"] for n in range(23)]
    text = ana.get("/").text
    assert len(_CARD.findall(text)) == 20
    assert '<span id="more-count">3</span>' in text
    _withdraw(home, *asked)


def test_further_pages_hold_each_of_the_rest_once(home: ApiGateway, ana: PageBrowser) -> None:
    """By links, as far as there are any, and the live view of a page is of that page."""
    asked = [home.ask(f"git push origin page-{n}")["id"] for n in range(45)]
    found, path = list[str](), "/"
    while path:
        text = ana.get(path).text
        found += _CARD.findall(text)
        shown = re.search(r'id="more"( hidden)?>.*?id="next" href="(.*?)"', text)
        assert shown is not None
        path = "" if shown[1] else shown[2]
    assert [one for one in found if one in asked] == asked
    assert len(found) == len(set(found))

    last = ana.get(f"/?after={asked[-2]}").text
    assert _CARD.findall(last) == asked[-1:]
    assert f'data-after="{asked[-2]}"' in last
    assert ana.get("/?after=1'%3Cb%3E").status_code == 400
    _withdraw(home, *asked)


def test_what_runs_shows_its_latest_output_masked(home: ApiGateway, ana: PageBrowser) -> None:
    """Secrets as everywhere."""
    secret = "ghp_" + "Z9y8X7w6V5" * 3 + "u4T3s2"
    run = home.ask(f"echo {secret} first; sleep 50")
    page = wait_until("output", lambda: " first" in (text := ana.get("/").text) and text)

    assert secret not in page
    assert f"/history/{run['id']}" in page
    assert home.do(home.gateway.gate.cancel(ApprovalId(run["id"]), "test"))


def test_health_is_one_line(ana: PageBrowser) -> None:
    """All well, or what is not."""
    wait_until("a quick look", lambda: "All well: " in ana.get("/").text)
    assert "Lock down…" in ana.get("/").text


def test_a_lockdown_is_no_illness(home: ApiGateway, ana: PageBrowser) -> None:
    """It is reported on a line of its own; other parts are still well."""
    lockdown = home.gateway.gate.execution.guard.lockdown
    lockdown.engage("a test", by="uid:0")
    try:
        time.sleep(_HEALTH_S)  # until what is cached is checked again
        page = wait_until(
            "a quick look", lambda: "All well: " in (text := ana.get("/").text) and text
        )
    finally:
        lockdown.lift()

    assert "Locked down: nothing runs." in page
    assert 'class="line well"' in page
    assert "All well: " in page
