"""List people, tokens, grants, channels and agents' sessions, and the actions on them."""

import re

import pytest

from bot.page.records.list_actions import ACTIONS
from core.model.access import Scope
from core.store.people import people, tokens
from core.store.people.tokens import TokenDraft
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PERSON_SCOPES, PageBrowser

ADMIN = PERSON_SCOPES | {Scope.ADMIN}


@pytest.fixture
def admin(home: ApiGateway) -> PageBrowser:
    """Sign in a person who may change what is listed."""
    return PageBrowser.signed_in(home, scopes=ADMIN)


@pytest.mark.parametrize(
    "name", ["people", "tokens", "grants", "channels", "rules", "agent-sessions"]
)
def test_each_list_is_there_for_who_may_read_it(
    home: ApiGateway, admin: PageBrowser, ana: PageBrowser, name: str
) -> None:
    """By the scopes of its method, and no one who is not signed in."""
    home.ask("git push origin listed")
    assert admin.get(f"/lists/{name}").status_code == 200
    assert ana.get(f"/lists/{name}").status_code == (403 if name == "tokens" else 200)
    assert PageBrowser.at(home).get(f"/lists/{name}").status_code == 401
    assert admin.get("/lists/others").status_code == 404


def test_a_token_is_revoked_after_a_question(home: ApiGateway, admin: PageBrowser) -> None:
    """One press asks, a second does it; the method refuses a person without the right."""
    store = home.gateway.store
    draft = TokenDraft("robot", frozenset({Scope.READ}), None, None, "uid:0", None)
    made = home.do(store.write(tokens.create, draft))
    assert f'value="{made.token.id}"' in admin.get("/lists/tokens").text

    asked = admin.submit("/do/revoke-token", token=made.token.id)
    assert asked.status_code == 200
    assert "cannot be restored" in asked.text
    assert _state(home, made.token.id) == "live"
    done = admin.submit("/do/revoke-token", token=made.token.id, confirm="yes")
    assert "revoked" in done.text
    assert _state(home, made.token.id) == "revoked"


def test_what_is_sent_from_elsewhere_does_nothing(
    home: ApiGateway, admin: PageBrowser, ana: PageBrowser
) -> None:
    """Without the token of the form, from another site, without the scope, or with a GET."""
    draft = TokenDraft("kept", frozenset({Scope.READ}), None, None, "uid:0", None)
    made = home.do(home.gateway.store.write(tokens.create, draft))
    fields = {"token": made.token.id, "confirm": "yes"}
    assert admin.post("/do/revoke-token", **fields).status_code == 403
    csrf = admin.csrf("/sessions")
    assert (
        admin.post("/do/revoke-token", "https://evil.test", csrf=csrf, **fields).status_code == 403
    )
    assert admin.get("/do/revoke-token").status_code == 405
    assert ana.submit("/do/revoke-token", **fields).status_code == 403
    assert admin.submit("/do/other", **fields).status_code == 404
    assert admin.submit("/do/revoke-token", confirm="yes").status_code == 400
    assert _state(home, made.token.id) == "live"


def test_people_are_added_revoked_and_restored(home: ApiGateway, admin: PageBrowser) -> None:
    """What the commands do, by the same methods."""
    assert "carla" in admin.submit("/do/add-person", name="carla").text
    page = admin.get("/lists/people").text
    assert re.search(r"<bdi>carla</bdi>", page)
    admin.submit("/do/revoke-person", who="carla", confirm="yes")
    assert _revoked(home, "carla")
    admin.submit("/do/restore-person", who="carla")
    assert not _revoked(home, "carla")
    wrong = admin.submit("/do/add-person", name="No Name!")
    assert wrong.status_code == 409


def test_a_grant_is_revoked(home: ApiGateway, admin: PageBrowser) -> None:
    """It is listed with what it lets run; afterwards people are asked again."""
    asked = home.ask("git push origin granted")["id"]
    admin.answer(asked, "allow-always", limit="30m")
    page = admin.get("/lists/grants").text
    (grant,) = set(re.findall(r'name="id" value="([0-9a-z]+)"', page))
    assert "until" in page
    assert "People are asked again" in admin.submit("/do/revoke-grant", id=grant).text
    admin.submit("/do/revoke-grant", id=grant, confirm="yes")
    assert grant not in admin.get("/lists/grants").text


def _state(home: ApiGateway, token: str) -> str:
    found = home.do(home.gateway.store.read(tokens.listed))
    return next(str(one.state) for one in found if one.id == token)


def _revoked(home: ApiGateway, name: str) -> bool:
    found = home.do(home.gateway.store.read(people.listed))
    return next(one.revoked for one in found if one.id == name)


@pytest.mark.parametrize("name", ACTIONS)
def test_no_button_does_what_takes_a_terminal(
    admin: PageBrowser, ana: PageBrowser, name: str
) -> None:
    """It would always be refused, as for a person without the right: approvers only revoke."""
    fields = dict.fromkeys(ACTIONS[name].fields, "No such")
    assert admin.submit(f"/do/{name}", **fields, confirm="yes").status_code in {200, 400, 404, 409}
    refused = ana.submit(f"/do/{name}", **fields, confirm="yes").status_code == 403
    assert refused is (name not in {"revoke-grant", "end-task"})
