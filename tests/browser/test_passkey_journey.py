"""Follow one answer from the press to the node: signed, stored, sent along, checked, run."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from core.errors import HostUnavailable
from core.model.decision import AllowedBy, Basis
from core.model.identity import ApprovalId
from core.store import approvals
from core.store.approvals import proofs
from core.store.people import passkeys
from tests.browser.engines import ENGINES, store_of
from tests.browser.passkey_browser import Device, new_device, register
from tests.browser.playwright_page import browser, tab
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.page_node import PagedNode, paged_node
from tests.support.ports import free_port
from tests.support.runs import Start, new_run
from tests.support.waiting import wait_until

MKDIR = {"match": {"argv": ["mkdir", "<PATH>"]}, "decide": "ask", "tier": "critical", "reason": "x"}
"""Making a folder is critical here: where it ran can be seen."""


@dataclass
class Journey:
    """A gateway with a page, a node that knows Ana's passkey, and Ana's browser."""

    home: ApiGateway
    device: Device
    node: PagedNode

    def ask(self, made: Path) -> ApprovalId:
        """Ask to make a folder on the node."""
        asked = self.home.ask(f"mkdir {made}", host="node", node=self.node.id, cwd=str(made.parent))
        return ApprovalId(asked["id"])

    def state(self, asked: str) -> dict[str, Any]:
        """Return the state of a request."""
        found: dict[str, Any] = self.home.client("agent").get(f"/v1/requests/{asked}").json()
        return found

    def orders(self, run: ApprovalId, of: ApprovalId, signed: tuple[str, ...]) -> str:
        """Order a run of what ``of`` asks, as a lying gateway does; return the refusal."""
        gate = self.home.gateway.gate
        found = self.home.do(gate.store.read(approvals.get, of))
        assert found is not None
        host = gate.execution.hosts.get(found.plan.host)
        assert host is not None
        people = Basis(AllowedBy.PEOPLE, ("api:ana",), signed)
        with pytest.raises(HostUnavailable) as refused:
            self.home.do(host.run(run, found.plan, Start(why=people)))
        return str(refused.value)

    def kept(self, asked: str) -> tuple[str, ...]:
        """Return what was signed to allow a request."""
        found = self.home.do(self.home.gateway.store.read(proofs.of_approval, asked))
        return tuple(one.passkey or "" for one in found)


@pytest.fixture(params=ENGINES)
def journey(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journey]:
    """Register Ana's passkey, and give it to a node, as the manual says."""
    address = f"127.0.0.1:{free_port()}"

    def critical(config: dict[str, Any]) -> None:
        config["tools"]["exec"]["rules"] = [MKDIR]

    with (
        api_gateway(
            tmp_path / "home",
            timeout=900,
            step_up=True,
            nodes=address,
            store=store_of(request),
            change=critical,
        ) as home,
        browser() as chromium,
        tab(chromium) as opened,
    ):
        device = new_device(home, opened.page, "ana")
        register(device)
        (key,) = home.do(home.gateway.store.read(passkeys.of_person, "ana"))
        folder = tmp_path / "node"
        folder.mkdir(mode=0o700)
        known = {"id": key.id, "publicKey": key.public_key}
        config = {"node": {"page": device.url, "passkeys": [known]}}
        (folder / "config.json5").touch(mode=0o600)
        (folder / "config.json5").write_text(json.dumps(config))
        with paged_node(home, folder, address, "far") as node:
            node.process.approvals(main={"security": "full", "ask": "always"})
            yield Journey(home, device, node)


def test_what_a_person_signed_runs_on_the_node_and_nothing_else_does(
    journey: Journey, tmp_path: Path
) -> None:
    """A press allows and runs; without the signature, or with another's, the node refuses."""
    first, second = tmp_path / "first", tmp_path / "second"
    asked = journey.ask(first)
    page = journey.device.page
    page.goto(f"{journey.device.url}/approve/{asked}")
    page.get_by_role("button", name="Allow").first.click()
    expect(page.locator("[data-state=allowed]")).to_be_visible(timeout=30_000)
    wait_until("its end", lambda: journey.state(asked)["status"] == "finished")
    assert first.is_dir()
    (signed,) = journey.kept(asked)

    third = tmp_path / "third"
    later, never = journey.ask(second), journey.ask(third)
    assert "it has none" in journey.orders(new_run(), later, ())
    for run, of in ((new_run(), later), (new_run(), asked), (never, never)):
        assert "passkey signed" in journey.orders(run, of, (signed,))
    assert not second.exists()
    assert not third.exists()

    page.goto(f"{journey.device.url}/approve/{later}")
    page.get_by_role("button", name="Allow").first.click()
    wait_until("its end", lambda: journey.state(later)["status"] == "finished")  # the control
    assert second.is_dir()
    assert journey.kept(later) != (signed,)
