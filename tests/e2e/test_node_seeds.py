"""Check what the specifications say of nodes, line by line, with a gateway and real nodes.

Tested elsewhere, by name:

S0 "Ask flow", "Runner enforces local approvals"  test_node_run: both judges, asked, denied, drift
S0 "askFallback applies"                          test_node_run.test_ask_fallback_needs_both
S0 "Node selection resolution"                    test_node_run.test_a_node_is_meant_by_…
S0 "Default exec.security = deny", "ask on-miss"  test_node_run.test_a_fresh_node_denies_…
S1 "Effective policy is the stricter"             test_node_run.test_the_gateway_denies_…
S1 "must advertise system.execApprovals.get/set"  test_node_commands
S1 "the target selector chooses Gateway or Node"  test_node_commands.test_the_command_line_edits_…
S1 "Auto-allow skill CLIs"                        here, and tests/bot/node/test_commands.py
S1 "Exec running (only past the threshold)"       test_node_link.test_a_late_report_…
S0 "Transport": run event frames                  tests/core/nodes/test_frames.py, test_node_link
S0 "UI IPC": same UID, token, nonce, TTL, rate     tests/core/companion/test_server*.py
S0 "/exec host= … node="                          tests/bot/chat/test_session_settings_node.py
S1 "If you can't edit it remotely, edit the file" test_node_commands.test_a_node_may_refuse_…
S1 "If no decision arrives before the timeout"    test_straight_line.py, for each host
S1 "Control UI: Nodes → Exec approvals"           tests/bot/api/rest/test_rest_nodes.py: its routes
"""

import asyncio
import json
import os
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.client import Client
from tests.e2e.running import answered, question
from tests.support.companion import companion_at
from tests.support.node_process import NodePair, NodeProcess, node_pair
from tests.support.waiting import wait_until

FULL = {"security": "full", "ask": "off"}
ECHO = {"security": "allowlist", "ask": "on-miss", "allowlist": [{"pattern": "/usr/bin/echo"}]}
SKILLS = {"skills": {"bins": ["uptime", "no-such-program"]}}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodePair]:
    """Yield a gateway that knows a skill's program, and its node `web`."""
    with node_pair(tmp_path_factory.mktemp("nodes"), **SKILLS) as running:
        yield running


def events(pair: NodePair, run_id: str) -> list[str]:
    """Return the session's events about a run, the first lines only."""
    return [text.splitlines()[0] for text in pair.gateway.events() if f"id={run_id}" in text]


def second(pair: NodePair, home: Path) -> NodeProcess:
    """Pair a second node, `db`."""
    node = NodeProcess(home)
    node.start("--gateway", pair.address, "--gateway-key", pair.key, "--name", "db")
    asked = wait_until("a node that waits", pair.requests, seconds=20)
    code, said = pair.typed("node", "approve", asked[0]["code"])
    assert code == 0, said
    wait_until("its connection", lambda: "connected to" in node.log.read_text(), seconds=20)
    return node


def test_s0_node_host_state_is_node_json(pair: NodePair) -> None:
    """S0 "Node host state: node.json (node id + pairing token)"; mode 0600."""
    path = pair.node.home / "node.json"
    kept = json.loads(path.read_text())
    assert kept["node_id"] == pair.node_id
    assert len(kept["pairing_token"]) == 64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    stored = (pair.gateway.home / "state.db").read_bytes()
    assert kept["pairing_token"].encode() not in stored


def test_s0_no_terminal_and_no_separate_streams(pair: NodePair) -> None:
    """S0 "No PTY/streaming for node exec (aggregated output only)"."""
    pair.node.approvals(free=FULL)
    options = ("--host", "node", "--node", "web", "--agent", "free", "--cwd", "/", "--json")
    done = pair.gateway.cli("run", *options, "--pty", "-c", "echo x")
    assert json.loads(done.stdout)["reason"] == "bad_request", done


def test_s0_output_caps(pair: NodePair) -> None:
    """S0 "Cap combined stdout+stderr at 200k; keep tail 20k for events"."""
    pair.node.approvals(free=FULL)
    result = pair.run("-c", "sh -c 'head -c 300000 /dev/zero | tr \"\\0\" x'")
    assert result["truncated"] is True
    assert result["totalBytes"] == 300_000
    assert len(result["output"]) <= 200_000
    assert result["output"].endswith("… (truncated)")
    (text,) = (t for t in pair.gateway.events() if f"id={result['id']}, code=0" in t)
    assert len(text) < 20_200


def test_s0_event_texts_and_their_order(pair: NodePair) -> None:
    """S0 "Event text": started, finished, denied, each with node and run id."""
    pair.node.approvals(free=FULL)
    ran = pair.run("-c", "true")
    assert events(pair, ran["id"]) == [
        f"Exec started (node={pair.node_id}, id={ran['id']})",
        f"Exec finished (node={pair.node_id}, id={ran['id']}, code=0)",
    ]
    pair.node.approvals(free={"security": "deny"})
    denied = pair.run("-c", "true")
    assert events(pair, denied["id"]) == [
        f"Exec denied (node={pair.node_id}, id={denied['id']}, security_deny)"
    ]


def test_s1_events_are_posted_after_the_node_reported(pair: NodePair, tmp_path: Path) -> None:
    """S1 "posted to the agent's session after the node reports the event".

    A node that is stopped before the order arrives has reported nothing; once it continues, it has.
    """
    pair.node.approvals(main=FULL)
    options = ("--host", "node", "--agent", "main", "--cwd", "/", "--no-wait", "--json")
    asked = json.loads(pair.gateway.cli("run", *options, "-c", f"touch {tmp_path}/ran").stdout)
    assert question(pair.gateway)["id"] == asked["id"]
    assert pair.node.process is not None
    pair.node.process.send_signal(signal.SIGSTOP)
    try:
        answered(pair.gateway, "allow-once")
        wait_until(
            "the claim",
            lambda: pair.gateway.json("show", asked["id"])["state"] == "started",
            seconds=10,
        )
        time.sleep(0.5)
        assert events(pair, asked["id"]) == []
    finally:
        pair.node.process.send_signal(signal.SIGCONT)
    wait_until("the end", lambda: len(events(pair, asked["id"])) == 2, seconds=30)
    assert events(pair, asked["id"])[0].startswith("Exec started (node=")


def test_s1_the_run_id_is_the_approval_id(pair: NodePair) -> None:
    """S1 "Approval-gated execs reuse the approval id as the runId"."""
    pair.node.approvals(main=FULL)
    options = ("--host", "node", "--agent", "main", "--cwd", "/", "--no-wait", "--json")
    asked = json.loads(pair.gateway.cli("run", *options, "-c", "uname").stdout)
    assert asked["status"] == "pending"
    answered(pair.gateway, "allow-once")
    wait_until("the end", lambda: len(events(pair, asked["id"])) == 2, seconds=20)
    assert list((pair.node.home / "node-runs").glob(f"{asked['id']}*"))


@pytest.mark.parametrize(
    ("security", "ask", "listed", "unlisted"),
    [
        ("deny", "off", "deny", "deny"),
        ("deny", "always", "deny", "deny"),
        ("allowlist", "off", "allow", "deny"),
        ("allowlist", "on-miss", "allow", "ask"),
        ("allowlist", "always", "ask", "ask"),
        ("full", "off", "allow", "allow"),
        ("full", "on-miss", "allow", "allow"),
        ("full", "always", "ask", "ask"),
    ],
)
def test_s0_security_and_ask_of_the_node(
    pair: NodePair, security: str, ask: str, listed: str, unlisted: str
) -> None:
    """S0 "Security mode", "Ask mode": by the node's own file; ask is independent of the list."""
    pair.node.approvals(free={**ECHO, "security": security, "ask": ask})
    assert [_judged(pair, line) for line in ("echo x", "uname")] == [listed, unlisted]


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("echo a && echo b || echo c; echo d", "allow"),
        ("echo a && uname", "ask"),
        ("echo a | head -1", "allow"),
        ("echo a | head -1 /etc/passwd", "ask"),
        ("echo a > /tmp/there", "ask"),
        ("/usr/bin/ECHO a", "deny"),
    ],
)
def test_s1_lines_on_a_node(pair: NodePair, line: str, decision: str) -> None:
    """S1 "Shell chaining", "Safe bins (stdin-only)", "Redirections remain unsupported"."""
    pair.node.approvals(free=ECHO)
    assert _judged(pair, line) == decision


@pytest.mark.parametrize(
    ("pattern", "decision"),
    [("/USR/bin/ECH?", "allow"), ("/usr/**/echo", "allow"), ("echo", "ask"), ("/usr/*", "ask")],
)
def test_s1_patterns_of_a_nodes_list(pair: NodePair, pattern: str, decision: str) -> None:
    """S1 "case-insensitive glob matches", "basename-only entries are ignored"."""
    pair.node.approvals(free={**ECHO, "allowlist": [{"pattern": pattern}]})
    assert _judged(pair, "echo x") == decision


def _judged(pair: NodePair, line: str) -> str:
    """Return the verdict on a line of the agent free, for whom the gateway allows everything."""
    what = {"command": line, "cwd": "/", "agent": "free", "host": "node", "node": "web"}
    with Client(str(pair.gateway.home / "gateway.sock")) as client:
        return str(client.call("policy.explain", what)["decision"])


def test_s1_the_dialog_says_what_would_run_where(pair: NodePair, tmp_path: Path) -> None:
    """S1 "The confirmation dialog includes": command, folder, agent, path, host, policy."""
    pair.node.approvals(main=FULL)
    options = ("--host", "node", "--node", "web", "--agent", "main", "--cwd", str(tmp_path))
    pair.gateway.json("run", *options, "--no-wait", "-c", "uname -s")
    asked = question(pair.gateway)
    shown = pair.gateway.cli("show", asked["id"]).stdout
    for words in ("uname -s", str(tmp_path), "main", "/usr/bin/uname", "node web", "allowlist"):
        assert words in shown, (words, shown)
    answered(pair.gateway, "deny")


def test_s1_allow_always_lists_and_runs(pair: NodePair) -> None:
    """S1 "Always allow → add to allowlist + run"; the next time no one is asked."""
    pair.node.approvals(main=FULL)
    options = ("--host", "node", "--node", "web", "--agent", "main", "--cwd", "/")
    asked = pair.gateway.json("run", *options, "--no-wait", "-c", "hostname")
    answered(pair.gateway, "allow-always")
    wait_until("the end", lambda: len(events(pair, asked["id"])) == 2, seconds=30)
    listed = pair.gateway.json("approvals", "get")["agents"]["main"]["allowlist"]
    assert [Path(entry["pattern"]).name for entry in listed][-1] == "hostname"
    assert pair.gateway.json("run", *options, "-c", "hostname")["status"] == "finished"


def test_s0_a_long_command_ends_at_its_deadline(pair: NodePair) -> None:
    """S0 "Long-running commands: rely on timeout + output caps"."""
    pair.node.approvals(free=FULL)
    ended = pair.run("--timeout", "1", "-c", "sleep 30")
    assert (ended["status"], ended["timedOut"]) == ("finished", True)


async def test_s0_the_nodes_companion_executes(pair: NodePair) -> None:
    """S0 "Ask flow": the node service forwards, the app "executes the command in UI context".

    "If UI missing: apply askFallback", which is deny.
    """
    path = pair.node.home / "exec-approvals.json"
    pair.node.approvals(free=FULL)
    file = json.loads(path.read_text())
    path.write_text(json.dumps({**file, "socket": {"executes": True}}))
    async with companion_at(pair.node.home):
        ran = await asyncio.to_thread(pair.run, "-c", "echo there")
        assert (ran["status"], ran["output"]) == ("finished", "there\n")
        assert (pair.node.home / "companion-runs" / f"{ran['id']}.noted.json").exists()
    gone = await asyncio.to_thread(pair.run, "-c", "echo there")
    assert (gone["status"], gone["reason"]) == ("denied", "host_unavailable")
    assert "companion" in gone["why"]
    assert not list((pair.node.home / "companion-runs").glob(f"{gone['id']}*"))


def test_s1_last_use_is_kept_on_the_node(pair: NodePair) -> None:
    """S1 "Each allowlist entry tracks last used timestamp, command, resolved path"."""
    pair.node.approvals(free=ECHO)
    assert pair.run("-c", "echo used")["status"] == "finished"
    file = pair.gateway.json("approvals", "get", "--node", "web")
    (entry,) = file["agents"]["free"]["allowlist"]
    assert entry["lastUsedCommand"] == "echo used"
    assert entry["lastResolvedPath"] == "/usr/bin/echo"
    assert entry["lastUsedAt"] > 1_700_000_000_000


def test_s1_lists_are_per_agent(pair: NodePair) -> None:
    """S1 "Per-agent allowlists prevent one agent's approvals from leaking into others"."""
    pair.node.approvals(free=ECHO, bound={"security": "allowlist", "ask": "off"})
    assert pair.run("-c", "echo x")["status"] == "finished"
    assert pair.run("-c", "echo x", agent="bound")["status"] == "denied"


def test_s1_skills_programs_are_allowed_on_nodes(pair: NodePair) -> None:
    """S1 "Auto-allow skill CLIs … on nodes … uses skills.bins over the Gateway RPC"."""
    strict = {"security": "allowlist", "ask": "off"}
    pair.node.approvals(free={**strict, "autoAllowSkills": True})
    assert pair.run("-c", "uptime")["status"] == "finished"
    assert pair.run("-c", "uname")["status"] == "denied"
    pair.node.approvals(free=strict)
    assert pair.run("-c", "uptime")["status"] == "denied"


def test_s0_several_nodes_without_a_binding_are_an_error(pair: NodePair, tmp_path: Path) -> None:
    """S0 "Multi-node ambiguity: error unless node binding or explicit node param"."""
    pair.node.approvals(free=ECHO, bound=ECHO)
    node = second(pair, tmp_path / "db")
    try:
        node.approvals(free=ECHO, bound=ECHO)
        options = ("--host", "node", "--agent", "free", "--cwd", "/", "--json")
        done = json.loads(pair.gateway.cli("run", *options, "-c", "echo x").stdout)
        assert (done["status"], done["reason"]) == ("denied", "host_unavailable")
        assert "several nodes" in done["why"]
        assert "web (" in done["why"]
        assert "db (" in done["why"]
        for name in ("web", "db"):
            assert pair.run("-c", "echo x", node=name)["status"] == "finished"
        # agents.list[].tools.exec.node: bound to web, whatever the call names.
        ran = pair.run("-c", "echo x", agent="bound", node="db")
        assert events(pair, ran["id"])[0].startswith(f"Exec started (node={pair.node_id},")
    finally:
        assert pair.gateway.cli("node", "revoke", "db").returncode == 0
        node.stop()


def test_s0_a_global_binding_is_the_default_node(tmp_path: Path) -> None:
    """S0 "tools.exec.node (default node binding)": no call leaves it."""
    tools = {"tools": {"exec": {"host": "node", "node": "web", "security": "full", "ask": "off"}}}
    with node_pair(tmp_path, **tools) as running:
        running.node.approvals(main=FULL)
        node = second(running, tmp_path / "db")
        try:
            node.approvals(main=FULL)
            options = ("--agent", "main", "--cwd", "/", "--json")
            for more in ((), ("--node", "db")):
                done = running.gateway.cli("run", *options, *more, "-c", "true")
                found: dict[str, Any] = json.loads(done.stdout)
                assert found["status"] == "finished", found
                assert events(running, found["id"])[0] == (
                    f"Exec started (node={running.node_id}, id={found['id']})"
                )
        finally:
            node.stop()


def test_s0_the_runner_is_a_service(pair: NodePair) -> None:
    """S0 "Runner: headless system service": its unit, for a user and the system."""
    environ = {**os.environ, "SAYSO_HOME": str(pair.node.home)}
    node = pair.node
    shown = node.cli("node", "install", "--print", environ=environ).stdout
    assert " node run\n" in shown
    assert f"SAYSO_HOME={node.home}" in shown
    system = node.cli("node", "install", "--system", "--run-as", "root", "--print", environ=environ)
    assert "User=root" in system.stdout
    state = node.cli("node", "status", "--json", environ=environ)
    assert json.loads(state.stdout)["compared"] == "missing"


def test_the_doctor_looks_at_both_ends(pair: NodePair) -> None:
    """On the node its files, gateway and clock; on the gateway each node."""
    environ = {**os.environ, "SAYSO_HOME": str(pair.node.home)}
    pair.node.approvals(free=ECHO)
    there = pair.node.cli("doctor", "node", environ=environ)
    assert there.returncode == 0, there.stdout
    assert "holds the pinned key" in there.stdout
    here = pair.gateway.cli("doctor", "node").stdout
    assert "node web: connected from 127.0.0.1" in here
    assert "web: connected" in pair.gateway.cli("status").stdout
    health = pair.gateway.json("doctor", "node")
    assert health


def test_commands_of_a_node_may_be_enclosed(pair: NodePair, tmp_path: Path) -> None:
    """`node.sandbox: true`: a home's files cannot be read from inside; without it they can."""
    pair.node.approvals(free=FULL)
    line = f"cat {pair.node.home}/node.json"
    assert pair.run("-c", line)["exitCode"] == 0

    config = pair.node.home / "config.json5"
    config.write_text("{ node: { sandbox: true } }")
    config.chmod(0o600)
    pair.node.stop()
    pair.start_node()
    inside = pair.run("-c", line)
    assert inside["status"] == "finished", inside
    assert inside["exitCode"] != 0
    assert "pairing_token" not in inside["output"]
    assert pair.run("-c", "echo in")["output"] == "in\n"
