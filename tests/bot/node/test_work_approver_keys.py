"""Run on a node that names approvers' passkeys what people allow if one signed it."""

import os
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from bot.node.app import node
from bot.node.work import NodeWork
from core.errors import BadRequest, HostUnavailable
from core.model.decision import AllowedBy, Basis, Decision
from core.nodes.frames import Ended, Invoke, NotInvoked, NotRun, Skills
from core.nodes.ledger import Ledger
from core.store import Store
from core.trust.ids import new_id
from core.trust.passkeys import PasskeyProof, RelyingParty, approval_challenge
from tests.support.node_bench import Bench, node_bench
from tests.support.passkey_device import PasskeyDevice
from tests.support.runs import Start, new_run
from tests.support.waiting import until

PAGE = RelyingParty("sayso.example", "https://sayso.example")
ANA = PasskeyDevice()
SETTINGS: dict[str, object] = {
    "node": {"page": PAGE.origin, "passkeys": [{"id": ANA.id, "publicKey": ANA.public_key}]}
}
NONCE = "0" * 32


@pytest.fixture
async def bench(tmp_path: Path, store: Store) -> AsyncIterator[Bench]:
    """Yield a gateway's host with a node that knows Ana's passkey and must ask for everything."""
    async with node_bench(tmp_path, store, SETTINGS) as made:
        made.approvals(security="full", ask="always")
        yield made


def _proof(device: PasskeyDevice, run: str, digest: str) -> PasskeyProof:
    signed = device.sign(approval_challenge(run, digest, "allow-once", "", NONCE), PAGE)
    return PasskeyProof(nonce=NONCE, reply="allow-once", signed=signed)


async def test_a_gateway_that_lies_starts_nothing(bench: Bench, tmp_path: Path) -> None:
    """With no proof, one for another run, one of another key; the control: with its own."""
    plan, run = (await bench.plan(f"mkdir {tmp_path}/made")).plan, new_run()
    people = {"by": AllowedBy.PEOPLE, "approvers": ("api:ana",)}
    for proofs in ((), (_proof(ANA, new_run(), plan.digest),), (_proof(PasskeyDevice(), run, ""),)):
        said = await bench.says(bench.order(plan, new_run(), **people, proofs=proofs))
        assert isinstance(said, NotRun)
        assert "passkey signed" in said.why
    for by in (AllowedBy.POLICY, AllowedBy.FALLBACK):
        assert isinstance(await bench.says(bench.order(plan, new_run(), by=by)), NotRun)
    assert not (tmp_path / "made").exists()
    said = await bench.says(
        bench.order(plan, run, **people, proofs=(_proof(ANA, run, plan.digest),))
    )
    assert isinstance(said, Ended)
    assert (tmp_path / "made").is_dir()


async def test_a_gateway_that_lies_runs_nothing_that_was_signed_once_more(
    bench: Bench, tmp_path: Path
) -> None:
    """Neither on the next day nor after a month and a restart, nor on a new connection."""
    plan, run = (await bench.plan(f"sh -c 'echo ran >> {tmp_path}/ran'")).plan, new_run()
    people = {"by": AllowedBy.PEOPLE, "approvers": ("api:ana",)}
    proofs = (_proof(ANA, run, plan.digest),)
    assert isinstance(await bench.says(bench.order(plan, run, **people, proofs=proofs)), Ended)
    noted = bench.home / "node-runs" / f"{run}.noted.json"
    await until(noted.exists)
    long_ago = time.time() - 31 * 86_400
    os.utime(noted, (long_ago, long_ago))
    assert bench.member is not None
    work = cast("NodeWork", bench.member.work)
    work.ledger = Ledger.of(bench.home)  # as a restart reads it

    bench.settled.clear()
    assert isinstance(await bench.says(bench.order(plan, run, **people, proofs=proofs)), Ended)
    assert (tmp_path / "ran").read_text() == "ran\n"


async def test_a_gateway_that_lies_does_not_write_the_policy(bench: Bench) -> None:
    """Otherwise it would let everything run, and ask for no passkey."""
    node = bench.connection.node
    assert bench.connection.caps == ("system.run", "system.run.prepare", "system.which")
    for command in ("system.execApprovals.get", "system.execApprovals.set"):
        frame = Invoke(id=new_id(), command=command, params={})
        answer = await bench.host._questions.ask(bench.connection, frame, 10)
        assert isinstance(answer, NotInvoked)
        assert "does not take this command" in answer.why
    assert node.name == "web"


async def test_without_keys_the_gateway_may_write_the_policy(tmp_path: Path, store: Store) -> None:
    """The control: then it is trusted."""
    async with node_bench(tmp_path, store) as made:
        assert "system.execApprovals.set" in made.connection.caps


@pytest.mark.parametrize("trusted", [True, False], ids=["without keys", "with keys"])
async def test_a_gateway_that_lies_names_no_skills(
    tmp_path: Path, store: Store, *, trusted: bool
) -> None:
    """A node that requires passkeys takes no program from its gateway; one without does."""
    async with node_bench(tmp_path, store, None if trusted else SETTINGS) as made:
        made.approvals(security="allowlist", ask="off", autoAllowSkills=True)
        await made.connection.link.send(Skills(bins=("uname",)))
        found = await made.plan("uname")
        assert (found.verdict.decision is Decision.ALLOW) == trusted, found.verdict


async def test_the_gateways_host_sends_what_was_signed(bench: Bench) -> None:
    """As it is kept with the decision; without it the node refuses."""
    plan, run = (await bench.plan("echo ran")).plan, new_run()
    signed = _proof(ANA, run, plan.digest).model_dump_json()
    basis = Basis(AllowedBy.PEOPLE, ("api:ana",), (signed,))
    result = await bench.host.run(run, plan, Start(why=basis))
    assert (result.exit_code, result.output.text) == (0, "ran\n")
    with pytest.raises(HostUnavailable, match="passkey signed: it has none"):
        await bench.host.run(new_run(), plan, Start(why=Basis(AllowedBy.PEOPLE, ("api:ana",))))


async def test_keys_without_a_page_are_refused(tmp_path: Path, store: Store) -> None:
    """Nothing could be checked then; the node does not start."""
    async with node_bench(tmp_path, store) as made:
        text = '{node: {passkeys: [{id: "x", publicKey: "y"}]}}'
        (made.home / "config.json5").write_text(text)
        (made.home / "config.json5").chmod(0o600)
        with pytest.raises(BadRequest, match=re.escape("node.page must be")):
            async with node(made.home, lambda _words: None):
                pass
