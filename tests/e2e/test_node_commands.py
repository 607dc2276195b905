"""`node.invoke`, remote approvals and `--node` work from the command line with a real node."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.client import Client
from core.errors import BadRequest, SaysoError
from tests.e2e.running import answered, question
from tests.support.node_process import NodePair, node_pair

FULL = {"security": "full", "ask": "off"}
LISTED = {"security": "allowlist", "ask": "on-miss", "allowlist": [{"pattern": "/usr/bin/echo"}]}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodePair]:
    """Yield a gateway and its node."""
    with node_pair(tmp_path_factory.mktemp("nodes")) as running:
        yield running


def call(pair: NodePair, method: str, **params: object) -> Any:
    """Call a method on the gateway's socket, as an agent's program does."""
    with Client(str(pair.gateway.home / "gateway.sock")) as client:
        return client.call(method, params)


def invoke(pair: NodePair, what: str, **params: object) -> Any:
    """Call node.invoke and return the result of the command."""
    answer = call(pair, "node.invoke", node="web", command=what, params=params)
    assert (answer["node"], answer["command"]) == (pair.node_id, what)
    return answer["result"]


def test_a_list_shows_how_a_node_is_connected_and_what_it_takes(pair: NodePair) -> None:
    """S1: it "must advertise" the methods that edit its approvals file."""
    (node,) = pair.gateway.json("node", "list")["nodes"]
    assert (node["name"], node["connected"], node["running"]) == ("web", True, 0)
    assert node["sinceMs"] >= node["pairedMs"] > 0
    wanted = {"system.run", "system.run.prepare", "system.which"}
    assert set(node["commands"]) == wanted | {
        "system.execApprovals.get",
        "system.execApprovals.set",
    }
    assert call(pair, "node.get", id=pair.node_id[:6]) == node
    assert "connected since" in pair.gateway.cli("node", "list").stdout


def test_system_run_goes_through_the_gate(pair: NodePair, tmp_path: Path) -> None:
    """Both judges, the journal and people: what needs an answer does not run before it."""
    pair.node.approvals(free=FULL, main=FULL)
    done = invoke(pair, "system.run", command="echo hi", cwd="/", agent="free")
    assert (done["status"], done["output"]) == ("finished", "hi\n")

    line = f"touch {tmp_path}/ran"
    pending = invoke(pair, "system.run", command=line, cwd="/", agent="main", wait=False)
    assert pending["status"] == "pending"
    assert not (tmp_path / "ran").exists()
    assert question(pair.gateway)["node"] == pair.node_id
    answered(pair.gateway, "allow-once")
    ended = call(pair, "exec.wait", id=pending["id"])
    assert (ended["status"], ended["exitCode"]) == ("finished", 0)
    assert (tmp_path / "ran").exists()

    denied = invoke(pair, "system.run", command=line, cwd="/", agent="none")
    assert (denied["status"], denied["reason"]) == ("denied", "security_deny")


def test_the_node_is_named_beside_the_params(pair: NodePair) -> None:
    """Another host or node in the params is refused, as is an unknown command."""
    for more in ({"host": "gateway"}, {"node": "db"}):
        with pytest.raises(BadRequest, match="named next to"):
            invoke(pair, "system.run", command="echo hi", cwd="/", **more)
    with pytest.raises(BadRequest):
        invoke(pair, "system.exec", command="echo hi")
    with pytest.raises(BadRequest, match="no node is called"):
        call(pair, "node.invoke", node="db", command="system.which", params={"bins": []})


def test_prepare_returns_both_verdicts_and_runs_nothing(pair: NodePair, tmp_path: Path) -> None:
    """The plan is the node's; the stricter verdict holds."""
    pair.node.approvals(free=LISTED)
    line = f"touch {tmp_path}/ran"
    found = invoke(pair, "system.run.prepare", command=line, cwd="/", agent="free")
    assert (found["decision"], found["gateway"]["decision"]) == ("ask", "allow")
    assert (found["node"]["decision"], found["node"]["name"]) == ("ask", "web")
    assert len(found["plan"]) == 64
    assert not (tmp_path / "ran").exists()


def test_which_finds_the_nodes_programs(pair: NodePair) -> None:
    """A name that does not exist is left out, and so is a path."""
    found = invoke(pair, "system.which", bins=["echo", "no-such-program", "/bin/sh", "../sh"])
    assert found == {"bins": {"echo": "/usr/bin/echo"}}


def test_policy_explain_asks_the_node(pair: NodePair) -> None:
    """`--node` shows the plan and both verdicts."""
    pair.node.approvals(free=LISTED)
    options = ("policy", "explain", "--node", "web", "--agent", "free", "--cwd", "/")
    shown = pair.gateway.cli(*options, "-c", "uname -s").stdout
    assert shown.startswith("ASK  On node web: ")
    assert "gateway   allow" in shown
    assert "node web  ask (not_listed)" in shown
    assert "program   /usr/bin/uname" in shown
    found = pair.gateway.json(*options, "-c", "echo x")
    assert (found["decision"], found["node"]["decision"]) == ("allow", "allow")


def test_policy_explain_shows_a_denial_and_no_raw_word(pair: NodePair, tmp_path: Path) -> None:
    """A node that denies says nothing of its files; names of folders reach no terminal raw."""
    (tmp_path / "private").touch()
    pair.node.approvals(free={"security": "deny"})
    options = ("policy", "explain", "--node", "web", "--agent", "free")
    shown = pair.gateway.cli(*options, "--cwd", "/", "-c", f"stat {tmp_path}/*").stdout
    assert shown.startswith("DENY  On node web: ")
    assert "private" not in shown

    pair.node.approvals(free=LISTED)
    for words in (options, ("policy", "explain", "--agent", "free")):
        refused = pair.gateway.cli(*words, "--cwd", "/no\x1b[31m\u202esuch", "-c", "true").stdout
        assert refused.startswith("DENY  ")
        assert refused.replace("\n", "").isprintable()


def test_a_nodes_file_is_shown_without_its_socket_and_replaced_by_its_hash(pair: NodePair) -> None:
    """S1 "base hash": a second writer is refused; the node's token never leaves it."""
    path = pair.node.home / "exec-approvals.json"
    secret = {"socket": {"path": str(path.with_suffix(".sock")), "token": "t" * 32}}
    path.write_text(json.dumps({"version": 1, "agents": {"free": LISTED}, **secret}))
    path.chmod(0o600)
    found = invoke(pair, "system.execApprovals.get")
    assert "socket" not in found["file"]
    assert found["file"]["agents"]["free"]["security"] == "allowlist"

    rest = {"id": "web", "file": found["file"], "baseHash": found["hash"]}
    refused = call(pair, "exec.approvals.node.set", **rest)
    assert refused["done"] is False
    assert "terminal" in refused["sentence"]

    code, said = pair.typed(
        *("approvals", "allowlist", "add", "--node", "web", "--agent", "free", "/usr/bin/uname")
    )
    assert code == 0, said
    kept = json.loads(path.read_text())
    assert [one["pattern"] for one in kept["agents"]["free"]["allowlist"]] == [
        "/usr/bin/echo",
        "/usr/bin/uname",
    ]
    assert kept["socket"] == secret["socket"]
    assert pair.run("-c", "uname -s")["status"] == "finished"


def test_the_first_entry_makes_a_nodes_file(pair: NodePair) -> None:
    """Before that it says that there is none; what is printed as JSON can be set."""
    path = pair.node.home / "exec-approvals.json"
    for one in (path, path.with_name(f"{path.name}.last-good")):
        one.unlink(missing_ok=True)
    assert "does not exist" in pair.gateway.cli("approvals", "get", "--node", "web").stdout
    shown = pair.gateway.json("approvals", "get", "--node", "web")
    assert shown == {"version": 1, "agents": {}}

    code, said = pair.typed("approvals", "allowlist", "add", "--node", "web", "/usr/bin/uname")
    assert code == 0, said
    made = json.loads(path.read_text())
    assert [one["pattern"] for one in made["agents"]["main"]["allowlist"]] == ["/usr/bin/uname"]
    assert "agent main: " in pair.gateway.cli("approvals", "get", "--node", "web").stdout


def test_the_command_line_edits_a_nodes_file(pair: NodePair, tmp_path: Path) -> None:
    """Get, set, list and remove; without a terminal nothing is changed."""
    pair.node.approvals(free=LISTED)
    new = tmp_path / "new.json"
    file = pair.gateway.json("approvals", "get", "--node", "web")
    file["agents"]["free"]["ask"] = "always"
    new.write_text(json.dumps(file))
    words = ("approvals", "set", "--node", "web", "--file", str(new))
    refused = pair.gateway.cli(*words, own_session=True)
    assert refused.returncode == 3, refused
    assert "terminal" in refused.stderr
    assert pair.gateway.json("approvals", "get", "--node", "web") != file

    code, said = pair.typed(*words)
    assert code == 0, said
    assert pair.gateway.json("approvals", "get", "--node", "web") == file
    listed = pair.gateway.cli("approvals", "allowlist", "list", "--node", "web", "--agent", "free")
    assert "/usr/bin/echo" in listed.stdout
    pattern = ("--node", "web", "--agent", "free", "/usr/bin/echo")
    assert pair.typed("approvals", "allowlist", "remove", *pattern)[0] == 0
    assert pair.gateway.json("approvals", "get", "--node", "web")["agents"]["free"]["ask"] == (
        "always"
    )
    again = pair.typed("approvals", "allowlist", "remove", *pattern)
    assert again[0] == 2
    bad = tmp_path / "bad.json"
    bad.write_text('{"version": 1, "defaults": {"security": "lax"}}')
    code, said = pair.typed("approvals", "set", "--node", "web", "--file", str(bad))
    assert code == 2
    assert "security" in said


def test_a_node_that_is_away_says_so(pair: NodePair) -> None:
    """Nothing is guessed; once back, it answers."""
    pair.node.stop()
    with pytest.raises(SaysoError, match="not connected"):
        invoke(pair, "system.which", bins=["echo"])
    (node,) = pair.gateway.json("node", "list")["nodes"]
    assert (node["connected"], node["sinceMs"], node["commands"]) == (False, None, [])
    pair.start_node()
    assert invoke(pair, "system.which", bins=["echo"])["bins"]


def test_a_node_may_refuse_remote_editing(pair: NodePair) -> None:
    """`node.remoteApprovals: false`: it does not advertise them, and the gateway says so."""
    config = pair.node.home / "config.json5"
    config.write_text("{ node: { remoteApprovals: false } }")
    config.chmod(0o600)
    pair.node.stop()
    pair.start_node()
    (node,) = pair.gateway.json("node", "list")["nodes"]
    assert set(node["commands"]) == {"system.run", "system.run.prepare", "system.which"}
    with pytest.raises(BadRequest, match="does not advertise"):
        invoke(pair, "system.execApprovals.get")
