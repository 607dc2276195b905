"""Choose the node of a chat's session with `/exec node=`, until reset (S0 "Slash commands")."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bot.chat.runs import session_of
from bot.node.app import node
from bot.wiring.nodes import StoredNodes
from channels.memory import MemoryChannel
from core.gate.gate import Gate
from core.hosts.gateway import GatewayHost
from core.hosts.node import NodeHost
from core.model.node import NodeId
from core.model.policy import ExecAsk, ExecHost, ExecSecurity
from core.model.result import Denied, Finished, Submission
from core.nodes.listener import listening
from core.nodes.node_file import NodeFile, begin
from core.runner.runner import Runner
from core.store.people import nodes
from core.store.sessions import events
from core.trust.identity import load_key
from tests.support.chat import say, sending
from tests.support.gate import PLACE, gate_at, layer, request
from tests.support.node_bench import NoRuns
from tests.support.waiting import until

FULL = '{"version": 1, "agents": {"main": {"security": "full", "ask": "off"}}}'


async def _paired(gate: Gate, home: Path, name: str, port: int, key: str) -> NodeFile:
    home.mkdir(mode=0o700)
    file = begin(home, name, f"127.0.0.1:{port}", key)
    (home / "exec-approvals.json").write_text(FULL)
    (home / "exec-approvals.json").chmod(0o600)
    draft = nodes.PairingDraft(NodeId(file.node_id), file.pairing_token, name, "127.0.0.1")
    asked = await gate.store.write(nodes.request, draft)
    await gate.store.write(nodes.approve, asked.code, "uid:0")
    return file


@asynccontextmanager
async def with_nodes(gate: Gate, home: Path, *names: str) -> AsyncIterator[dict[str, str]]:
    """Connect nodes of these names to a gate; yields their ids by name."""
    host = NodeHost(load_key(home / "gateway.key"), StoredNodes(gate.store), NoRuns([]))
    gate.nodes = host
    gate.execution.hosts = {ExecHost.GATEWAY: GatewayHost(Runner()), ExecHost.NODE: host}
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(
            listening("127.0.0.1", 0, host.key, host.fleet.serve)
        )
        ids, tasks = {}, []
        for name in names:
            file = await _paired(gate, home / name, name, port, host.fleet.key)
            member = await stack.enter_async_context(node(home / name, lambda _words: None))
            tasks.append(asyncio.create_task(member.run()))
            ids[name] = file.node_id
        await until(lambda: len(host.fleet.connected) == len(names))
        yield ids
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _ran(gate: Gate) -> Submission:
    asked = request("true", cwd=Path("/"))
    return await gate.submit(replace(asked, session=session_of(PLACE)))


async def test_a_chat_chooses_its_node(tmp_path: Path) -> None:
    """Without it two nodes are an error; with it the run is on that node; reset ends it."""
    channel = MemoryChannel()
    everything = replace(layer(), host=ExecHost.NODE, security=ExecSecurity.FULL, ask=ExecAsk.OFF)
    async with (
        gate_at(tmp_path, everything) as gate,
        sending(gate, channel) as inbox,
        with_nodes(gate, tmp_path, "web", "db") as ids,
    ):
        several = await _ran(gate)
        assert isinstance(several, Denied)
        assert "several nodes" in several.why

        for name in ("db", "WEB"):
            await say(inbox, f"/exec node={name}")
            ran = await _ran(gate)
            assert isinstance(ran, Finished), ran
            heard = await gate.store.read(events.drain, session_of(PLACE))
            place = ids[name.lower()]
            assert f"Exec finished (node={place}, id={ran.run_id}, code=0)" in heard[-1].text

        await say(inbox, "/exec reset")
        again = await _ran(gate)
        assert isinstance(again, Denied)
        assert "several nodes" in again.why
