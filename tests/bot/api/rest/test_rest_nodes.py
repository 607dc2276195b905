"""Test the routes about nodes, with a connected node, one that is away, and none."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from core.model.node import NodeId
from core.nodes.node_file import NodeFile, begin
from core.store.people import nodes
from core.store.people.nodes import PairingDraft
from core.trust.identity import Identity, key_id
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.node_process import NodeProcess, stop_if_started
from tests.support.ports import free_port
from tests.support.waiting import wait_until

ECHO = {"security": "allowlist", "ask": "off", "allowlist": [{"pattern": "/usr/bin/echo"}]}


@dataclass
class Scene:
    """An API, its connected node `web`, and `db`, which never connected."""

    api: ApiGateway
    web: NodeFile
    db: NodeFile

    def get(self, path: str, who: str = "reader") -> httpx.Response:
        """Read below the nodes."""
        return self.api.client(who).get(f"/v1/nodes{path}")

    def put(self, path: str, body: Any, who: str = "admin") -> httpx.Response:
        """Change below the nodes."""
        return self.api.client(who).put(f"/v1/nodes{path}", json=body)

    def pair(self, file: NodeFile, name: str) -> None:
        """Pair a node as its request and an approver's command do."""
        store = self.api.gateway.store
        draft = PairingDraft(NodeId(file.node_id), file.pairing_token, name, "127.0.0.1")
        asked = self.api.do(store.write(nodes.request, draft))
        self.api.do(store.write(nodes.approve, asked.code, "uid:0"))


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Run the API and the node `web`."""
    folder = tmp_path_factory.mktemp("nodes")
    address = f"127.0.0.1:{free_port()}"
    limits = {"rate": 10_000, "burst": 10_000, "addressRate": 10_000, "addressBurst": 10_000}
    with api_gateway(folder / "home", nodes=address, limits=limits) as api:
        key = key_id(Identity.load(api.home).agent)
        process = NodeProcess(folder / "web")
        process.approvals(main=ECHO)
        (folder / "db").mkdir(mode=0o700)
        made = Scene(
            api,
            begin(process.home, "web", address, key),
            begin(folder / "db", "db", address, key),
        )
        made.pair(made.web, "web")
        made.pair(made.db, "db")
        process.start()
        try:
            wait_until("the node", lambda: made.get("/web").json()["connected"], seconds=60)
            yield made
        finally:
            stop_if_started(process)


def _error(answer: httpx.Response) -> tuple[int, str, str]:
    found = answer.json()["error"]
    return answer.status_code, found["code"], found["message"]


def test_nodes_are_listed_and_shown(scene: Scene) -> None:
    """By id, name and the start of an id; one that is away is shown as away."""
    listed = scene.get("").json()
    assert {node["name"]: node["connected"] for node in listed["nodes"]} == {
        "web": True,
        "db": False,
    }
    assert listed["requests"] == []
    for word in (scene.web.node_id, "WEB", scene.web.node_id[:10]):
        assert scene.get(f"/{word}").json()["id"] == scene.web.node_id
    away = scene.get("/db").json()
    assert (away["connected"], away["commands"], away["sinceMs"]) == (False, [], None)


def test_a_request_says_whom_it_looks_like(scene: Scene) -> None:
    """A key of its own, a name that passes for a paired node's; it is not paired under that."""
    draft = PairingDraft(NodeId("e" * 64), "f" * 64, "w\u0435b", "10.0.0.7")
    asked = scene.api.do(scene.api.gateway.store.write(nodes.request, draft))
    try:
        (shown,) = scene.get("").json()["requests"]
        assert (shown["looksLike"], shown["name"]) == (scene.web.node_id, r"w\u{0435}b")
        body = {"code": asked.code}
        refused = scene.api.client("admin").post("/v1/nodes/approve", json=body)
        assert refused.status_code == 400
        assert "cannot be shown" in refused.json()["error"]["message"]
    finally:
        scene.api.do(scene.api.gateway.store.write(nodes.deny, asked.code))


def test_a_nodes_file_is_read_and_replaced_over_http(scene: Scene) -> None:
    """With the hash that was read; the socket is the node's own; the content applies at once."""
    read = scene.get("/web/approvals").json()
    assert "socket" not in read["file"]
    assert read["file"]["agents"]["main"]["allowlist"][0]["pattern"] == "/usr/bin/echo"

    file = {"version": 1, "agents": {"main": {**ECHO, "askFallback": "deny"}}}
    done = scene.put("/web/approvals", {"file": file, "baseHash": read["hash"]})
    assert (done.status_code, done.json()["done"]) == (200, True), done.text
    after = scene.get("/web/approvals").json()
    assert after["file"]["agents"]["main"]["askFallback"] == "deny"
    assert after["hash"] != read["hash"]


def test_a_stale_hash_is_a_conflict_and_changes_nothing(scene: Scene) -> None:
    """The file was changed since it was read; read again, it is accepted."""
    read = scene.get("/web/approvals").json()
    first = {"version": 1, "agents": {"main": ECHO, "first": {"security": "deny"}}}
    late = {"version": 1, "agents": {"main": ECHO, "late": {"security": "full"}}}
    assert scene.put("/web/approvals", {"file": first, "baseHash": read["hash"]}).is_success
    status, code, _ = _error(scene.put("/web/approvals", {"file": late, "baseHash": read["hash"]}))
    assert (status, code) == (409, "conflict")
    now = scene.get("/web/approvals").json()
    assert set(now["file"]["agents"]) == {"main", "first"}
    assert scene.put("/web/approvals", {"file": late, "baseHash": now["hash"]}).is_success


@pytest.mark.parametrize(
    "change",
    [
        {"file": {"version": 1}},
        {"file": {"version": 1}, "baseHash": "x"},
        {"file": {"version": 9}, "baseHash": ""},
        {"file": {"version": 1, "socket": {"path": "/tmp/x"}}, "baseHash": ""},
        {"file": {"version": 1, "agents": {"main": {"security": "most"}}}, "baseHash": ""},
    ],
    ids=["no hash", "no digits", "another version", "a socket", "an unknown word"],
)
def test_what_is_not_valid_changes_nothing(scene: Scene, change: dict[str, Any]) -> None:
    """A content that the node cannot use, or a change without the hash of what it replaces."""
    before = scene.get("/web/approvals").json()
    if change.get("baseHash") == "":
        change = {**change, "baseHash": before["hash"]}
    assert scene.put("/web/approvals", change).status_code in {400, 422}
    assert scene.get("/web/approvals").json() == before


def test_a_node_that_is_away_answers_nothing(scene: Scene) -> None:
    """It says so at once; a request is denied and no one is asked."""
    put = scene.put("/db/approvals", {"file": {"version": 1}, "baseHash": "0" * 64})
    for answer in (scene.get("/db/approvals"), put):
        status, _, said = _error(answer)
        assert (status, "db is not connected" in said) == (503, True), said
    body = {"command": "system.which", "params": {"bins": ["sh"]}}
    status, _, said = _error(scene.api.client("reader").post("/v1/nodes/db/invoke", json=body))
    assert (status, "db is not connected" in said) == (503, True)
    asked = scene.api.ask("echo hi", wait=10, cwd="/", host="node", node="db")
    assert (asked["status"], asked["reason"]) == ("denied", "host_unavailable")


@pytest.mark.parametrize("word", ["none", "w%D0%B5b", "0" * 64, "127.0.0.2", "%2E%2E"])
def test_an_unknown_node_is_not_found(scene: Scene, word: str) -> None:
    """Another name, one that looks like it, another id or address: on each route."""
    body: dict[str, Any] = {"file": {"version": 1}, "baseHash": "0" * 64}
    answers = [
        scene.get(f"/{word}"),
        scene.get(f"/{word}/approvals"),
        scene.put(f"/{word}/approvals", body),
        scene.put(f"/{word}", {"name": "x"}),
        scene.api.client("admin").delete(f"/v1/nodes/{word}"),
    ]
    for answer in answers:
        assert answer.status_code == 404, answer.text
        with suppress(json.JSONDecodeError):
            assert "error" in answer.json()


def test_each_route_needs_its_scope(scene: Scene) -> None:
    """Readers read; only an administrator changes a file, a name or the list; nothing else does."""
    before = scene.get("/web/approvals").json()
    change = {"file": {"version": 1}, "baseHash": before["hash"]}
    for who in ("agent", "asker", "person", "approver", "reader"):
        assert scene.put("/web/approvals", change, who).status_code == 403, who
        assert scene.put("/web", {"name": "mine"}, who).status_code == 403, who
        assert scene.api.client(who).delete("/v1/nodes/web").status_code == 403, who
    for who in ("asker", "approver"):
        assert scene.get("", who).status_code == 403, who
        assert scene.get("/web/approvals", who).status_code == 403, who
    for path in ("", "/web"):
        refused = scene.get(path, "agent")
        assert (refused.status_code, "covers all agents" in refused.text) == (403, True), path
        assert scene.get(path, "reader").is_success, path
    assert scene.api.client(None).get("/v1/nodes").status_code == 401
    assert scene.get("/web/approvals").json() == before

    assert scene.put("/web", {"name": "web two"}).is_success
    assert scene.get("/web-two").json()["id"] == scene.web.node_id
    status, code, said = _error(scene.put("/db", {"name": "WEB  two"}))
    assert (status, code, "already" in said) == (400, "bad_request", True)
    assert scene.put("/web-two", {"name": "web"}).is_success


def test_an_agents_token_sees_its_own_part(scene: Scene) -> None:
    """A token of the agent other sees no list of main's."""
    mine = scene.get("/web/approvals", "agent").json()["file"]["agents"]
    theirs = scene.get("/web/approvals", "other").json()["file"]["agents"]
    assert set(mine) == {"main"}
    assert theirs == {}
