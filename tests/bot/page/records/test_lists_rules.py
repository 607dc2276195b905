"""Show the rules in effect, on the page and over the API: which commands, whose, why."""

from collections.abc import Iterator
from typing import Any

import pytest

from core.model.access import Scope
from tests.bot.page.markup import Markup
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.page_browser import PERSON_SCOPES, PageBrowser

PUSH = {"argv": ["git", "push", "origin", "<NAME>"], "cwd": "/srv"}
RULES: list[dict[str, Any]] = [
    {"match": {"glob": "/usr/bin/shred"}, "decide": "deny", "reason": "use <rm>"},
    {"match": PUSH, "decide": "allow"},
    {"match": {"argv": ["cp", "a b", "<ANY>"]}, "decide": "ask", "tier": "critical"},
    {"match": {"effect": "network"}, "decide": "ask"},
    {"match": {"reads": "/srv/.env"}, "decide": "deny"},
]
OWN: dict[str, Any] = {"match": {"words": "make *deploy*"}, "decide": "deny"}
AGENTS = [
    {"id": "builder", "tools": {"exec": {"rules": [OWN]}}},
    {"id": "private", "tools": {"exec": {"rules": [OWN]}}},
]
WANTED = [
    ("words make *deploy*", "deny", "builder", "agents.list[builder].tools.exec.rules[0]"),
    ("words make *deploy*", "deny", "private", "agents.list[private].tools.exec.rules[0]"),
    ("glob /usr/bin/shred", "deny", None, "tools.exec.rules[0]"),
    ("argv git push origin <NAME>", "allow", None, "tools.exec.rules[1]"),
    ("argv cp 'a b' <ANY>", "ask", None, "tools.exec.rules[2]"),
    ("effect network", "ask", None, "tools.exec.rules[3]"),
    ("reads /srv/.env", "deny", None, "tools.exec.rules[4]"),
]


def _ruled(config: dict[str, Any]) -> None:
    config["tools"]["exec"]["rules"] = RULES
    config["agents"] = {"list": AGENTS}


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiGateway]:
    """Run a gateway with a rule of each kind, and two agents with rules of their own."""
    with api_gateway(tmp_path_factory.mktemp("rules") / "home", change=_ruled) as running:
        yield running


def test_each_rule_is_listed_with_what_it_says(ruled: ApiGateway) -> None:
    """Own ones first, then the common ones, in the order of the configuration."""
    found = ruled.client("person").get("/v1/rules").json()["rules"]
    listed = [(f"{one['by']} {one['pattern']}", *_of(one)) for one in found]
    assert listed == WANTED
    assert (found[3]["within"], found[4]["tier"], found[2]["reason"]) == (
        "/srv",
        "critical",
        "use <rm>",
    )


def _of(one: dict[str, Any]) -> tuple[Any, ...]:
    return one["decide"], one["agent"], one["place"]


def test_the_page_lists_them_as_text_with_the_ways_to_try_one(ruled: ApiGateway) -> None:
    """Each with its verdict and tier; what is changed in a file has no button here."""
    ana = PageBrowser.signed_in(ruled, scopes=PERSON_SCOPES | {Scope.ADMIN})
    page = Markup.of(ana.get("/lists/rules").text)
    rows = [one for one in page.elements if one.attributes.get("class") == "row"]
    assert [row.text.split("\n")[1] for row in rows] == [words for words, *_ in WANTED]
    assert "deny" in rows[2].text
    assert "use <rm>" in rows[2].text
    assert "critical" in rows[4].text
    assert "in /srv" in rows[3].text
    assert page.first("a", href="/exec-approvals#try-title").text == "Test a command"
    assert "/do/" not in ana.get("/lists/rules").text


def test_an_agent_sees_what_is_its_own_and_what_is_everybodys(ruled: ApiGateway) -> None:
    """And a person may ask for one agent's; a person who may not read is refused."""
    for who, query in (("agent", ""), ("person", "?agent=main"), ("person", "?agent=builder")):
        answer = ruled.client(who).get(f"/v1/rules{query}")
        agents = {one["agent"] for one in answer.json()["rules"]}
        assert agents == ({None, "builder"} if "builder" in query else {None})
    assert ruled.client("agent").get("/v1/rules?agent=builder").status_code == 403
    assert ruled.client("asker").get("/v1/rules").status_code == 403
    assert ruled.client("approver").get("/v1/rules").status_code == 403


def test_without_rules_the_list_says_what_decides(home: ApiGateway, ana: PageBrowser) -> None:
    """An empty list is a sentence, not a blank."""
    assert home.client("person").get("/v1/rules").json() == {"rules": []}
    assert "No rules" in ana.get("/lists/rules").text
