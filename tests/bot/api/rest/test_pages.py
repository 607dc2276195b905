import logging
import re
from pathlib import Path

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from bot.api.http.errors import FaultCode, of_error
from bot.api.rest.pages import HealthPage
from core.errors import StoreError
from core.gate.guards.lockdown import Lockdown
from core.store import open_store
from core.store.views.status import pending
from tests.bot.api.metrics import value
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.waiting import wait_until

SECRET = "ghp_" + "Zz9" * 12


def test_what_happened_is_counted_once(tmp_path: Path) -> None:
    """Requests by route, decisions, approvals by outcome, runs, and what waits."""
    with api_gateway(tmp_path / "home") as home:
        reader = home.client("reader")
        before = reader.get("/metrics").text
        home.ask("true", wait=5)
        home.ask("true", security="deny")
        home.ask("true", cwd="/no/such/folder")
        asked = home.ask("uname")
        home.ask("uname -m")
        path = f"/v1/approvals/{asked['id']}/resolve"
        home.client("person").post(path, json={"decision": "allow-once"})
        home.client("agent").get(f"/v1/requests/{asked['id']}?wait=10")
        reader.get("/nowhere")
        text = reader.get("/metrics").text

    def more(name: str, **labels: str) -> float:
        return value(text, name, **labels) - value(before, name, **labels)

    created = {"method": "POST", "route": "/v1/requests", "status": "201"}
    assert more("sayso_http_requests_total", **created) == 5
    assert more("sayso_http_requests_total", route="unmatched", status="404") == 1
    assert more("sayso_decisions_total", decision="allow") == 1
    assert more("sayso_decisions_total", decision="ask") == 2
    assert more("sayso_decisions_total", decision="deny") == 1
    assert more("sayso_approvals_total", outcome="allow-once") == 1
    assert more("sayso_runs_total", outcome="finished") == 2
    assert more("sayso_runs_total", outcome="bad_cwd") == 1
    assert more("sayso_runs_total", outcome="security_deny") == 1
    assert more("sayso_approval_seconds_count") == 1
    assert more("sayso_run_seconds_count") == 2
    assert value(text, "sayso_approvals_pending") == 1
    assert more("sayso_store_write_seconds_count") > 5
    assert more("sayso_journal_append_seconds_count") > 5


def test_each_question_that_ended_in_nothing_is_counted_by_its_reason(home: ApiGateway) -> None:
    """What a person denied and what its agent withdrew never ran either."""
    reader, agent = home.client("reader"), home.client("agent")
    before = reader.get("/metrics").text
    denied, withdrawn = home.ask("uname -r"), home.ask("uname -s")
    path = f"/v1/approvals/{denied['id']}/resolve"
    home.client("person").post(path, json={"decision": "deny"})
    agent.delete(f"/v1/requests/{withdrawn['id']}")
    text = reader.get("/metrics").text

    for reason in ("approver_denied", "cancelled"):
        counted = [value(each, "sayso_runs_total", outcome=reason) for each in (before, text)]
        assert counted[1] - counted[0] == 1, reason


def test_a_question_that_nobody_answered_is_counted(tmp_path: Path) -> None:
    """Once, when its time is up."""
    with api_gateway(tmp_path / "home", timeout=1) as home:
        asked = home.ask("uname")
        ended = home.client("agent").get(f"/v1/requests/{asked['id']}", params={"wait": 20}).json()
        reader = home.client("reader")
        late = {"outcome": "approval_timeout"}
        wait_until(
            "count", lambda: value(reader.get("/metrics").text, "sayso_runs_total", **late) == 1
        )

    assert ended["reason"] == "approval_timeout"


def test_no_label_holds_what_a_client_chose(home: ApiGateway) -> None:
    """No command, path, token, session, query or invented verb, and no more rows for a flood."""
    reader = home.client("reader")
    home.ask(f"echo {SECRET}", session="secret-session", wait=5)
    reader.get(f"/v1/{SECRET}?{SECRET}")
    reader.request("BREW", "/v1/history")
    before = reader.get("/metrics").text
    for number in range(50):
        reader.get(f"/v1/requests/{SECRET}{number}")
        reader.get(f"/{SECRET}{number}")
        reader.request(f"VERB{number}", "/v1/history")
    text = reader.get("/metrics").text

    assert not re.search(f"{SECRET}|secret-session|BREW|VERB|{home.tokens['reader']}", text)
    assert len(text.splitlines()) <= len(before.splitlines()) + 60


def test_the_metrics_are_a_readers_or_everybodys(tmp_path: Path, home: ApiGateway) -> None:
    """Without a token only if the configuration says so."""
    assert home.client(None).get("/metrics").status_code == 401
    assert home.client("asker").get("/metrics").status_code == 403
    bound = home.client("agent").get("/metrics")
    assert (bound.status_code, "covers all agents" in bound.text) == (403, True)
    answer = home.client("reader").get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    with api_gateway(tmp_path / "home", metricsOpen=True) as open_house:
        assert open_house.client(None).get("/metrics").status_code == 200


def test_health_tells_everybody_little_and_readers_all(home: ApiGateway) -> None:
    """Alive and ready without a token; store, channels, disk, clock and proof with one."""
    bare = home.client(None).get("/health")
    asker = home.client("asker").get("/health")
    full = home.client("reader").get("/health")

    assert (bare.status_code, bare.json()) == (200, {"ok": True, "status": "up"})
    assert asker.json() == bare.json()
    assert full.json()["status"] == "up"
    assert {"store", "disk", "clock"} <= full.json()["parts"].keys()
    assert any("gate proof" in part for part in full.json()["parts"])
    bad = {"Authorization": "Bearer nonsense"}
    assert home.client(None, headers=bad).get("/health").status_code == 401


def test_a_lockdown_is_told_to_everybody_and_restarts_nothing(tmp_path: Path) -> None:
    """Without a token still 200, to avoid a needless restart; a reader gets 503."""
    with api_gateway(tmp_path / "home") as home:
        home.gateway.gate.execution.guard.lockdown.engage("a test", by="uid:0")
        bare, full = (home.client(who).get("/health") for who in (None, "reader"))

    assert (bare.status_code, bare.json()) == (200, {"ok": True, "status": "locked"})
    assert (full.status_code, full.json()["status"], full.json()["ok"]) == (503, "locked", False)


async def test_a_lost_store_is_told(tmp_path: Path) -> None:
    """Not ready and 503, in the shape of every failure."""
    store = await open_store(f"sqlite:///{tmp_path / 'state.db'}")
    page = HealthPage(_no_report, store, Lockdown())

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"] = {"caller": None}
        await page(scope, receive, send)

    transport = httpx.ASGITransport(served)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        before = await client.get("/health")
        await store.close()
        after = await client.get("/health")
    with pytest.raises(StoreError) as lost:
        await store.read(pending)
    fault = of_error(lost.value)

    assert (before.status_code, before.json()) == (200, {"ok": True, "status": "up"})
    assert (after.status_code, after.json()) == (503, {"ok": False, "status": "down"})
    assert (fault.status, fault.code) == (503, FaultCode.UNAVAILABLE)


async def _no_report() -> dict[str, object]:
    return {}


def test_the_access_log_names_routes_and_nothing_else(
    home: ApiGateway, caplog: pytest.LogCaptureFixture
) -> None:
    """The caller, the route, the status; no token, no address, no body."""
    with caplog.at_level(logging.INFO, "bot.api.access.access_log"):
        home.ask(f"echo {SECRET}", wait=5)
        home.client("reader").get(f"/v1/requests/{SECRET}?token={home.tokens['reader']}")
        httpx.get(f"{home.url}/{SECRET}", headers={"Authorization": SECRET})
        httpx.get(f"{home.url}/v1/requests/{SECRET}", headers={"Authorization": SECRET})
        httpx.delete(f"{home.url}/v1/approvals/{SECRET}/resolve")
        httpx.get(f"{home.url}/v1/history", headers={"Host": "elsewhere.example"})
        httpx.get(f"{home.url}/metrics", headers=home.headers("asker"))
        # An answer may arrive before its line.
        wait_until("the log's last line", lambda: "GET /metrics 403" in caplog.text)
    text = "\n".join(record.getMessage() for record in caplog.records)

    assert "POST /v1/requests 201" in text
    assert "GET /v1/requests/{id} 400" in text
    assert "GET unmatched 401" in text
    assert "GET /v1/requests/{id} 401" in text
    assert "DELETE /v1/approvals/{id}/resolve 401" in text
    assert "GET /v1/history 403" in text
    assert "GET /metrics 403" in text
    assert SECRET not in text
    assert home.tokens["reader"] not in text
