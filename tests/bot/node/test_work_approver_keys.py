"""A node whose settings name approvers' passkeys: what people allow runs where one signed it."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.node.app import node
from core.errors import BadRequest, HostUnavailable
from core.model.decision import AllowedBy, Basis
from core.nodes.frames import Ended, NotRun
from core.store import Store, open_store
from core.trust.passkeys import PasskeyProof, RelyingParty, approval_challenge
from tests.support.node_bench import Bench, node_bench
from tests.support.passkey_device import PasskeyDevice
from tests.support.runs import Watcher, new_run

PAGE = RelyingParty("sayso.example", "https://sayso.example")
ANA = PasskeyDevice()
SETTINGS: dict[str, object] = {
    "node": {"page": PAGE.origin, "passkeys": [{"id": ANA.id, "publicKey": ANA.public_key}]}
}
NONCE = "0" * 32


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Yield a store in a file."""
    opened = await open_store(f"sqlite:///{tmp_path}/state.db")
    yield opened
    await opened.close()


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


async def test_the_gateways_host_sends_what_was_signed(bench: Bench) -> None:
    """As it is kept with the decision; without it the node refuses."""
    plan, run = (await bench.plan("echo ran")).plan, new_run()
    signed = _proof(ANA, run, plan.digest).model_dump_json()
    basis = Basis(AllowedBy.PEOPLE, ("api:ana",), (signed,))
    result = await bench.host.run(run, plan, Watcher(why=basis))
    assert (result.exit_code, result.output.text) == (0, "ran\n")
    with pytest.raises(HostUnavailable, match="passkey signed: it has none"):
        await bench.host.run(new_run(), plan, Watcher(why=Basis(AllowedBy.PEOPLE, ("api:ana",))))


async def test_keys_without_a_page_are_refused(tmp_path: Path, store: Store) -> None:
    """Nothing could be checked then; the node does not start."""
    async with node_bench(tmp_path, store) as made:
        text = '{node: {passkeys: [{id: "x", publicKey: "y"}]}}'
        (made.home / "config.json5").write_text(text)
        (made.home / "config.json5").chmod(0o600)
        with pytest.raises(BadRequest, match=re.escape("node.page must be")):
            async with node(made.home, lambda _words: None):
                pass
