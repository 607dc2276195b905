import threading
import time
from pathlib import Path

import httpx
import pytest

from bot.api.rest.routes import ROUTES
from tests.support.api_gateway import ApiGateway, api_gateway

SAMPLE = "zzzzzzzzzzzzzzzzzzzzzzzzzz"


def error_of(answer: httpx.Response) -> str:
    """Return the code of an error; its shape is checked on the way."""
    (key,) = answer.json()
    found = answer.json()[key]
    assert key == "error"
    assert found.keys() == {"code", "message", "hint"}
    assert all(found.values())
    code: str = found["code"]
    return code


def test_what_is_listed_runs_and_is_answered_at_once(home: ApiGateway) -> None:
    """A request within its wait is answered with its end, under its own address."""
    wish = {"command": "echo one && echo two", "cwd": "/tmp"}
    answer = home.client("agent").post("/v1/requests?wait=10", json=wish)

    body = answer.json()
    assert (201, "finished", 0, "one\ntwo\n") == (
        answer.status_code,
        body["status"],
        body["exitCode"],
        body["output"],
    )
    again = home.client("agent").get(answer.headers["Location"])
    assert again.json()["status"] == "finished"


def test_a_long_run_is_answered_before_its_end(home: ApiGateway) -> None:
    """A caller that does not wait gets an id at once; the run continues, and can be stopped."""
    began = time.monotonic()
    asked = home.ask("sleep 30", wait=0.2)
    assert asked["status"] == "running"
    assert time.monotonic() - began < 5

    client = home.client("agent")
    path = f"/v1/runs/{asked['id']}"
    assert client.get(f"{path}/tail").json()["running"] is True
    assert client.get(path, params={"wait": 0.1}).json()["status"] == "running"
    code = asked["id"][:6].upper()
    words = f"{code} is being stopped."
    stopped = {"cancelled": True, "id": asked["id"], "sentence": words}
    assert client.post(f"{path}/stop").json() == stopped
    ended = client.get(path, params={"wait": 10}).json()

    assert (ended["status"], ended["signal"], ended["cancelled"]) == ("finished", 15, True)
    assert ended["how"].startswith("cancelled after ")
    assert error_of(client.post(f"{path}/stop")) == "conflict"


@pytest.mark.parametrize("wait", [0, 10])
@pytest.mark.parametrize("command", ["echo one", "uname"])
def test_what_has_no_effect_is_said(home: ApiGateway, command: str, wait: float) -> None:
    """A call may only harden; what it requested beyond that is named, what it got is not."""
    wait = 0.2 if command == "uname" and wait else wait
    widened = home.ask(command, wait=wait, security="full", ask="off")
    followed = home.ask("true", security="allowlist", ask="always")
    client = home.client("agent")
    for asked in (widened, followed):  # others compare the history: nothing may end later
        client.delete(f"/v1/requests/{asked['id']}")
        client.get(f"/v1/requests/{asked['id']}", params={"wait": 10})

    (security, ask) = widened["ignored"]
    assert "security=full has no effect: tools.exec gives allowlist" in security
    assert "ask=off has no effect: tools.exec gives on-miss" in ask
    assert "ignored" not in followed


@pytest.mark.parametrize("session", ["slack/C1/1.2", "../x", "a b", "ü/%2F"])
def test_any_session_key_is_reached(home: ApiGateway, session: str) -> None:
    """Keys are in queries and bodies, never in an address, so a slash in one is only a slash."""
    asked = home.ask("echo one", wait=10, session=session)
    client = home.client("agent")
    found = client.get("/v1/events", params={"session": session}).json()["events"]
    acked = client.post("/v1/events/ack", json={"session": session, "seq": found[-1]["seq"]})

    assert {asked["id"]} == {event["id"] for event in found}
    assert acked.status_code == 200
    assert client.get("/v1/events", params={"session": session}).json()["events"] == []
    with client.stream("GET", "/v1/events/stream", params={"session": session}) as answer:
        assert answer.status_code == 200
    assert not [path for path in ROUTES if "{session}" in path.path]


def test_a_denial_is_a_result(home: ApiGateway) -> None:
    """Policy's no and an unusable folder are answered like any end, with a reason."""
    gone = home.ask("true", cwd="/no/such/folder")
    locked = home.ask("true", security="deny")

    assert (gone["status"], gone["reason"]) == ("denied", "bad_cwd")
    assert (locked["status"], locked["reason"]) == ("denied", "security_deny")
    again = home.client("agent").get(f"/v1/requests/{gone['id']}")
    assert again.json() == gone


def test_a_long_poll_ends_with_the_decision(home: ApiGateway) -> None:
    """A waiting caller gets the answer when it is given, not when the wait is over."""
    asked = home.ask("touch decided")
    path = f"/v1/approvals/{asked['id']}"

    def decide() -> None:
        time.sleep(0.3)
        answer = {"decision": "deny", "note": "not today"}
        home.client("person").post(f"{path}/resolve", json=answer)

    person = threading.Thread(target=decide)
    began = time.monotonic()
    person.start()
    decided = home.client("agent").get(f"{path}/decision", params={"wait": 15}).json()
    waited = time.monotonic() - began
    person.join()

    assert (decided["state"], decided["note"]) == ("denied", "not today")
    assert 0.2 < waited < 5
    late = home.client("approver").post(f"{path}/resolve", json={"decision": "allow-once"})
    assert error_of(late) == "conflict"
    assert "denied" in late.json()["error"]["message"]


def test_a_long_poll_hears_the_next_event(home: ApiGateway) -> None:
    """Events are waited for; an acknowledged one does not come again."""
    client = home.client("agent")
    heard = {"session": "poll"}
    assert client.get("/v1/events", params=heard).json() == {"events": []}
    run = threading.Timer(0.3, home.ask, ("true",), {"session": "poll", "wait": 5})
    run.start()
    found = client.get("/v1/events", params={**heard, "wait": 15}).json()["events"]
    run.join()

    assert found[0]["kind"] == "exec.started"
    acked = client.post("/v1/events/ack", json={**heard, "seq": 2})
    assert acked.json() == {"acked": 2}
    assert client.get("/v1/events", params=heard).json() == {"events": []}


def test_the_same_key_is_the_same_request(home: ApiGateway) -> None:
    """A request that is repeated after a lost answer runs nothing twice."""
    first = home.ask("touch once", requestKey="k1")
    second = home.ask("touch once", requestKey="k1")

    assert first == second


def test_another_command_under_the_same_key_is_a_conflict(home: ApiGateway) -> None:
    """Neither the answer of the first request nor a run of the second."""
    first = home.ask("touch once", requestKey="k1")
    other = home.client("agent").post(
        "/v1/requests", json={"command": "touch twice", "cwd": "/", "requestKey": "k1"}
    )

    assert error_of(other) == "conflict"
    assert other.status_code == 409
    assert f"key k1 belongs to run {first['id']}" in other.json()["error"]["message"]


def test_a_whole_number_may_be_written_as_a_fraction(home: ApiGateway) -> None:
    """JSON Schema takes 5000.0 for an integer (6.1.1), and so do bodies; 5000.5 is not one."""
    client = home.client("agent")
    wish = '{"command": "true", "cwd": "/", "timeoutMs": %s}'
    headers = {"Content-Type": "application/json"}

    for number, status in (("5000.0", 201), ("5e3", 201), ("5000.5", 400)):
        answer = client.post("/v1/requests", content=wish % number, headers=headers)
        assert answer.status_code == status, number


def test_an_agent_withdraws_its_question(home: ApiGateway) -> None:
    """DELETE ends a question, once; it is then no longer open."""
    asked = home.ask("touch withdrawn")
    client = home.client("agent")

    words = f"{asked['code']} is cancelled; the command will not run."
    withdrawn = {"cancelled": True, "id": asked["id"], "sentence": words}
    assert client.delete(f"/v1/requests/{asked['id']}").json() == withdrawn
    assert error_of(client.delete(f"/v1/requests/{asked['id']}")) == "conflict"
    assert error_of(client.delete(f"/v1/requests/{SAMPLE}")) == "not_found"
    pending = home.client("reader").get("/v1/approvals").json()["pending"]
    assert asked["id"] not in {one["id"] for one in pending}


def test_the_allowlists_show_the_last_use(home: ApiGateway) -> None:
    """At once, in the seed's fields (S1); a use does not change what may be replaced."""
    before = home.client("reader").get("/v1/allowlists").json()
    assert home.ask("seq 1", wait=10)["exitCode"] == 0
    after = home.client("reader").get("/v1/allowlists").json()
    (used,) = (
        entry
        for entry in after["file"]["agents"]["main"]["allowlist"]
        if entry["pattern"] == "/usr/bin/seq"
    )

    assert (used["lastUsedCommand"], used["lastResolvedPath"]) == ("seq 1", "/usr/bin/seq")
    assert used["lastUsedAt"] > 1_700_000_000_000
    assert after["hash"] == before["hash"]


def test_the_allowlists_are_replaced_by_who_read_them(home: ApiGateway) -> None:
    """An admin puts a new file in place; a writer who read an older one is refused."""
    read = home.client("reader").get("/v1/allowlists").json()
    admin = home.client("admin")
    new = {**read["file"], "defaults": {"ask": "always"}}

    wrong = admin.put("/v1/allowlists", json={"file": {"version": 2}, "baseHash": read["hash"]})
    assert error_of(wrong) == "bad_request"
    put = admin.put("/v1/allowlists", json={"file": new, "baseHash": read["hash"]})
    assert put.json()["done"] is True
    late = admin.put("/v1/allowlists", json={"file": new, "baseHash": read["hash"]})
    assert error_of(late) == "conflict"
    now = home.client("reader").get("/v1/allowlists").json()
    back = admin.put("/v1/allowlists", json={"file": read["file"], "baseHash": now["hash"]})
    assert back.json()["done"] is True


def test_a_part_for_what_can_be_no_agent_is_not_put(home: ApiGateway) -> None:
    """Like a request of such an agent it is refused; the file stays, and no record is made."""
    read = home.client("reader").get("/v1/allowlists").json()
    agents = {**read["file"]["agents"], "../x\n": {"ask": "always"}}
    new = {"file": {**read["file"], "agents": agents}, "baseHash": read["hash"]}
    records = (home.home / "audit.jsonl").read_text().count('"approvals file"')
    put = home.client("admin").put("/v1/allowlists", json=new)
    assert error_of(put) == "bad_request"
    assert "is not an agent's name" in put.json()["error"]["message"]
    wish = {"command": "true", "cwd": "/", "agent": "../x\n"}
    assert error_of(home.client("admin").post("/v1/requests", json=wish)) in {
        "bad_request",
        "forbidden",
    }
    assert home.client("reader").get("/v1/allowlists").json()["hash"] == read["hash"]
    assert (home.home / "audit.jsonl").read_text().count('"approvals file"') == records


def test_what_is_shown_without_a_file_can_be_changed_and_put(tmp_path: Path) -> None:
    """A home without exec-approvals.json: what was read is a file that only lacks entries."""
    with api_gateway(tmp_path / "home") as fresh:
        for name in ("exec-approvals.json", "exec-approvals.json.last-good"):
            (fresh.home / name).unlink()
        admin = fresh.client("admin")
        read = fresh.client("reader").get("/v1/allowlists").json()
        assert read["file"] == {"version": 1, "agents": {}}
        assert fresh.client("agent").get("/v1/allowlists").json()["file"] == read["file"]
        new = {**read["file"], "defaults": {"ask": "always"}}
        put = admin.put("/v1/allowlists", json={"file": new, "baseHash": read["hash"]})
        assert put.json()["done"] is True, put.text
        late = admin.put("/v1/allowlists", json={"file": new, "baseHash": read["hash"]})
        assert error_of(late) == "conflict"


def test_a_grant_is_listed_and_revoked(home: ApiGateway) -> None:
    """What a person allowed for a while remains until it is ended."""
    asked = home.ask("uname -a", session="grants")
    path = f"/v1/approvals/{asked['id']}/resolve"
    yes = {"decision": "allow-always", "limit": "30m"}
    assert home.client("person").post(path, json=yes).json()["accepted"] is True

    (grant,) = home.client("reader").get("/v1/grants").json()["grants"]
    admin = home.client("admin")

    assert admin.delete(f"/v1/grants/{grant['id']}").json()["done"] is True
    assert error_of(admin.delete(f"/v1/grants/{grant['id']}")) == "not_found"
    assert home.client("reader").get("/v1/grants").json() == {"grants": []}


def test_a_task_is_named_and_ended(home: ApiGateway) -> None:
    """What a person allowed for a task is shown with it, and ends with it, for its agent only."""
    asked = home.ask("uname -a", session="tasks", task="fix-login")
    path = f"/v1/approvals/{asked['id']}/resolve"
    yes = {"decision": "allow-always", "limit": "task"}
    assert home.client("person").post(path, json=yes).json()["accepted"] is True

    (grant,) = home.client("reader").get("/v1/grants").json()["grants"]
    admin = home.client("admin")
    assert (grant["task"], grant["session"], grant["expiresMs"]) == ("fix-login", None, None)
    other = {"task": "fix-login", "agent": "somebody-else"}
    assert error_of(admin.post("/v1/tasks/end", json=other)) == "not_found"
    assert error_of(home.client("agent").post("/v1/tasks/end", json=other)) == "forbidden"
    assert admin.post("/v1/tasks/end", json={"task": "fix-login"}).json()["done"] is True
    assert home.client("reader").get("/v1/grants").json() == {"grants": []}
    assert error_of(admin.post("/v1/tasks/end", json={"task": "fix-login"})) == "not_found"
    (row,) = (
        one
        for one in home.client("reader").get("/v1/history").json()["history"]
        if one["id"] == asked["id"]
    )
    assert row["task"] == "fix-login"


def test_policy_is_explained_and_nothing_runs(home: ApiGateway) -> None:
    """The verdict on a command, with nothing stored."""
    before = [row["id"] for row in home.client("reader").get("/v1/history").json()["history"]]
    wish = {"argv": ["touch", str(home.home / "never")], "cwd": "/"}
    verdict = home.client("agent").post("/v1/policy/explain", json=wish).json()
    inside = {**wish, "host": "sandbox"}
    moved = home.client("agent").post("/v1/policy/explain", json=inside).json()
    assert moved["policy"]["host"] == {"value": "sandbox", "source": "call"}

    assert (verdict["decision"], verdict["reason"]) == ("ask", "not_listed")
    assert not (home.home / "never").exists()
    after = home.client("reader").get("/v1/history").json()["history"]
    assert [row["id"] for row in after] == before  # other tests' questions may end in the meantime


def test_a_tool_is_refused_as_an_answer(home: ApiGateway) -> None:
    """A tool that was not granted is not an HTTP error."""
    answer = home.client("agent").post("/v1/tools/call", json={"tool": "Exec", "args": {}})

    assert answer.status_code == 200
    assert answer.json()["ok"] is False


def test_the_addresses_of_s4_answer(home: ApiGateway) -> None:
    """S4's paths are where its page writes them; a host that is not a contact is a denial."""
    admin = home.client("admin")
    wish = {"agent_id": "ab" * 32, "argv": ["/usr/bin/true"]}
    run = admin.post("/exec/run", json=wish)
    cancel = admin.post("/exec/cancel", json={"request_id": "ab" * 16})
    sessions = home.client("reader").get("/exec/sessions").json()
    diagnostics = home.client("reader").get("/diagnostics/exec").json()

    assert run.status_code == 200
    assert (run.json()["ok"], run.json()["denial_reason"]) == (False, "contact_unknown")
    assert cancel.json() == {"cancelled": False}
    assert sessions == {"pending": [], "sessions": []}
    assert diagnostics["enabled"] is False
    assert "commands" not in str(diagnostics["acl"])


@pytest.mark.parametrize(
    ("verb", "path", "code", "allowed"),
    [
        ("PATCH", "/v1/requests", "wrong_verb", "POST"),
        ("POST", "/v1/requests/abc", "wrong_verb", "DELETE, GET"),
        ("TRACE", "/v1/history", "wrong_verb", "GET"),
        ("OPTIONS", "/v1/history", "wrong_verb", "GET"),
        ("POST", "/health", "wrong_verb", "GET"),
        ("GET", "/v1/requests/", "not_found", None),
        ("GET", "/v1/approvals/a%2Fb", "not_found", None),
        ("GET", "/v2/requests", "not_found", None),
        ("GET", "/v1//history", "not_found", None),
        ("GET", "/docs", "not_found", None),
    ],
)
def test_what_is_not_there_is_told(
    home: ApiGateway, verb: str, path: str, code: str, allowed: str | None
) -> None:
    """An unknown address and an unknown verb have their codes; the existing verbs follow."""
    answer = home.client("agent").request(verb, path)

    assert error_of(answer) == code
    assert answer.headers.get("Allow") == allowed


@pytest.mark.parametrize(
    "query",
    [
        "limit=1&limit=2",
        "limit=1.5",
        "limit=0x10",
        "limit=%EF%BC%91",
        "limit=",
        "limit=-1",
        "limit=99999999999999999999",
        "unknown=1",
        "limit",
        "agent=%FF",
        "agent=%00",
        "agent=a%0Ab",
        "&".join(f"p{number}=1" for number in range(100)),
    ],
)
def test_a_query_is_read_strictly(home: ApiGateway, query: str) -> None:
    """Doubled, unknown, ill-typed and unprintable parameters are refused, never guessed."""
    answer = home.client("reader").get(f"/v1/history?{query}")

    assert (answer.status_code, error_of(answer)) == (400, "bad_request")


@pytest.mark.parametrize("wait", ["-1", "1e3", "3601", "NaN", "1.23456", "", "٣"])
def test_a_wait_is_read_strictly(home: ApiGateway, wait: str) -> None:
    """Only plain seconds are a wait."""
    answer = home.client("agent").get(f"/v1/requests/{SAMPLE}", params={"wait": wait})

    assert error_of(answer) == "bad_request"


def test_no_answer_is_kept_or_guessed_by_a_browser(home: ApiGateway) -> None:
    """Every answer says so, also errors; none lets another site's page in."""
    for path in ("/health", "/v1/history", "/nowhere", "/openapi.json"):
        answer = home.client("reader").get(path, headers={"Origin": home.url})
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert "set-cookie" not in answer.headers
        assert "server" not in answer.headers
