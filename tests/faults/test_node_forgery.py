"""Change, replay, hold back, cross and downgrade messages of gateway and node: all are refused.

Orders reach a real node over a connection that it trusts, as if TLS and the key meant nothing;
what a hostile node says reaches a real gateway in the same way. Right after each attack the
untouched frame is accepted, so that what was refused was refused because of the attack.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from core.model.decision import AllowedBy
from core.model.identity import ApprovalId
from core.model.node import NodePlan
from core.nodes.envelope import LIFE_MS, SIGNED
from core.nodes.frames import AUTHENTICATED, Ended, NotRun, Run, encode
from core.planning.digest import bind
from core.store import Store, open_store
from core.trust.identity import Identity
from tests.support.node_bench import Bench, node_bench
from tests.support.runs import new_run
from tests.support.waiting import PATIENCE_S, until

OTHER = Identity.new().agent
NAMES = ("node", "session", "digest", "run_id", "not_after_ms", "by", "approvers", "v")


@dataclass
class Scene:
    """A node, a plan that it made, a valid order of it, and what that would do."""

    bench: Bench
    plan: NodePlan
    ran: Path
    order: Run
    earlier: Run

    def again(self, prefix: bytes = SIGNED, key: Any = None, **changes: Any) -> Run:
        """Return an order whose payload is changed and then signed, by default by the gateway."""
        values = {**json.loads(self.order.payload), **changes}
        payload = json.dumps({name: one for name, one in values.items() if one is not None})
        return self.signed(payload, prefix, key)

    def signed(self, payload: str, prefix: bytes = SIGNED, key: Any = None) -> Run:
        """Return an order of this payload."""
        signature = (key or self.bench.host.key).sign(prefix + payload.encode()).hex()
        return self.order.model_copy(update={"payload": payload, "signature": signature})

    def changed(self, **changes: Any) -> Run:
        """Return the valid order with something besides its payload changed."""
        return self.order.model_copy(update=changes)

    def text(self, **changes: Any) -> str:
        """Return the valid order's frame, changed as JSON."""
        return json.dumps({**json.loads(encode(self.order)), **changes})


def _flip(text: str, at: int) -> str:
    return text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1 :]


def _now() -> int:
    return time.time_ns() // 1_000_000


def _evil(scene: Scene) -> Any:
    """Return a plan that is intact, and that the node did not make."""
    plan = scene.plan.plan
    return bind(replace(plan, env=(*plan.env, ("LD_PRELOAD", "/tmp/evil.so"))))


def _of_plan(scene: Scene, plan: Any) -> Run:
    """Return a valid order of another plan."""
    return scene.bench.order(plan, new_run())


ORDERS: dict[str, Callable[[Scene], Run | str]] = {
    # changed
    "a bit of the signature": lambda s: s.changed(signature=_flip(s.order.signature, 5)),
    "a signature of zeros": lambda s: s.changed(signature="0" * 128),
    "the signature of an earlier order": lambda s: s.changed(signature=s.earlier.signature),
    "the payload of an earlier order": lambda s: s.changed(payload=s.earlier.payload),
    "a space after the payload": lambda s: s.changed(payload=s.order.payload + " "),
    "another run id": lambda s: s.changed(
        payload=s.order.payload.replace(json.loads(s.order.payload)["run_id"], "0" * 26)
    ),
    "another approver": lambda s: s.changed(
        payload=s.order.payload.replace('"approvers":[]', '"approvers":["telegram:42"]')
    ),
    "a later time": lambda s: s.changed(
        payload=s.order.payload.replace('"not_after_ms":1', '"not_after_ms":2')
    ),
    "another plan": lambda s: s.changed(plan=_evil(s)),
    "another command under the digest": lambda s: s.changed(
        plan=replace(_evil(s), digest=s.plan.plan.digest)
    ),
    "another folder under the digest": lambda s: s.changed(
        plan=replace(s.plan.plan, digest=s.plan.plan.digest, text="rm -rf /")
    ),
    "another timeout under the digest": lambda s: s.changed(
        plan=replace(s.plan.plan, timeout_ms=s.plan.plan.timeout_ms + 1)
    ),
    "another agent under the digest": lambda s: s.changed(
        plan=replace(s.plan.plan, agent=type(s.plan.plan.agent)("root"))
    ),
    "a plan that the gateway made up": lambda s: _of_plan(s, _evil(s)),
    "a plan for another node": lambda s: _of_plan(s, bind(replace(s.plan.plan, node="b" * 64))),
    "a plan of another name": lambda s: _of_plan(s, bind(replace(s.plan.plan, node_name="db"))),
    # signed by another key, or for something else
    "another gateway's signature": lambda s: s.again(key=OTHER),
    "the node's own signature": lambda s: s.again(key=Identity.load(s.bench.home).agent),
    "a signature without its purpose": lambda s: s.again(prefix=b""),
    "a signature that lets a node in": lambda s: s.again(prefix=AUTHENTICATED),
    "a signature for remote exec": lambda s: s.again(prefix=b"sayso-exec-v1\0"),
    "a purpose without its end": lambda s: s.again(prefix=SIGNED[:-1]),
    # crossed
    "another node's order": lambda s: s.again(node="b" * 64),
    "an order without a node": lambda s: s.again(node=None),
    "another connection's order": lambda s: s.again(session="6" * 32),
    "an order without a connection": lambda s: s.again(session=None),
    "another plan's order": lambda s: s.again(digest="c" * 64),
    "an order without a plan's digest": lambda s: s.again(digest=None),
    # held back
    "an order of a second ago": lambda s: s.again(not_after_ms=_now() - 1_000),
    "an order of an hour ago": lambda s: s.again(not_after_ms=_now() - 3_600_000),
    "an order of the year 1970": lambda s: s.again(not_after_ms=0),
    "an order that lasts for ever": lambda s: s.again(not_after_ms=1 << 52),
    "an order that lasts for an hour": lambda s: s.again(not_after_ms=_now() + 3_600_000),
    "an order without an end": lambda s: s.again(not_after_ms=None),
    # downgraded
    "version 0": lambda s: s.again(v=0),
    "version 2": lambda s: s.again(v=2),
    "a version as text": lambda s: s.again(v="1"),
    "people who are nobody": lambda s: s.again(by=AllowedBy.PEOPLE),
    "people for a policy's word": lambda s: s.again(approvers=["telegram:42"]),
    "somebody who is not known": lambda s: s.again(by="root"),
    "nobody": lambda s: s.again(by=None),
    "a run id that is a path": lambda s: s.again(run_id="../../../etc/passwd0000000"),
    "a run id in capitals": lambda s: s.again(run_id="A" * 26),
    "a key more": lambda s: s.again(more=1),
    "a key twice": lambda s: s.signed(s.order.payload[:-1] + f',"node":"{s.plan.plan.node}"}}'),
    "a list": lambda s: s.signed("[]"),
    "nested deeply": lambda s: s.signed("[" * 5_000),
    "no payload": lambda s: s.signed(""),
    # the frame around it
    "no signature": lambda s: s.text(signature=""),
    "a signature in capitals": lambda s: s.text(signature=s.order.signature.upper()),
    "a frame of a key more": lambda s: s.text(allowed=True),
    "a frame of another kind": lambda s: s.text(t="exec"),
    "a frame with a key twice": lambda s: s.text()[:-1] + ',"t":"run"}',
    "half a frame": lambda s: s.text()[: len(s.text()) // 2],
    "a frame with NaN": lambda s: s.text()[:-1] + ',"x":NaN}',
    "a plan with a key more": lambda s: s.text(
        plan={**json.loads(encode(s.order))["plan"], "uid": 0}
    ),
}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Yield a store in a file."""
    opened = await open_store(f"sqlite:///{tmp_path}/state.db")
    yield opened
    await opened.close()


async def _scene(bench: Bench, ran: Path) -> Scene:
    plan = await bench.plan(f"mkdir {ran}")
    order, earlier = (bench.order(plan.plan, new_run()) for _ in range(2))
    return Scene(bench, plan, ran, order, earlier)


async def _sent(bench: Bench, frame: Run | str) -> None:
    """Send a frame and wait until the node has dealt with it; it may have ended the connection."""
    connection, barrier = bench.connection, new_run()
    text = frame if isinstance(frame, str) else encode(frame)
    try:
        await connection.link.socket.send(text)
        await connection.link.socket.send(json.dumps({"t": "query", "run_id": barrier}))
    except ConnectionClosed:
        pass
    gone = connection.link.socket.close_code
    await until(
        lambda: (
            bench.endings(barrier)
            or connection.link.socket.close_code is not None
            or gone is not None
        )
    )
    await until(lambda: _is_open(bench))
    await asyncio.sleep(0.05)


def _is_open(bench: Bench) -> bool:
    """Return whether the node is connected, by a connection that has not ended since."""
    return bool(bench.host.fleet.connected) and bench.connection.link.socket.close_code is None


async def _accepts(bench: Bench, ran: Path) -> None:
    """Check that the untouched order runs, and end what it made."""
    scene = await _scene(bench, ran)
    run_id = json.loads(scene.order.payload)["run_id"]
    await bench.connection.link.send(scene.order)
    await until(lambda: bench.endings(run_id))
    (ended,) = bench.endings(run_id)
    assert isinstance(ended, Ended), ended
    assert (ended.result.exit_code, ran.is_dir()) == (0, True)
    ran.rmdir()


async def test_no_order_that_was_tampered_with_runs(tmp_path: Path, store: Store) -> None:
    """Each is refused or ends the connection; the valid one runs after each of them."""
    accepted: list[str] = []
    async with node_bench(tmp_path, store) as bench:
        for number, (name, attack) in enumerate(ORDERS.items()):
            ran = tmp_path / f"ran{number}"
            await _sent(bench, attack(await _scene(bench, ran)))
            if ran.exists():
                accepted.append(name)
            await _accepts(bench, tmp_path / f"control{number}")
    assert accepted == []


REPLAYS: dict[str, Callable[[Scene], Awaitable[Run]]] = {}


def _replay(function: Callable[[Scene], Awaitable[Run]]) -> Callable[[Scene], Awaitable[Run]]:
    REPLAYS[function.__name__.strip("_").replace("_", " ")] = function
    return function


@_replay
async def _once_more(scene: Scene) -> Run:
    """Replay the bytes of an order."""
    return scene.order


@_replay
async def _under_the_same_id_with_a_new_signature(scene: Scene) -> Run:
    """Sign the same id again, as a gateway whose store was rolled back would."""
    return scene.again(not_after_ms=_now() + LIFE_MS)


@_replay
async def _under_the_same_id_by_people(scene: Scene) -> Run:
    """Claim that people have just allowed what has already run."""
    return scene.again(by="people", approvers=["telegram:42"])


@_replay
async def _on_the_next_connection(scene: Scene) -> Run:
    """Hold the bytes back until the node has reconnected."""
    await _reconnected(scene.bench)
    return scene.order


@_replay
async def _on_the_next_connection_under_its_name(scene: Scene) -> Run:
    """Sign the old id for the new connection: the node's disk still knows it."""
    await _reconnected(scene.bench)
    return scene.again(session=scene.bench.connection.session, not_after_ms=_now() + LIFE_MS)


async def _reconnected(bench: Bench) -> None:
    first = bench.connection
    await first.link.close()
    await until(lambda: bench.host.fleet.connected and bench.connection is not first)


@pytest.mark.parametrize("name", REPLAYS)
async def test_what_has_run_does_not_run_again(tmp_path: Path, store: Store, name: str) -> None:
    """The first time it runs; replayed in any way it does not, and a new order does."""
    async with node_bench(tmp_path, store) as bench:
        scene = await _scene(bench, tmp_path / "ran")
        assert isinstance(await bench.says(scene.order), Ended)
        scene.ran.rmdir()
        await _sent(bench, await REPLAYS[name](scene))
        assert not scene.ran.exists()
        await _accepts(bench, tmp_path / "control")


async def test_what_was_held_back_does_not_run_later(tmp_path: Path, store: Store) -> None:
    """An order that never arrived is refused on the next connection."""
    async with node_bench(tmp_path, store) as bench:
        scene = await _scene(bench, tmp_path / "ran")
        await _reconnected(bench)
        await _sent(bench, scene.order)
        (refused,) = bench.endings(json.loads(scene.order.payload)["run_id"])
        assert isinstance(refused, NotRun)
        assert not scene.ran.exists()
        await _accepts(bench, tmp_path / "control")


HOSTILE: dict[str, Callable[[ApprovalId, str], dict[str, Any]]] = {
    "another node ends it": lambda run, _: _ending(run, 0),
    "another node says that nothing ran": lambda run, _: {
        "t": "not_run", "run_id": run, "reason": "spawn_failed", "why": "",
    },
    "another node says that it goes on": lambda run, _: {"t": "underway", "run_id": run},
    "an ending with a key more": lambda run, _: {**_ending(run, 0), "more": 1},
    "an ending of another form": lambda run, _: {**_ending(run, 0), "result": {"exit_code": 0}},
    "an order from a node": lambda run, _: {"t": "cancel", "run_id": run},
    "a note from a node": lambda run, _: {"t": "noted", "run_id": run},
    "a question from a node": lambda run, _: {"t": "query", "run_id": run},
    "a welcome from a node": lambda run, _: {"t": "welcome", "name": "web"},
    "a hello from a node": lambda run, key: {
        "t": "hello", "v": 2, "nonce": "0" * 32, "gateway": key, "now_ms": 0,
    },
    "a second auth": lambda run, key: {
        "t": "auth", "v": 2, "node_id": key, "name": "web", "token": "0" * 64,
        "session": "0" * 32, "signature": "0" * 128,
    },
}  # fmt: skip
"""What a node may claim about another node's run; the run's id, the gateway's key."""


def _ending(run: str, code: int) -> dict[str, Any]:
    output = {"text": "", "tail": "", "total_bytes": 0, "truncated": False}
    result = {"run_id": run, "exit_code": code, "signal": None, "output": output, "duration_ms": 1}
    return {"t": "ended", "run_id": run, "result": result}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_node_has_no_say_in_anothers_run(tmp_path: Path, store: Store, name: str) -> None:
    """The run ends as its own node says; the control is that the same words of that node count."""
    async with node_bench(tmp_path, store) as bench:
        run_id, key = new_run(), bench.host.fleet.key
        # The bench's own node is the hostile one here: the run was ordered from another node.
        ending = bench.expect(run_id, "e" * 64)
        await bench.node_says(json.dumps(HOSTILE[name](run_id, key)))
        await asyncio.sleep(0.2)
        assert not ending.done()
        await until(lambda: bench.host.fleet.connected)
        own = bench.expect(run_id, bench.connection.node.id)
        await bench.node_says(json.dumps(_ending(run_id, 0)))
        assert isinstance(await asyncio.wait_for(own, PATIENCE_S), Ended)
        assert not ending.done()


def test_there_are_sixty() -> None:
    """The issue asks for at least sixty."""
    assert len(ORDERS) + len(REPLAYS) + 1 + len(HOSTILE) >= 60
