import json
import re
from typing import Any

import pytest

from bot.api.http.errors import FaultCode
from bot.api.rest.routes import ROUTES
from bot.api.websocket.connection import SUBSCRIBE
from bot.api.websocket.subscriptions import OVERFLOW
from tests.project.tracked import ROOT
from tests.support.api_gateway import ApiGateway

PAGE = (ROOT / "docs" / "reference" / "http.md").read_text(encoding="utf-8")
ROUTES_PAGE = (ROOT / "docs" / "reference" / "methods.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def document(home: ApiGateway) -> dict[str, Any]:
    """Return the published document; no token is needed to read it."""
    found: dict[str, Any] = home.client(None).get("/openapi.json").json()
    return found


def test_the_document_has_every_route_and_nothing_else(document: dict[str, Any]) -> None:
    """Each verb of each address, and the pages as well."""
    listed = {
        (verb.upper(), path)
        for path, verbs in document["paths"].items()
        for verb in verbs
        if path not in {"/health", "/metrics", "/openapi.json"}
    }

    assert listed == {(route.verb, route.path) for route in ROUTES}
    assert document["openapi"] == "3.1.0"


def test_every_operation_tells_its_rights_and_its_failures(document: dict[str, Any]) -> None:
    """Bearer tokens, what each needs, and the statuses that any request may get."""
    assert document["components"]["securitySchemes"] == {
        "bearer": {"type": "http", "scheme": "bearer"}
    }
    assert document["security"] == [{"bearer": []}]
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            expected = {"400", "401", "403", "413", "429", "500"}
            assert expected <= operation["responses"].keys(), (verb, path)
    for route in ROUTES:
        operation = document["paths"][route.path][route.verb.lower()]
        assert "scope" in operation["description"]
        assert route.method in operation["description"]
        assert ("404" in operation["responses"]) is route.finds
        assert ("415" in operation["responses"]) is route.has_body


def test_what_is_created_says_where_it_is(document: dict[str, Any]) -> None:
    """So does what has not ended when its answer comes; nothing else sends the header."""
    located = {
        (path, status)
        for path, verbs in document["paths"].items()
        for operation in verbs.values()
        for status, response in operation["responses"].items()
        if "Location" in response.get("headers", {})
    }
    assert located == {("/v1/requests", "201"), ("/v1/tools/call", "202")}


def test_every_reference_leads_somewhere_and_no_name_stands_twice(
    document: dict[str, Any],
) -> None:
    """The document stands alone: no external file, no dangling name, no script from elsewhere."""
    text = json.dumps(document)
    schemas = document["components"]["schemas"]
    names = [one["operationId"] for verbs in document["paths"].values() for one in verbs.values()]

    assert set(re.findall(r'"#/components/schemas/([^"]+)"', text)) <= schemas.keys()
    assert len(names) == len(set(names))
    assert "http://" not in text
    assert "https://" not in text


def test_the_pages_name_every_route_code_and_push() -> None:
    """What outsiders rely on is written down."""
    for route in ROUTES:
        assert f"| `{route.verb} {route.path}` |" in ROUTES_PAGE, route
    for code in FaultCode:
        assert f"| `{code.value}` |" in PAGE, code
    for word in (SUBSCRIBE, OVERFLOW, "exec.approval.requested", "exec.approval.resolved"):
        assert f"`{word}`" in PAGE, word


def test_the_page_names_every_counter(home: ApiGateway) -> None:
    """A counter that no one knows counts for no one."""
    text = home.client("reader").get("/metrics").text
    names = set(re.findall(r"^# TYPE (sayso_\w+) ", text, re.MULTILINE))
    shown = {name for name in names if not name.endswith("_created")}

    assert shown
    assert all(f"`{name}`" in PAGE for name in shown), shown
