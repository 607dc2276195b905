"""Give each form the named fields; a request with another does nothing."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from bot.page.forms import FORMS, QUERIES
from bot.page.records.list_actions import ACTIONS
from bot.page.records.lists import LISTINGS
from core.model.access import Scope
from core.store.people import people, tokens
from tests.bot.page.markup import Markup
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PERSON_SCOPES, PageBrowser, link_for
from tests.support.page_routes import views

VALID: dict[str, dict[str, str]] = {
    "/approve/{ref}/answer": {"decision": "allow-once"},
    "/approve/{ref}/passkey": {"decision": "allow-once"},
    "/plan/{ref}": {"decision": "allow-once", "all": "yes", "shown": "{ref}"},
    "/lock-down": {"why": "test", "confirm": "yes"},
    "/do/{action}": {"name": "dora"},
    "/exec-approvals": {"agent": "main", "add": "/usr/bin/uniq", "do": "save", "base": "{base}"},
    "/sessions/{id}/end": {"how": "revoke"},
    "/passkeys": {"nonce": "x", "credential": "x"},
    "/login/passkey": {"nonce": "x", "credential": "x"},
    "/push": {"endpoint": "https://x.test", "p256dh": "x", "auth": "x"},
    "/push/answer": {"answer": "x", "decision": "deny"},
}
"""The values with which each form would change something."""
ODD = ("decison", "tick-x", "remove-zz", "<script>", "method", "who ")


@pytest.fixture
def asked(home: ApiGateway) -> Iterator[str]:
    """Ask for something that still waits afterwards."""
    found = home.ask("git push origin forms")["id"]
    yield found
    home.client("agent").delete(f"/v1/requests/{found}")


def _state(home: ApiGateway, asked: str) -> tuple[Any, ...]:
    """Return what forms change: the answer, sessions, people, the file, the lock, the journal."""
    store = home.gateway.store
    return (
        home.client("person").get(f"/v1/approvals/{asked}").json()["state"],
        [(one.id, one.state) for one in home.do(store.read(tokens.listed))],
        home.do(store.read(people.listed)),
        (home.home / "exec-approvals.json").read_bytes(),
        home.gateway.gate.execution.guard.lockdown.state(),
        (home.home / "audit.jsonl").read_bytes(),
    )


def _path(route: str, home: ApiGateway, asked: str, session: str) -> str:
    secret = link_for(home).removeprefix("/login/")
    known = {"ref": asked, "id": session, "action": "add-person", "secret": secret}
    return route.format(**known)


def test_each_address_that_takes_a_form_has_its_fields_named(home: ApiGateway) -> None:
    """And no other address does; a new form is added deliberately."""
    assert FORMS.keys() == {path for path, view in views(home).items() if view.post is not None}
    assert QUERIES.keys() < {path for path, view in views(home).items() if view.get is not None}


@pytest.mark.parametrize("route", FORMS)
def test_a_field_that_is_not_known_is_refused_and_nothing_is_done(
    home: ApiGateway, admin: PageBrowser, asked: str, route: str
) -> None:
    """In addition to all that the form needs; the answer names the field."""
    csrf = admin.csrf("/sessions")
    session = home.do(home.gateway.store.read(tokens.listed))[-1].id
    base = re.search(r'name="base" value="(\w+)"', admin.get("/exec-approvals").text)
    assert base is not None
    path = _path(route, home, asked, session)
    admin.get(path)
    filled = {
        name: text.format(ref=asked, base=base[1]) for name, text in VALID.get(route, {}).items()
    }
    before = _state(home, asked)
    for name in ODD:
        refused = admin.post(path, csrf=csrf, **filled, **{name: "yes"})
        assert refused.status_code == 400, (name, refused.text)
        words = Markup.of(refused.text).first("h1").text
        assert words == (
            f"The form has a field that is not known here: {name!a}. Nothing was changed."
        )
    assert _state(home, asked) == before
    # The control: without it the form is read.
    taken = admin.post(path, csrf="0" * 64 if route != "/push/answer" else csrf, **filled)
    assert "not known here" not in taken.text


@pytest.mark.parametrize("route", QUERIES)
def test_a_parameter_that_is_not_known_is_refused(admin: PageBrowser, route: str) -> None:
    """A mistyped filter would show the wrong things; the control is the right one."""
    refused = admin.get(f"{route}?agnet=main")
    assert refused.status_code == 400
    assert "&#39;agnet&#39;" in refused.text
    assert admin.get(f"{route}?agent=main").status_code == 200


def test_a_field_of_another_action_is_refused(home: ApiGateway, admin: PageBrowser) -> None:
    """Each action has its own, in addition to the confirmation."""
    names = {name for action in ACTIONS.values() for name in action.fields}
    for action, known in ACTIONS.items():
        for other in sorted(names - set(known.fields)):
            fields = {**dict.fromkeys(known.fields, "No such"), other: "ana"}
            refused = admin.submit(f"/do/{action}", **fields, confirm="yes")
            assert (refused.status_code, ascii(other) in refused.text.replace("&#39;", "'")) == (
                400,
                True,
            )
    assert not [one for one in home.do(home.gateway.store.read(people.listed)) if one.revoked]


def test_the_forms_of_all_pages_send_what_is_named(home: ApiGateway) -> None:
    """Every field of every form on every page, with all that pages show; each form is found."""
    admin = PageBrowser.signed_in(home, scopes=PERSON_SCOPES | {Scope.ADMIN})
    asked = [home.ask(f"git push origin all-{n}", session="all")["id"] for n in range(3)]
    admin.answer(home.ask("git push origin given")["id"], "allow-always", limit="30m")
    run = home.ask("sleep 20")["id"]
    paths = [
        *(path for path, view in views(home).items() if view.get and "{" not in path),
        *(f"/lists/{name}" for name in LISTINGS),
        *(f"/plan/{asked[0]}", f"/approve/{asked[0]}", "/exec-approvals?agent=main"),
    ]
    sent = [one for path in paths for one in _forms(admin.get(path).text)]
    token = admin.csrf("/sessions")
    question = admin.post("/do/revoke-person", csrf=token, who="bo").text
    stranger = PageBrowser.at(home)
    offered = stranger.get(link_for(home)).text
    sent += [*_forms(question), *_forms(offered)]
    met = set()
    for action, names in sent:
        route = next(one for one in (*FORMS, *QUERIES) if _fits(one, action))
        met.add(route)
        known = FORMS.get(route), QUERIES.get(route)
        fields = [name for name in names if name != "csrf"]
        assert all(any(one and one.has(name) for one in known) for name in fields), (action, names)
    by_scripts = {route for route in FORMS if "passkey" in route or route.startswith("/push")}
    assert met >= set(FORMS) - by_scripts
    home.client("agent").delete(f"/v1/requests/{run}")
    for one in asked:
        home.client("agent").delete(f"/v1/requests/{one}")


def _fits(route: str, action: str) -> bool:
    return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", route), action) is not None


def _forms(html: str) -> list[tuple[str, list[str]]]:
    """Return where each form of a page is sent, and the names of its fields."""
    found: list[tuple[str, list[str]]] = []
    for one in Markup.of(html).elements:
        if one.tag == "form" and one.attributes.get("method") != "dialog":
            found.append((one.attributes["action"], []))
        elif found and (name := one.attributes.get("name")) and one.tag != "meta":
            found[-1][1].append(name)
    return found
