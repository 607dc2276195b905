"""Use S1's card "Nodes → Exec approvals", step by step, with keys and presses in a browser."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.engines import ENGINES, store_of
from tests.browser.playwright_page import press_through, sign_in, tab
from tests.support.api_gateway import UNLIMITED, ApiGateway, api_gateway
from tests.support.page_browser import ADMIN_SCOPES, link_for
from tests.support.page_node import PagedNode, connected, paged_node
from tests.support.ports import free_port
from tests.support.waiting import wait_until


@dataclass(slots=True)
class Card:
    """The card in a tab, over a gateway and its node."""

    home: ApiGateway
    node: PagedNode
    page: Page

    def open(self, target: str, scope: str) -> None:
        """Choose a target and a scope by the links that people press."""
        self.page.goto(self.home.url)
        press_through(self.page.get_by_role("link", name="Exec approvals", exact=True))
        press_through(self.page.get_by_label("Target").get_by_role("link", name=target))
        scopes = self.page.get_by_label("Scope", exact=True)
        link = scopes.get_by_role("link", name=scope, exact=True)
        if link.count():
            press_through(link)
            return
        scopes.get_by_label("Another agent").fill(scope)
        press_through(scopes.get_by_role("button", name="Open"))

    def setting(self, name: str) -> Locator:
        """Return the field of a setting."""
        return self.page.get_by_role("combobox", name=name, exact=True)

    def save(self) -> None:
        """Press Save and check that it was saved."""
        press_through(self.page.get_by_role("button", name="Save", exact=True))
        expect(self.page.get_by_text("Saved.")).to_be_visible()

    def no_fault(self) -> None:
        """Check that axe-core finds nothing here."""
        found = Axe().run(self.page)
        assert found.violations_count == 0, found.generate_report()


@pytest.fixture(scope="module", params=ENGINES)
def places(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ApiGateway, PagedNode]]:
    """Run a gateway with a node, on each engine."""
    folder, address = tmp_path_factory.mktemp("card"), f"127.0.0.1:{free_port()}"
    with (
        api_gateway(
            folder / "home", nodes=address, store=store_of(request), limits=UNLIMITED
        ) as home,
        paged_node(home, folder / "node", address, "web") as node,
    ):
        yield home, node


@pytest.fixture
def card(places: tuple[ApiGateway, PagedNode], chromium: Browser) -> Iterator[Card]:
    """Sign in as a person who may change rules."""
    home, node = places
    with tab(chromium) as opened:
        sign_in(opened.page, home.url, link_for(home, scopes=ADMIN_SCOPES))
        opened.page.set_default_timeout(10_000)
        yield Card(home, node, opened.page)
        assert [one for one in opened.complaints if "409" not in one] == []


def _part(folder: Path, agent: str) -> dict[str, Any]:
    file = json.loads((folder / "exec-approvals.json").read_text())
    found: dict[str, Any] = file["agents"].get(agent, {}) if agent else file.get("defaults", {})
    return found


def test_defaults_of_the_gateway_are_edited(card: Card) -> None:
    """Edit defaults: security, ask, askFallback and autoAllowSkills, each with a default."""
    card.open("Gateway", "Defaults")
    card.setting("askFallback").select_option("deny")
    card.setting("autoAllowSkills").select_option(label="on")
    card.save()
    assert _part(card.home.home, "") == {"askFallback": "deny", "autoAllowSkills": True}
    card.setting("askFallback").select_option(label="use tools.exec")
    card.setting("autoAllowSkills").select_option(label="off")
    card.save()
    assert _part(card.home.home, "") == {"autoAllowSkills": False}
    card.no_fault()


def test_an_agents_overrides_and_list_are_edited(card: Card) -> None:
    """Per-agent overrides, and allowlists: add, remove one, remove several at once, Save."""
    card.open("Gateway", "main")
    card.setting("ask").select_option("on-miss")
    card.page.get_by_label("Add entries").fill("~/Projects/**/bin/rg\n/usr/bin/git -- log <NAME>")
    card.page.get_by_label("Remove /usr/bin/seq").check()
    card.save()
    listed = [one["pattern"] for one in _part(card.home.home, "main")["allowlist"]]
    assert listed[-2:] == ["~/Projects/**/bin/rg", "/usr/bin/git"]
    assert "/usr/bin/seq" not in listed
    card.page.get_by_label("Remove ~/Projects/**/bin/rg").check()
    card.page.get_by_label("Remove /usr/bin/git log").check()
    card.save()
    left = [one["pattern"] for one in _part(card.home.home, "main")["allowlist"]]
    assert left == [one for one in listed if one not in listed[-2:]]


def test_last_use_keeps_the_list_tidy(card: Card) -> None:
    """Last used metadata: when, for what, which program; unused ones go at once."""
    card.home.ask("echo tidy", wait=20)
    card.open("Gateway", "main")
    row = card.page.locator(".entry", has_text="/usr/bin/echo")
    expect(row).to_contain_text("last used")
    expect(row).to_contain_text("for echo tidy, /usr/bin/echo")
    card.page.get_by_label("Remove at once").select_option("never")
    card.save()
    left = {one["pattern"] for one in _part(card.home.home, "main")["allowlist"]}
    assert "/usr/bin/echo" in left
    assert "/usr/bin/true" not in left


def test_a_command_is_tested_and_the_draft_tried_on_the_past(card: Card) -> None:
    """What would be decided, and what the draft would have saved; then it is saved."""
    asked = card.home.ask("sha256sum /etc/hostname")["id"]
    card.open("Gateway", "main")
    card.page.get_by_role("textbox", name="Command").fill("sha256sum /etc/hostname")
    card.page.get_by_role("button", name="Test").click()
    expect(card.page.locator(".verdict")).to_contain_text("Asks a person")
    card.page.get_by_label("Add entries").fill("/usr/bin/sha256sum")
    card.page.get_by_role("button", name="Try on the last 30 days").click()
    figures = card.page.locator(".figures")
    expect(figures).to_contain_text("prompts saved1", timeout=30_000)
    expect(figures).to_contain_text("commands newly allowed1")
    card.no_fault()
    card.save()
    card.page.get_by_role("textbox", name="Command").fill("sha256sum /etc/hostname")
    card.page.get_by_role("button", name="Test").click()
    expect(card.page.locator(".verdict")).to_contain_text("Runs without asking")
    card.home.client("agent").delete(f"/v1/requests/{asked}")


def test_somebody_elses_save_is_shown_three_ways(card: Card) -> None:
    """Save with a base hash: as it was read, as it is now, as it should be."""
    card.open("Gateway", "other")
    path = card.home.home / "exec-approvals.json"
    file = json.loads(path.read_text())
    file["agents"]["other"]["security"] = "deny"
    path.write_text(json.dumps(file))
    card.setting("ask").select_option("always")
    card.page.get_by_role("button", name="Save", exact=True).click()
    differs = card.page.get_by_role("table", name="What differs")
    expect(differs.get_by_role("row", name="security")).to_contain_text("defaultdenydefault")
    expect(differs.get_by_role("row", name="ask")).to_contain_text("defaultdefaultalways")
    card.no_fault()
    card.save()
    part = _part(card.home.home, "other")
    assert (part["security"], part["ask"]) == ("deny", "always")


def test_a_node_is_the_target(card: Card) -> None:
    """The target selector chooses Gateway or a Node; its file is on its own disk."""
    card.node.process.approvals(main={"allowlist": [{"pattern": "/usr/bin/echo"}]})
    card.open("web", "main")
    card.setting("security").select_option("allowlist")
    card.page.get_by_label("Add entries").fill("/usr/bin/wc")
    card.save()
    part = _part(card.node.process.home, "main")
    assert part["security"] == "allowlist"
    assert [one["pattern"] for one in part["allowlist"]] == ["/usr/bin/echo", "/usr/bin/wc"]
    card.page.get_by_role("textbox", name="Command").fill("echo 3")
    card.page.get_by_role("button", name="Test").click()
    expect(card.page.locator(".verdict")).to_contain_text("Runs without asking")
    card.no_fault()


def test_an_offline_node_is_shown_as_such(card: Card) -> None:
    """In the selector and on its page, which has nothing to save."""
    card.node.process.stop()
    wait_until("it to be away", lambda: not connected(card.home, card.node.id), seconds=30)
    card.open("web offline", "main")
    expect(card.page.get_by_role("status").first).to_contain_text("It is offline")
    expect(card.page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    card.no_fault()
