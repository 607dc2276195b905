"""Edit a node's exec-approvals.json on the same page, with a real node, online and offline."""

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from core.model.access import Scope
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.page_browser import PERSON_SCOPES, PageBrowser
from tests.support.page_node import PagedNode, connected, paged_node
from tests.support.ports import free_port
from tests.support.waiting import wait_until

PATH = "/exec-approvals"
_FIELD = re.compile(r'name="(agent|node|base|seen|csrf)" value="([^"]*)"')


@dataclass(slots=True)
class Place:
    """A gateway, its node, and a person who may change rules."""

    home: ApiGateway
    node: PagedNode
    admin: PageBrowser

    def file(self) -> dict[str, Any]:
        """Return the node's file as it is on its disk."""
        path = self.node.process.home / "exec-approvals.json"
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def page(self, agent: str = "main", **query: str) -> str:
        """Return the page about the node."""
        params = {"node": self.node.id, "agent": agent, **query}
        return self.admin.get(PATH, params=params).text

    def fields(self, text: str) -> dict[str, str]:
        """Return what a form contains."""
        found = _FIELD.findall(text.split('class="rules"')[1])
        return {name: html.unescape(value) for name, value in found}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Run a gateway with a node."""
    folder, address = tmp_path_factory.mktemp("target"), f"127.0.0.1:{free_port()}"
    limits = {"rate": 1000, "burst": 1000, "addressRate": 1000, "addressBurst": 1000}
    with (
        api_gateway(folder / "home", nodes=address, limits=limits) as home,
        paged_node(home, folder / "node", address, "web") as node,
    ):
        scopes = PERSON_SCOPES | {Scope.ADMIN}
        yield Place(home, node, PageBrowser.signed_in(home, scopes=scopes))


def test_a_nodes_entries_are_shown_added_and_removed(place: Place) -> None:
    """On the node's own disk; the gateway's file is unchanged."""
    place.node.process.approvals(
        main={"security": "allowlist", "allowlist": [{"pattern": "/usr/bin/seq"}]}
    )
    own = (place.home.home / "exec-approvals.json").read_bytes()
    text = place.page()
    assert "<bdi>web</bdi>" in text
    assert "/usr/bin/seq" in text
    gone = re.findall(r'name="(remove-[0-9a-f]{16})"', text)
    wanted = dict.fromkeys(gone, "yes") | {"add": "/usr/bin/wc\r\n/usr/bin/git -- status"}
    saved = place.admin.post(PATH, **place.fields(text), **wanted, ask="always")
    assert saved.status_code == 303, saved.text
    assert f"node={place.node.id}" in saved.headers["location"]
    part = place.file()["agents"]["main"]
    assert [one["pattern"] for one in part["allowlist"]] == ["/usr/bin/wc", "/usr/bin/git"]
    assert (part["allowlist"][1]["argv"], part["ask"]) == (["status"], "always")
    assert (place.home.home / "exec-approvals.json").read_bytes() == own


def test_the_first_save_makes_the_nodes_file(place: Place) -> None:
    """On a node that has none; its socket is its own."""
    for name in ("exec-approvals.json", "exec-approvals.json.last-good"):
        (place.node.process.home / name).unlink(missing_ok=True)
    saved = place.admin.post(PATH, **place.fields(place.page()), ask="always")
    assert saved.status_code == 303, saved.text
    made = place.file()
    assert made.pop("socket")["token"]
    assert made == {"version": 1, "agents": {"main": {"ask": "always", "allowlist": []}}}


def test_what_changed_on_the_node_is_shown_three_ways(place: Place) -> None:
    """Its base hash works as the gateway's own; saving again keeps both changes."""
    place.node.process.approvals(main={"allowlist": [{"pattern": "/usr/bin/seq"}]})
    read = place.fields(place.page())
    place.node.process.approvals(
        main={"security": "deny", "allowlist": [{"pattern": "/usr/bin/uniq"}]}
    )
    clash = place.admin.post(PATH, **read, ask="always", add="/usr/bin/wc")
    assert clash.status_code == 409
    row = r"<th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td>"
    assert re.search(row.format("security", "default", "deny", "default"), clash.text)
    assert re.search(row.format("ask", "default", "default", "always"), clash.text)
    assert "ask" not in place.file()["agents"]["main"]
    wanted = {"security": "deny", "ask": "always", "add": "/usr/bin/wc"}
    again = place.admin.post(PATH, **place.fields(clash.text), **wanted)
    assert again.status_code == 303
    part = place.file()["agents"]["main"]
    assert (part["security"], part["ask"]) == ("deny", "always")
    assert [one["pattern"] for one in part["allowlist"]] == ["/usr/bin/uniq", "/usr/bin/wc"]


def test_a_command_is_tried_on_the_node(place: Place) -> None:
    """The node's own verdict counts; the control is another file there."""
    query = {"try": "seq 3", "cwd": "/"}
    place.node.process.approvals(
        main={"security": "allowlist", "allowlist": [{"pattern": "/usr/bin/seq"}]}
    )
    assert "Runs without asking" in place.page(**query)
    place.node.process.approvals(main={"security": "deny"})
    assert "Denied" in place.page(**query)


def test_a_nodes_draft_is_not_tried_on_the_gateway(place: Place) -> None:
    """The form has no such button, and the request is refused."""
    text = place.page()
    assert "Try on the last 30 days" not in text
    refused = place.admin.post(PATH, **place.fields(text), do="backtest")
    assert (refused.status_code, "its own programs" in refused.text) == (400, True)


def test_an_offline_node_is_shown_as_such(place: Place) -> None:
    """Nothing of its file is shown; the draft is kept and not saved anywhere."""
    read = place.fields(place.page())
    own = (place.home.home / "exec-approvals.json").read_bytes()
    place.node.process.stop()
    wait_until("it to be away", lambda: not connected(place.home, place.node.id), seconds=30)
    text = place.page()
    assert '<bdi>web</bdi> <span class="state">offline</span>' in text
    assert "It is offline" in text
    assert 'class="rules"' not in text
    lost = place.admin.post(PATH, **read, ask="always")
    assert (lost.status_code, "Nothing was changed" in lost.text) == (503, True)
    assert (place.home.home / "exec-approvals.json").read_bytes() == own
    assert place.admin.get(PATH, params={"node": "0" * 64}).status_code == 404
