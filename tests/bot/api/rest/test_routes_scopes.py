from typing import Any

import httpx
import pytest

from bot.api.rest.routes import served
from tests.project.methods_reference import table
from tests.support.api_gateway import HOLDERS, ApiGateway

SAMPLE = "zzzzzzzzzzzzzzzzzzzzzzzzzz"
REFUSED = {401, 403}
METHODS = table()
SERVED = {(route.verb, route.path): METHODS[route.method] for route in served(METHODS)}

NOT_FOR_AGENTS = {
    "/exec/sessions",
    "/diagnostics/exec",
    "/v1/insight",
    "/v1/nodes",
    "/v1/nodes/{id}",
}
"""Keep what reveals other agents' doings from agents, whatever the methods say."""


def call(client: httpx.Client, verb: str, path: str, **headers: str) -> int:
    """Send a request whose params are wrong wherever possible, so that nothing happens."""
    body: dict[str, Any] = {"json": {"none": 1}}
    if verb not in {"POST", "PUT"}:
        body = {"params": {"limit": "none"}}
    if "?" in path:
        body = {}
    address = path.replace("{id}", SAMPLE)
    with client.stream(verb, address, headers=headers, **body) as answer:
        return answer.status_code


@pytest.mark.parametrize(("verb", "path"), SERVED)
def test_a_route_lets_in_whose_scope_suffices(home: ApiGateway, verb: str, path: str) -> None:
    """Each route with each kind of token: admitted exactly if one of its scopes is held."""
    for who, (scopes, agent, _) in HOLDERS.items():
        method = SERVED[verb, path]
        allowed = bool(method.scopes & scopes)
        if agent is not None and (method.of_all or path in NOT_FOR_AGENTS):
            allowed = False

        status = call(home.client(who), verb, path)

        assert (status not in REFUSED) is allowed, (who, status)
        assert status < 500, who


@pytest.mark.parametrize(("verb", "path"), SERVED)
def test_nobody_is_let_in_without_a_token(home: ApiGateway, verb: str, path: str) -> None:
    """No token, an invented one, one in the address, one in a cookie, another scheme: 401."""
    token = home.tokens["agent"]
    client = home.client(None)
    made_up = {"Authorization": "Bearer sayso_" + "0" * 49}

    assert call(client, verb, path) == 401
    for headers in (
        made_up,
        {"Cookie": f"token={token}; authorization={token}"},
        {"Authorization": f"Basic {token}"},
        {"Authorization": token},
        {"X-Api-Key": token, "Sec-WebSocket-Protocol": f"bearer.{token}"},
    ):
        assert call(client, verb, path, **headers) == 401
    for name in ("token", "access_token"):
        assert call(client, verb, f"{path}?{name}={token}") == 401


def test_a_revoked_token_is_out_at_once(home: ApiGateway) -> None:
    """What was answered a moment ago is refused with the next request."""
    client = home.client("asker")
    heard = {"session": "main"}
    assert client.get("/v1/events", params=heard).status_code == 200

    home.revoke("asker")

    assert client.get("/v1/events", params=heard).status_code == 401


def test_an_agent_sees_its_own_only(home: ApiGateway) -> None:
    """Another agent's question is answered like a nonexistent one; its name cannot be taken."""
    asked = home.ask("touch private")
    path = f"/v1/requests/{asked['id']}"
    other = home.client("other")
    unknown = other.get(f"/v1/requests/{SAMPLE}").json()["error"]["message"]

    hidden = other.get(path)

    assert hidden.status_code == 404
    assert hidden.json()["error"]["message"] == unknown.replace(SAMPLE, asked["id"])
    assert other.delete(path).status_code == 404
    assert other.get(f"/v1/runs/{asked['id']}/tail").status_code == 404
    assert other.get(f"/v1/runs/{asked['id']}/output").status_code == 404
    assert other.get(f"/v1/approvals/{asked['id']}").status_code == 404
    assert other.get("/v1/approvals").json() == {"pending": []}
    assert other.get("/v1/history").json() == {"history": [], "lookedBackToMs": None}
    named = other.post("/v1/requests", json={"command": "true", "cwd": "/", "agent": "main"})
    assert named.status_code == 403
    assert "scope" not in named.json()["error"]["hint"], "no scope is missing"
    assert home.client("agent").get(path).json()["status"] == "pending"


def test_nobody_approves_what_an_agent_token_could(home: ApiGateway) -> None:
    """The token that asked cannot answer, whatever it sends; a person's can."""
    asked = home.ask("touch guarded")
    path = f"/v1/approvals/{asked['id']}/resolve"
    yes = {"decision": "allow-once"}

    for who in ("agent", "other", "admin", "reader"):
        assert home.client(who).post(path, json=yes).status_code == 403, who
    answered = home.client("approver").post(path, json=yes)

    assert answered.json()["accepted"] is True
    ended = home.client("agent").get(f"/v1/requests/{asked['id']}", params={"wait": 10})
    assert ended.json()["status"] == "finished"
    assert (home.home / "guarded").exists()
