"""Show one approval on its page: read by those signed in, answered by those who may."""

from typing import Any

import pytest

from core.model.identity import Actor
from core.store.people import people
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PageBrowser
from tests.support.waiting import wait_until

ASKED = "git push origin main"


def _state(home: ApiGateway, approval_id: str) -> dict[str, Any]:
    found: dict[str, Any] = home.client("person").get(f"/v1/approvals/{approval_id}").json()
    return found


def test_the_page_shows_what_the_chats_show(home: ApiGateway, ana: PageBrowser) -> None:
    """The command, why, the folder, the agent; the details; what always would store."""
    asked = home.ask(ASKED)
    text = ana.get(f"/approve/{asked['code']}").text

    for words in (ASKED, "git push is not on main&#39;s allowlist", str(home.home), "on gateway"):
        assert words in text
    assert "/usr/bin/git push origin main exactly" in text
    assert "would have matched" in text


@pytest.mark.parametrize(
    ("decision", "state"), [("allow-once", "allowed"), ("deny", "denied")], ids=str
)
def test_a_form_answers(home: ApiGateway, ana: PageBrowser, decision: str, state: str) -> None:
    """Without JavaScript, and the page then shows what is true."""
    asked = home.ask(ASKED)
    answered = ana.answer(asked["id"], decision)

    assert (answered.status_code, answered.headers["location"]) == (303, f"/approve/{asked['id']}")
    assert _state(home, asked["id"])["state"] == state
    page = ana.get(f"/approve/{asked['id']}").text
    assert "by ana" in page
    assert "/answer" not in page


def test_a_reason_reaches_the_agent(home: ApiGateway, ana: PageBrowser) -> None:
    """As the note of a denial."""
    asked = home.ask(ASKED)
    ana.answer(asked["id"], "deny", note="wrong branch")
    assert _state(home, asked["id"])["note"] == "wrong branch"
    assert "wrong branch" in ana.get(f"/approve/{asked['id']}").text


def test_always_goes_as_far_as_the_form_says(home: ApiGateway, ana: PageBrowser) -> None:
    """A limit makes a grant and not an entry of the file."""
    asked = home.ask("git fetch origin --dry-run")
    ana.answer(asked["id"], "allow-always", limit="30m")
    found = _state(home, asked["id"])
    assert (found["decision"], found["terms"]) == ("allow-always", "for 30 minutes")


def test_who_may_not_answer_reads_and_is_refused(home: ApiGateway, bo: PageBrowser) -> None:
    """The page says so before anything is pressed, and the method still refuses."""
    asked = home.ask(ASKED)
    assert "You may not answer this" in bo.get(f"/approve/{asked['id']}").text
    refused = bo.answer(asked["id"], "allow-once")

    assert (refused.status_code, "may not answer" in refused.text) == (403, True)
    assert _state(home, asked["id"])["state"] == "pending"


def test_a_link_gives_no_right(home: ApiGateway) -> None:
    """A person who is not signed in learns how to, and nothing about the approval."""
    asked = home.ask("echo hidden-from-strangers | tee /dev/null")
    stranger = PageBrowser.at(home)
    answer = stranger.get(f"/approve/{asked['id']}")

    assert answer.status_code == 401
    assert "hidden-from-strangers" not in answer.text
    assert stranger.post(f"/approve/{asked['id']}/answer", decision="deny").status_code == 401
    assert _state(home, asked["id"])["state"] == "pending"


def test_from_another_site_the_page_asks_once_more(home: ApiGateway) -> None:
    """Browsers hold back a strict cookie on such a link; the page's own request carries it."""
    stranger = PageBrowser.at(home)
    crossed = stranger.get("/", headers={"Sec-Fetch-Site": "cross-site"})
    assert (crossed.status_code, 'http-equiv="refresh"' in crossed.text) == (200, True)
    own = stranger.get("/", headers={"Sec-Fetch-Site": "same-origin"})
    assert (own.status_code, 'http-equiv="refresh"' in own.text) == (401, False)


def test_what_was_decided_elsewhere_is_told(home: ApiGateway, ana: PageBrowser) -> None:
    """By whom and when; a late answer changes nothing and says so."""
    asked = home.ask(ASKED)
    home.client("person").post(
        f"/v1/approvals/{asked['id']}/resolve", json={"decision": "deny", "note": "no"}
    ).raise_for_status()
    late = ana.answer(asked["id"], "allow-once")

    assert (late.status_code, "was denied by person (api)" in late.text) == (409, True)
    assert "Denied by person" in ana.get(f"/approve/{asked['id']}").text


def test_what_was_withdrawn_is_told(home: ApiGateway, ana: PageBrowser) -> None:
    """The page then has no button."""
    asked = home.ask(ASKED)
    home.client("agent").delete(f"/v1/requests/{asked['id']}").raise_for_status()
    page = ana.get(f"/approve/{asked['id']}").text
    assert 'data-state="cancelled"' in page
    assert "/answer" not in page


def test_an_unknown_code_is_a_page(ana: PageBrowser) -> None:
    """With a way back, and 404."""
    found = ana.get("/approve/zzzzzz")
    assert (found.status_code, "no approval" in found.text) == (404, True)


def test_who_asked_does_not_approve(home: ApiGateway, ana: PageBrowser) -> None:
    """A person's own request is refused, whichever of their accounts asked."""
    actor = Actor("api", "nobody")
    assert home.do(home.gateway.store.read(people.known_as, actor)).person == "api:nobody"
    token = home.do(_token_id(home, "asker"))
    home.do(home.gateway.store.write(_link, "api", token, "ana"))
    try:
        asked = home.ask(ASKED, who="asker")
        refused = ana.answer(asked["id"], "allow-once")
        assert refused.status_code == 403, refused.text
        assert _state(home, asked["id"])["state"] == "pending"
    finally:
        home.do(home.gateway.store.write(people.unlink, "api", token))
    free = home.ask(ASKED + " --tags", who="asker")
    assert ana.answer(free["id"], "deny").status_code == 303  # the control: unlinked, it counts


async def _token_id(home: ApiGateway, name: str) -> str:
    from core.store.people import tokens  # noqa: PLC0415

    found = await home.gateway.store.read(tokens.listed)
    return next(one.id for one in found if one.name == name)


def _link(conn: Any, channel: str, account: str, person: str) -> None:
    from core.store.schema.people_tables import accounts  # noqa: PLC0415

    row = {"channel": channel, "account": account, "person": person}
    conn.execute(accounts.insert().values(**row, name="", linked_ms=0))


def test_what_runs_is_stopped(home: ApiGateway, ana: PageBrowser) -> None:
    """The button on the start page ends the command; a second press says that it has ended."""
    run = home.ask("sleep 55")
    wait_until("the run", lambda: f"/runs/{run['id']}/stop" in ana.get("/").text)
    assert "is being stopped" in ana.submit(f"/runs/{run['id']}/stop").text
    wait_until("its end", lambda: f"/runs/{run['id']}/stop" not in ana.get("/").text)
    assert ana.submit(f"/runs/{run['id']}/stop").status_code == 409
