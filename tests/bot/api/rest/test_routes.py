"""Answer on a route as its document says if something is missing or has changed."""

from dataclasses import dataclass
from typing import Any

import pytest

from bot.api.rest.route import Route
from bot.api.rest.routes import ROUTES
from tests.support.api_gateway import HOLDERS, ApiGateway

NOWHERE = "zzzzzzzzzzzzzzzzzzzzzzzzzz"
CLASHES = {
    "POST /v1/requests": ("agent", {"command": "other", "cwd": "/", "requestKey": "clash"}),
    "DELETE /v1/requests/{id}": ("agent", None),
    "POST /v1/runs/{id}/stop": ("agent", None),
    "POST /v1/approvals/{id}/resolve": ("approver", {"decision": "deny"}),
    "PUT /v1/allowlists": ("admin", {"file": {"version": 1}, "baseHash": "0" * 64}),
}
"""The calls that get 409, and by what, if the request with this key was denied and has ended."""
ABOUT_NODES = {"POST /v1/nodes/{node}/invoke", "PUT /v1/nodes/{id}/approvals"}
"""These clash if a node is connected: ``test_rest_nodes.py``."""
LOOKS_UP = {
    "POST /v1/tasks/end": {"task": "none"},
    "POST /v1/nodes/approve": {"code": "K3F7QZ"},
}


@dataclass
class Api:
    """An API, its document, and a request of it that was denied."""

    home: ApiGateway
    ended: str
    document: dict[str, Any]

    def documented(self, route: str) -> set[str]:
        """Return the statuses that the document has for a verb and an address."""
        verb, path = route.split()
        return set(self.document["paths"][path][verb.lower()]["responses"])

    def status(self, route: str, who: str, named: str, body: object = None) -> int:
        """Send a request for what is named and return the answer."""
        verb, path = route.split()
        path = path.replace("{id}", named).replace("{node}", named)
        with self.home.client(who).stream(verb, path, json=body) as answer:
            return answer.status_code


@pytest.fixture(scope="module")
def api(home: ApiGateway) -> Api:
    """Deny a request with the key that clashes."""
    asked = home.ask("touch denied", requestKey="clash")["id"]
    path = f"/v1/approvals/{asked}/resolve"
    assert home.client("approver").post(path, json={"decision": "deny"}).status_code == 200
    return Api(home, asked, home.client("reader").get("/openapi.json").json())


@pytest.mark.parametrize("route", CLASHES)
def test_what_has_ended_or_changed_is_a_conflict(api: Api, route: str) -> None:
    """409, as the document of the route says."""
    who, body = CLASHES[route]

    assert api.status(route, who, api.ended, body) == 409
    assert "409" in api.documented(route)


def test_no_other_route_promises_a_conflict(api: Api) -> None:
    """The author of a client handles what can happen, and nothing else."""
    promised = {one for one in map(_name, ROUTES) if "409" in api.documented(one)}

    assert promised == {*CLASHES, *ABOUT_NODES}


@pytest.mark.parametrize("route", LOOKS_UP)
def test_what_a_body_names_may_not_be_there(api: Api, route: str) -> None:
    """404 without an id in the address is in the document, too."""
    assert api.status(route, "admin", "", LOOKS_UP[route]) == 404
    assert "404" in api.documented(route)


def test_what_an_address_names_may_not_be_there(api: Api) -> None:
    """Each route that answers 404 to an id of nothing says so; the others name nothing."""
    for route in ROUTES:
        name = _name(route)
        if route.has_body:
            continue
        found = {api.status(name, who, NOWHERE) for who in HOLDERS if not route.streams}
        assert ("404" in api.documented(name)) is bool(route.path_names), name
        assert route.streams or (404 in found) is bool(route.path_names), name


def _name(route: Route) -> str:
    return f"{route.verb} {route.path}"
