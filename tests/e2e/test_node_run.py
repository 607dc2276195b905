"""Run commands on another machine: a real gateway and node, over TLS on loopback (S0, S1)."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.running import answered, question
from tests.support.node_process import NodePair, node_pair
from tests.support.waiting import wait_until

ECHO = {"security": "allowlist", "ask": "on-miss", "allowlist": [{"pattern": "/usr/bin/echo"}]}
FULL = {"security": "full", "ask": "off"}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodePair]:
    """Yield a gateway and its node."""
    with node_pair(tmp_path_factory.mktemp("nodes")) as running:
        yield running


def _ask(pair: NodePair, line: str, agent: str) -> str:
    """Request a command that a person must allow; return the question's code."""
    options = ("--host", "node", "--node", "web", "--agent", agent, "--cwd", "/", "--no-wait")
    done = pair.gateway.cli("run", *options, "--json", "-c", line)
    assert json.loads(done.stdout)["status"] == "pending", done.stdout
    return str(question(pair.gateway)["code"])


def _ended(pair: NodePair, code: str) -> dict[str, object]:
    """Wait for the end of a request and return it."""
    ends = time.monotonic() + 20
    while time.monotonic() < ends:
        found: dict[str, object] = pair.gateway.json("show", code)
        if found["state"] in {"done", "denied", "failed", "unknown"}:
            return found
        time.sleep(0.1)
    raise AssertionError(f"it did not end: {found}")


def test_both_allow_and_the_node_runs_it(pair: NodePair) -> None:
    """The output is the node's, the events name the node, and the node's disk has the run."""
    pair.node.approvals(free=ECHO)
    result = pair.run("-c", "echo on the node")

    assert (result["status"], result["exitCode"]) == ("finished", 0)
    assert result["output"] == "on the node\n"
    events, run_id = pair.gateway.events(), result["id"]
    assert f"Exec started (node={pair.node_id}, id={run_id})" in events
    finished = f"Exec finished (node={pair.node_id}, id={run_id}, code=0)"
    assert any(text.startswith(finished) for text in events)
    assert list((pair.node.home / "node-runs").glob(f"{run_id}*"))
    assert run_id in (pair.node.home / "node-audit.jsonl").read_text()


def test_an_exit_code_and_both_streams_come_back(pair: NodePair) -> None:
    """S0: stdout and stderr aggregated."""
    pair.node.approvals(free=FULL)
    result = pair.run("-c", "sh -c 'echo out; echo err >&2; exit 7'")
    assert (result["exitCode"], result["output"]) == (7, "out\nerr\n")


def test_the_gateway_denies_what_the_node_would_run(pair: NodePair) -> None:
    """The stricter of both holds."""
    pair.node.approvals(none=FULL)
    result = pair.run("-c", "echo x", agent="none")
    assert (result["status"], result["reason"]) == ("denied", "security_deny")


def test_a_broken_approvals_file_of_the_node_denies(pair: NodePair) -> None:
    """Its limits are not known, and the strictest of them is deny."""
    (pair.node.home / "exec-approvals.json").write_text("{")
    result = pair.run("-c", "echo x")
    assert (result["status"], result["reason"]) == ("denied", "security_deny")


def test_the_gateway_asks_and_the_prompt_names_the_node(pair: NodePair) -> None:
    """The prompt has the node's name and the path as the node resolves it; allowed, it runs."""
    pair.node.approvals(main=FULL)
    code = _ask(pair, "uname -s", "main")
    asked = pair.gateway.cli("show", code).stdout
    answered(pair.gateway, "allow-once")

    assert f"node web ({pair.node_id})" in asked
    assert "/usr/bin/uname" in asked
    ended = _ended(pair, code)
    assert ended["state"] == "done"


def test_a_denied_question_runs_nothing_on_the_node(pair: NodePair, tmp_path: Path) -> None:
    """The node never receives it; the control is the test before."""
    pair.node.approvals(main=FULL)
    code = _ask(pair, f"touch {tmp_path}/ran", "main")
    answered(pair.gateway, "deny")
    assert _ended(pair, code)["state"] == "denied"
    assert not (tmp_path / "ran").exists()


def test_the_nodes_question_is_put_to_people(pair: NodePair, tmp_path: Path) -> None:
    """The gateway would allow it, the node asks: only allow-once is offered, and runs it."""
    pair.node.approvals(free=ECHO)
    code = _ask(pair, f"touch {tmp_path}/ran", "free")
    always = pair.gateway.cli("approve", code, "allow-always", own_session=True)
    assert always.returncode != 0
    assert not (tmp_path / "ran").exists()
    answered(pair.gateway, "allow-once")
    assert _ended(pair, code)["state"] == "done"
    assert (tmp_path / "ran").exists()


def test_a_node_that_denies_meanwhile_runs_nothing(pair: NodePair, tmp_path: Path) -> None:
    """It judges again when the order arrives, by what its file says then."""
    pair.node.approvals(free=ECHO)
    code = _ask(pair, f"touch {tmp_path}/ran", "free")
    pair.node.approvals(free={"security": "deny"})
    answered(pair.gateway, "allow-once")
    ended = _ended(pair, code)
    assert "host_unavailable" in str(ended["how"]), ended
    assert not (tmp_path / "ran").exists()


def test_what_changed_after_the_question_is_drift(pair: NodePair, tmp_path: Path) -> None:
    """The plan pins the node's files: another script is not what was allowed."""
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\necho first\n")
    script.chmod(0o755)
    pair.node.approvals(free=ECHO)
    code = _ask(pair, str(script), "free")
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    answered(pair.gateway, "allow-once")
    ended = _ended(pair, code)
    assert "plan_drift" in str(ended["how"]), ended
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("word", ["WEB", "127.0.0.1", "id", "prefix"])
def test_a_node_is_meant_by_name_address_id_and_prefix(pair: NodePair, word: str) -> None:
    """S0's four ways, end to end."""
    pair.node.approvals(free=ECHO)
    meant = {"id": pair.node_id, "prefix": pair.node_id[:6]}.get(word, word)
    assert pair.run("-c", "echo x", node=meant)["status"] == "finished"


def test_an_unknown_node_is_denied_and_the_known_are_named(pair: NodePair) -> None:
    """No one is asked."""
    result = pair.run("-c", "echo x", node="db")
    assert (result["status"], result["reason"]) == ("denied", "host_unavailable")
    assert "web (" in result["why"]


def test_a_binding_restricts_and_a_call_does_not_widen_it(pair: NodePair) -> None:
    """The agent is bound to web; it may not name another node."""
    pair.node.approvals(bound=ECHO)
    assert pair.run("-c", "echo x", agent="bound", node="db")["status"] == "finished"


def test_a_renamed_node_is_meant_by_its_new_name(pair: NodePair) -> None:
    """The old name refers to no node."""
    pair.node.approvals(free=ECHO)
    assert pair.typed("node", "rename", "web", "build")[0] == 0
    assert pair.run("-c", "echo x", node="build")["status"] == "finished"
    assert pair.run("-c", "echo x", node="web")["reason"] == "host_unavailable"
    assert pair.typed("node", "rename", "build", "web")[0] == 0


def test_an_agents_program_pairs_nothing(pair: NodePair) -> None:
    """Approving and renaming require a person at a terminal."""
    for words in (("approve", "K3F7QZ"), ("rename", "web", "db")):
        done = pair.gateway.cli("node", *words, own_session=True)
        assert done.returncode == 3, done
        assert "terminal" in done.stderr


def test_a_node_that_is_away_is_denied_at_once(pair: NodePair) -> None:
    """It says so before anyone is asked; once the node is back, it works again."""
    pair.node.approvals(main=FULL, free=ECHO)
    pair.node.stop()
    began = time.monotonic()
    result = pair.run("-c", "uname", agent="main")
    assert (result["status"], result["reason"]) == ("denied", "host_unavailable")
    assert "not connected" in result["why"]
    assert time.monotonic() - began < 10
    assert pair.gateway.json("pending") == []
    pair.start_node()
    assert pair.run("-c", "echo back")["output"] == "back\n"


@pytest.mark.parametrize(
    ("agent", "fallback", "status"),
    [
        ("lax", "full", "finished"),
        ("lax", "deny", "denied"),
        ("lax", None, "denied"),
        ("main", "full", "denied"),
    ],
)
def test_ask_fallback_needs_both(
    pair_without_people: NodePair, agent: str, fallback: str | None, status: str
) -> None:
    """No one can be asked: it runs only if gateway and node both fall back to full."""
    mine = {**ECHO, **({} if fallback is None else {"askFallback": fallback})}
    pair_without_people.node.approvals(**{agent: mine})
    result = pair_without_people.run("-c", "uname -s", agent=agent)
    assert result["status"] == status, result


@pytest.fixture(scope="module")
def pair_without_people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodePair]:
    """Yield a gateway whose questions reach no one, and its node."""
    alone = tmp_path_factory.mktemp("alone")
    with node_pair(alone, channels={"terminal": {"approvers": []}}) as running:
        yield running


def test_a_fresh_node_denies_and_a_revoked_one_is_cut_off(tmp_path: Path) -> None:
    """Without an approvals file S0's default holds; once revoked, it takes no more commands."""
    with node_pair(tmp_path) as pair:
        fresh = pair.run("-c", "echo x")
        assert (fresh["status"], fresh["reason"]) == ("denied", "security_deny")
        assert "On node web" in fresh["why"]
        pair.node.approvals(free=ECHO)
        assert pair.run("-c", "echo x")["status"] == "finished"
        pair.node.approvals(free=FULL)
        mark = tmp_path / "begun"
        long = pair.gateway.ask(
            *("--host", "node", "--agent", "free", "--cwd", "/", "--json"),
            *("-c", f"sh -c 'touch {mark}; sleep 60'"),
        )
        wait_until("the command's start", mark.exists, seconds=20)
        began = time.monotonic()
        assert pair.gateway.cli("node", "revoke", "web").returncode == 0
        ended = json.loads(long.communicate(timeout=20)[0])
        assert (ended["status"], ended["cancelled"]) == ("finished", True)
        assert time.monotonic() - began < 15
        assert pair.run("-c", "echo x")["reason"] == "host_unavailable"
        assert pair.gateway.json("node", "list")["nodes"] == []
        assert "revoked" in pair.node.log.read_text()
    assert list((tmp_path / "node" / "node-runs").iterdir())
