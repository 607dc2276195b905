"""Show the lockdown, and the sessions of the signed-in person."""

import re

from core.store.people import tokens
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PageBrowser

_END = re.compile(r'action="(/sessions/[0-9a-z]+/end)"')


def test_a_person_sees_the_own_sessions_only(
    home: ApiGateway, ana: PageBrowser, bo: PageBrowser
) -> None:
    """With the browser of each; this one is marked."""
    phone = PageBrowser.signed_in(home)
    page = ana.get("/sessions").text
    mine = set(_END.findall(page))

    assert page.count("this browser") == 1
    assert set(_END.findall(phone.get("/sessions").text)) == mine
    assert mine.isdisjoint(_END.findall(bo.get("/sessions").text))


def test_another_browser_is_signed_out_from_here(home: ApiGateway, ana: PageBrowser) -> None:
    """At once."""
    phone = PageBrowser.signed_in(home)
    token = home.do(_newest(home))
    assert ana.submit(f"/sessions/{token}/end", how="revoke").status_code == 303
    assert phone.get("/").status_code == 401
    assert ana.get("/").status_code == 200


def test_nobody_ends_the_session_of_another(
    home: ApiGateway, ana: PageBrowser, bo: PageBrowser
) -> None:
    """It is answered like an unknown one."""
    token = home.do(_newest(home))  # Bo's
    assert ana.submit(f"/sessions/{token}/end", how="revoke").status_code == 404
    assert bo.get("/").status_code == 200


async def _newest(home: ApiGateway) -> str:
    found = await home.gateway.store.read(tokens.listed)
    return [one for one in found if one.browser is not None][-1].id


def test_the_lockdown_wants_a_tick(home: ApiGateway, ana: PageBrowser) -> None:
    """Without it nothing is changed; with it everything is denied, and the page says so."""
    lockdown = home.gateway.gate.execution.guard.lockdown
    assert ana.submit("/lock-down", why="odd things").status_code == 400
    assert lockdown.state() is None
    try:
        assert ana.submit("/lock-down", why="odd things", confirm="yes").status_code == 303
        assert "odd things" in ana.get("/lock-down").text
        assert "Locked down: nothing runs" in ana.get("/").text
        assert home.ask("echo hello")["status"] == "denied"
    finally:
        lockdown.lift()
    assert "Locked down" not in ana.get("/").text
