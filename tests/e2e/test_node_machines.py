"""Run three machines: a gateway and two nodes, each with its own address, user and home.

Each named line of S0 and S1 that needs two machines; one process cannot show them.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway_process import write_config
from tests.support.machines import MachineGateway, MachineNode, Machines, machines
from tests.support.node_process import SAYSO
from tests.support.terminal import in_terminal
from tests.support.waiting import wait_until

FULL = {"security": "full", "ask": "off"}
ECHO = {"security": "allowlist", "ask": "on-miss", "allowlist": [{"pattern": "/usr/bin/echo"}]}
PORT = 8794


@dataclass
class Site:
    """A gateway and its nodes `web` and `db`."""

    machines: Machines
    gateway: MachineGateway
    nodes: list[MachineNode]
    ids: list[str]

    def listed(self) -> dict[str, Any]:
        """Return what `sayso node list` says."""
        found: dict[str, Any] = self.gateway.json("node", "list")
        return found

    def typed(self, *words: str) -> str:
        """Type a command at a terminal on the gateway; it must succeed."""
        code, said = in_terminal(*SAYSO, *words, environ=self.gateway.environ())
        assert code == 0, said
        return said

    def run(self, *words: str, node: str | None = "web", agent: str = "free") -> dict[str, Any]:
        """Run a command to its end."""
        options = ["--host", "node", "--agent", agent, "--cwd", "/", "--json"]
        options += [] if node is None else ["--node", node]
        done = self.gateway.cli("run", *options, *words)
        assert done.stdout, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def approvals(self, number: int, **agents: dict[str, Any]) -> None:
        """Write a node's own file, as its user would."""
        node, uid = self.nodes[number], self.machines.uids[number]
        node.approvals(**agents)
        os.chown(node.home / "exec-approvals.json", uid, uid)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield a gateway with two nodes that a person paired."""
    folder = tmp_path_factory.mktemp("site")
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    with machines(2) as made:
        home = folder / "gateway"
        write_config(home, None)
        path = home / "config.json5"
        config = json.loads(path.read_text())
        config["nodes"] = {"enabled": True, "listen": f"0.0.0.0:{PORT}"}
        lax = {"security": "allowlist", "askFallback": "full"}
        agents = {"free": FULL, "bound": {**FULL, "node": "db"}, "lax": lax}
        config["agents"] = {"list": [{"id": one, "tools": {"exec": agents[one]}} for one in agents]}
        config["channels"] = {"terminal": {"approvers": []}}
        path.write_text(json.dumps(config))
        gateway = MachineGateway(home, prefix=made.inside)
        gateway.start()
        nodes = [made.node(number, folder / f"home{number}") for number in range(2)]
        running = Site(made, gateway, nodes, [])
        try:
            for number, name in enumerate(("web", "db")):
                _pair(running, number, name)
            yield running
        finally:
            for node in nodes:
                if node.process is not None:
                    node.stop()
            gateway.stop()


def _pair(site: Site, number: int, name: str) -> None:
    key = site.gateway.cli("node", "key").stdout.strip()
    to = ("--gateway", f"10.77.{number + 1}.1:{PORT}", "--gateway-key", key, "--name", name)
    node = site.nodes[number]
    node.start(*to)
    (asked,) = wait_until("the request", lambda: site.listed()["requests"], seconds=60)
    assert (asked["name"], asked["address"]) == (name, node.address)
    words = wait_until("the words", lambda: node.log.read_text().partition("words: ")[2])
    assert words.startswith(asked["words"]), "the words that people compare are the same on both"
    site.typed("node", "approve", asked["code"])
    site.ids.append(asked["id"])
    wait_until("the connection", lambda: "connected to" in node.log.read_text(), seconds=60)


@pytest.mark.slow
def test_a_node_needs_no_inbound_port(site: Site) -> None:
    """Its firewall drops incoming connections, and it runs commands; it dials out."""
    site.approvals(0, free=FULL)
    assert not site.machines.reaches(0, 22)
    assert site.run("-c", "echo x")["status"] == "finished"


@pytest.mark.parametrize("number", [0, 1])
def test_commands_run_there_as_that_machines_user(site: Site, number: int) -> None:
    """S0 "exec on node runner": its user, its home, its address; the run is on its disk."""
    site.approvals(number, free=FULL)
    line = "sh -c 'id -u; echo $HOME; ip -brief addr show to 10.77.0.0/16'"
    found = site.run("-c", line, node=("web", "db")[number])
    uid, home, address = found["output"].strip().split("\n")
    node = site.nodes[number]
    assert (int(uid), home) == (site.machines.uids[number], str(node.home))
    assert node.address in address
    assert list((node.home / "node-runs").glob(f"{found['id']}*"))


def test_each_node_goes_by_its_own_file(site: Site) -> None:
    """S0 "Approvals JSON is local to the execution host": allowed on one, denied on the other."""
    site.approvals(0, free=ECHO)
    site.approvals(1, free={"security": "deny"})
    assert site.run("-c", "echo x", node="web")["status"] == "finished"
    denied = site.run("-c", "echo x", node="db")
    assert (denied["status"], denied["reason"]) == ("denied", "security_deny")


def test_several_nodes_and_no_binding_is_an_error_that_names_both(site: Site) -> None:
    """S0 "Multi-node ambiguity: error unless node binding or explicit node param"."""
    found = site.run("-c", "echo x", node=None)
    assert (found["status"], found["reason"]) == ("denied", "host_unavailable")
    assert "web (" in found["why"]
    assert "db (" in found["why"]


@pytest.mark.parametrize("how", ["id", "name", "address", "prefix"])
def test_a_node_is_meant_in_each_of_the_four_ways(site: Site, how: str) -> None:
    """S0 "Node selection resolution", with two to choose from."""
    site.approvals(1, free=FULL)
    own = site.ids[1]
    word = {"id": own, "name": "DB", "address": "10.77.2.2", "prefix": own[:8]}[how]
    found = site.run("-c", "id -u", node=word)
    assert found["output"].strip() == str(site.machines.uids[1])


def test_a_binding_holds_whatever_the_call_names(site: Site) -> None:
    """S0 "tools.exec.node restricts the agent to a specific node"."""
    site.approvals(1, bound=FULL)
    for node in (None, "web"):
        found = site.run("-c", "id -u", node=node, agent="bound")
        assert found["output"].strip() == str(site.machines.uids[1])


@pytest.mark.parametrize(("fallback", "status"), [("full", "finished"), ("deny", "denied")])
def test_ask_fallback_is_the_nodes_too(site: Site, fallback: str, status: str) -> None:
    """S1 "Ask fallback": no one can be asked here; it runs only if both fall back to full."""
    site.approvals(0, lax={**ECHO, "askFallback": fallback})
    assert site.run("-c", "uname -s", agent="lax")["status"] == status


@pytest.mark.slow
def test_a_node_whose_address_changes_comes_back(site: Site) -> None:
    """A laptop in another network: it reconnects, and the new address is the one that counts."""
    node = site.nodes[0]
    site.machines.move(0, 2, 9)
    try:
        site.approvals(0, free=FULL)
        wait_until(
            "the new address",
            lambda: any(one["address"] == "10.77.1.9" for one in site.listed()["nodes"]),
            seconds=60,
            pause=0.5,
        )
        assert site.run("-c", "id -u", node="10.77.1.9")["status"] == "finished"
        assert site.run("-c", "id -u", node="10.77.1.2")["reason"] == "host_unavailable"
    finally:
        site.machines.move(0, 9, 2)
        node.stop()
        node.start()
        wait_until("the connection", lambda: node.log.read_text().count("connected to") > 2)


def test_renaming_and_revoking_concern_one(site: Site) -> None:
    """The other continues; the revoked one's connection ends at once, and it may only ask again."""
    site.approvals(0, free=FULL)
    site.approvals(1, free=FULL)
    site.typed("node", "rename", "db", "store")
    assert site.run("-c", "id -u", node="db")["reason"] == "host_unavailable"
    assert site.run("-c", "id -u", node="store")["status"] == "finished"
    assert site.gateway.cli("node", "revoke", "store").returncode == 0
    wait_until("the end", lambda: "revoked" in site.nodes[1].log.read_text())
    assert site.run("-c", "id -u", node="store")["reason"] == "host_unavailable"
    assert [one["name"] for one in site.listed()["nodes"]] == ["web"]
    assert site.run("-c", "id -u", node=None)["status"] == "finished"
