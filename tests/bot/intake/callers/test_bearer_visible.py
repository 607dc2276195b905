"""Restrict a page session of a chat's ``/login`` to the agents that its person approves for.

One gateway has two agents with lists of their own. Every page and every method is tried with a
session that Ana's chat account began: nothing of the other agent is in any answer, and the same is
found by a session that a terminal's link began (the control).
"""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bot.intake.callers.bearer import Bearers
from bot.intake.callers.caller import Caller
from bot.intake.registry.method import Table, invoke
from core.approvals.routing.approvers import Approvers
from core.errors import SaysoError, Unauthenticated
from core.model.access import VisibleAgents
from core.model.identity import Actor, Intake
from core.store.people import page_links, pairing
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.api_tokens import Api
from tests.support.page_browser import PERSON_SCOPES, PageBrowser, session_token
from tests.support.waiting import wait_until

SECRET = "the-other-agents-branch"
OWN = "my-agents-branch"
ACCOUNT = Actor("telegram", "42", "Ana")
LISTS = {
    "main": {"id": "main", "approvers": ["person:ana"]},
    "other": {"id": "other", "approvers": ["person:bo"]},
}


def _listed(config: dict[str, Any]) -> None:
    config["agents"] = {"list": list(LISTS.values())}
    config["approvals"]["exec"]["approvers"] = []


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiGateway]:
    """Run a gateway whose agents have lists of their own, with a past and questions of both."""
    with api_gateway(tmp_path_factory.mktemp("visible") / "home", change=_listed) as running:
        store = running.gateway.store
        code = running.do(store.write(pairing.begin, "ana"))
        assert code is not None
        running.do(store.write(pairing.pair, code.code, ACCOUNT))
        for who, words in (("agent", OWN), ("other", SECRET)):
            running.ask(f"echo {words}", who, wait=10)
        yield running


@pytest.fixture
def asked(home: ApiGateway) -> Iterator[dict[str, str]]:
    """Ask something as each agent; it is withdrawn afterwards."""
    found = {
        "agent": home.ask(f"git push origin {OWN}")["id"],
        "other": home.ask(f"git push origin {SECRET}", "other")["id"],
    }
    yield found
    for who, one in found.items():
        home.client(who).delete(f"/v1/requests/{one}")


def _session(home: ApiGateway, by: str) -> PageBrowser:
    made = home.do(home.gateway.store.write(page_links.create, "ana", PERSON_SCOPES, by))
    browser = PageBrowser.at(home)
    browser.sign_in(f"/login/{made.secret}")
    return browser


@pytest.fixture
def chat(home: ApiGateway) -> PageBrowser:
    """Return a browser whose session began with ``/login`` in a chat."""
    return _session(home, ACCOUNT.ref)


@pytest.fixture
def terminal(home: ApiGateway) -> PageBrowser:
    """Return a browser whose session began with a link from a terminal."""
    return _session(home, "uid:0")


def _past(home: ApiGateway, who: str) -> str:
    found = home.client(who).get("/v1/history", params={"grep": "branch"}).json()["history"]
    done = next(one for one in found if one["state"] == "done")
    return str(done["id"])


_PAGES = (
    "/",
    "/history",
    "/history?agent=other",
    "/history?agent=main",
    f"/history?grep={SECRET}",
    "/history?session=main",
    "/history?by=ana",
    "/history/export",
    "/history/export?format=csv",
    "/history/export?agent=other",
    f"/history/export?grep={SECRET}",
    "/history/{past}",
    "/history/{asked}",
    "/history/{code}",
    "/approve/{asked}",
    "/approve/{code}",
    "/approve/{asked}/preview",
    "/plan/{asked}",
    "/insight",
    "/lists/people",
    "/lists/tokens",
    "/lists/grants",
    "/lists/channels",
    "/lists/sessions",
    "/exec-approvals",
    "/exec-approvals?agent=other",
    "/exec-approvals?agent=other&try=git+push",
    "/sessions",
    "/lock-down",
)
_FORMS = (
    "/approve/{asked}/passkey",
    "/approve/{asked}/answer",
    "/plan/{asked}",
    "/runs/{asked}/stop",
    "/history/verify",
)


def _shows(text: str, asked: dict[str, str]) -> bool:
    """Return whether an answer contains anything of the other agent."""
    return SECRET in text or asked["other"] in text or '"other"' in text


def test_each_page_shows_the_agents_that_one_approves_for(
    home: ApiGateway, chat: PageBrowser, terminal: PageBrowser, asked: dict[str, str]
) -> None:
    """Nothing of the other agent on any; the session of a terminal finds it on many."""
    names = {
        "asked": asked["other"],
        "code": asked["other"][:6].upper(),
        "past": _past(home, "other"),
    }
    paths = [one.format(**names) for one in _PAGES]
    leaks = [one for one in paths if SECRET in chat.get(one).text]
    assert leaks == [one for one in paths if f"grep={SECRET}" in one and "export" not in one]
    # What was typed into the search is in its own field, and nowhere else.
    assert all(chat.get(one).text.count(SECRET) <= 3 for one in leaks)
    assert sum(SECRET in terminal.get(one).text for one in paths) >= 12
    assert OWN in chat.get("/").text
    assert OWN in chat.get("/history").text
    assert OWN in chat.get("/history/export").text


def test_each_form_about_another_agents_question_is_refused(
    home: ApiGateway, chat: PageBrowser, terminal: PageBrowser, asked: dict[str, str]
) -> None:
    """With nothing of it in the refusal; the question keeps waiting."""
    for form in _FORMS:
        said = chat.submit(form.format(asked=asked["other"]), decision="allow-once", do="deny")
        assert said.status_code >= 400, form
        assert SECRET not in said.text
    state = home.client("other").get(f"/v1/approvals/{asked['other']}").json()["state"]
    assert state == "pending"
    seen = terminal.submit(f"/approve/{asked['other']}/passkey", decision="allow-once")
    assert f"Type the code {asked['other'][:6].upper()}" in seen.text


def _stream(browser: PageBrowser, query: str, most: int = 1) -> str:
    found: list[str] = []
    timeout = httpx.Timeout(20, read=25)
    with browser.http.stream("GET", f"/live{query}", timeout=timeout) as answer:
        for line in answer.iter_lines():
            found.append(line)
            if sum(one.startswith("data: ") for one in found) == most:
                break
    return "\n".join(found)


def test_the_stream_says_nothing_of_another_agent(
    home: ApiGateway, chat: PageBrowser, terminal: PageBrowser, asked: dict[str, str]
) -> None:
    """Neither what waits and how many, nor how a card that it never had ended."""
    first = _stream(chat, "")
    assert OWN in first
    assert not _shows(first, asked)
    assert '"total": 1' in first
    assert '"total": 2' in _stream(terminal, "")
    home.client("other").delete(f"/v1/requests/{asked['other']}").raise_for_status()
    query = f"?seen={asked['other']}.000000000000"
    assert SECRET not in _stream(chat, query)
    assert json.loads(_stream(chat, query).partition("data: ")[2])["gone"] == {asked["other"]: ""}
    assert "ithdrawn" in _stream(terminal, query)


def test_its_own_question_is_answered(
    home: ApiGateway, chat: PageBrowser, asked: dict[str, str]
) -> None:
    """The control: what it sees it decides, as before."""
    answered = chat.answer(asked["agent"], "deny")
    assert answered.status_code == 303, answered.text
    state = home.client("agent").get(f"/v1/approvals/{asked['agent']}").json()["state"]
    assert state == "denied"


_TAKES: dict[str, dict[str, object]] = {
    "policy.explain": {"command": "git push", "cwd": "/"},
    "events.drain": {"session": "main"},
    "exec.approval.resolve": {"decision": "deny"},
}


def _raw(name: str, table: Table, ref: str, agent: str | None) -> dict[str, object]:
    params = table[name].params
    raw: dict[str, object] = {} if agent is None else {"agent": agent}
    if "id" in params.model_fields:
        raw["id"] = ref
    return {**_TAKES.get(name, {}), **{key: raw[key] for key in raw if key in params.model_fields}}


async def _called(table: Table, name: str, raw: dict[str, object], caller: Caller) -> str:
    """Return what a method answers or refuses."""
    try:
        async with asyncio.timeout(5):
            found = await invoke(table[name], raw, caller)
    except (SaysoError, TimeoutError) as refused:
        return f"refused: {refused}"
    return json.dumps(found)


_NARROW_ONLY = ("exec.cancel", "exec.approval.resolve", "exec.remote.", "audit.", "policy.backtest")
"""Methods that the control leaves out: they end the question, or this table lacks their parts."""
_CHANGES = frozenset({"page.end", "lockdown.engage", "audit.rotate"})
"""Methods that concern no agent and whose call would end the test's own gateway or session."""


def _methods_of(home: ApiGateway, browser: PageBrowser) -> tuple[Table, Caller]:
    """Return the methods of this gateway, and its caller for the session of a browser."""
    gate = home.gateway.gate
    bearers = Bearers(gate.store, lambda: gate.broker.asking.approvers)
    secret = session_token(home, browser)
    table = Api.of(gate).table
    return table, home.do(bearers.visitor(secret, Intake.HTTP))


@pytest.mark.slow
def test_each_method_answers_about_the_agents_that_one_approves_for(
    home: ApiGateway, chat: PageBrowser, terminal: PageBrowser, asked: dict[str, str]
) -> None:
    """By id, by the agent's name and without one; new methods in the table are tried as well."""
    table, narrow = _methods_of(home, chat)
    _, wide = _methods_of(home, terminal)
    found: dict[str, list[str]] = {"narrow": [], "wide": []}
    for name in sorted(set(table) - _CHANGES):
        if not any(narrow.may(scope) for scope in table[name].scopes) or table[name].local:
            continue
        for agent in (None, "other"):
            for ref in (asked["other"], _past(home, "other")):
                raw = _raw(name, table, ref, agent)
                for who, caller in (("narrow", narrow), ("wide", wide)):
                    if who == "wide" and name.startswith(_NARROW_ONLY):
                        continue
                    said = home.do(_called(table, name, raw, caller))
                    if SECRET in said:
                        found[who].append(name)
    assert found["narrow"] == []
    assert {"history.list", "exec.approval.list", "exec.approval.get"} <= set(found["wide"])
    state = home.client("other").get(f"/v1/approvals/{asked['other']}").json()["state"]
    assert state == "pending"


def test_lists_that_a_reload_changes_hold_from_the_next_request(home: ApiGateway) -> None:
    """The view is computed for each request; without lists it is nothing."""
    made = home.do(home.gateway.store.write(page_links.create, "ana", PERSON_SCOPES, ACCOUNT.ref))
    token = home.do(home.gateway.store.write(page_links.use, made.secret, "b", "a browser"))
    lists = [
        Approvers({"telegram": frozenset({"42"})}),
        Approvers({}, frozenset({"person:ana"}), {}),
        Approvers({}, frozenset({"person:ana"}), {LISTS["other"]["id"]: frozenset()}),  # type: ignore[dict-item]
        Approvers({}),
    ]
    bearers = Bearers(home.gateway.store, lambda: lists[0])
    seen = []
    while lists:
        seen.append(home.do(bearers.visitor(token.text, Intake.HTTP)).visible)  # type: ignore[union-attr]
        lists.pop(0)
    assert seen == [
        None,
        None,
        VisibleAgents(frozenset({"other"}), others=True),
        VisibleAgents(frozenset()),
    ]
    nobody = home.do(Bearers(home.gateway.store).visitor(token.text, Intake.HTTP))  # type: ignore[union-attr]
    assert nobody.visible == VisibleAgents(frozenset())
    assert not nobody.sees("main")
    with pytest.raises(Unauthenticated):
        home.do(bearers.caller(token.text, Intake.HTTP))  # type: ignore[union-attr]


def test_what_runs_is_shown_of_the_agents_that_one_approves_for(
    home: ApiGateway, chat: PageBrowser, terminal: PageBrowser
) -> None:
    """A command of the other agent runs: it and its output are not on the page."""
    began = home.ask("sleep 30", "other", wait=0)["id"]
    try:
        wait_until("the run on the page", lambda: began in terminal.get("/").text)
        assert began not in chat.get("/").text
    finally:
        home.client("other").delete(f"/v1/requests/{began}")
