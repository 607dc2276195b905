"""Press where a card was while cards come and go above it: no other card is ever answered.

The pointer is a real one: it presses at coordinates that were chosen before the change, and arrives
before, at and shortly after it.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.live_pages import WATCH, Patch, live_browser, signed_in
from tests.support.api_gateway import UNLIMITED, ApiGateway, api_gateway
from tests.support.page_browser import link_for

PRESSES = 500 if os.environ.get("SAYSO_FULL_RACES") else 12
SOON_GONE: Patch = {"live.js": {"SHOWN_MS = 4000": "SHOWN_MS = 150"}}
"""An ended card leaves its place sooner, so that many come and go; nothing else is altered."""
UNGUARDED: Patch = {**SOON_GONE, "guard.js": {"QUIET_MS = 300": "QUIET_MS = -100000"}}
NEAR_MS = 250
"""A press this long after the last change is not hasty: the person could look."""


def _above(config: dict[str, Any]) -> None:
    """Let questions to make a folder end sooner, which puts them above all others."""
    rule = {
        "match": {"argv": ["mkdir", "<NAME>"]},
        "decide": "ask",
        "tier": "elevated",
        "reason": "a folder more",
    }
    config["tools"]["exec"]["rules"] = [rule]
    config["approvals"]["exec"]["tiers"] = {"elevated": {"timeout": 400}}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiGateway]:
    """Run a gateway with a control page."""
    folder = tmp_path_factory.mktemp("moving") / "home"
    with api_gateway(folder, timeout=900, change=_above, limits=UNLIMITED) as running:
        yield running


@dataclass
class Finger:
    """Press "Deny" of one card, again and again, while others come and go above it."""

    home: ApiGateway
    page: Page
    draw: random.Random
    near_ms: float = NEAR_MS
    aimed: str = ""
    above: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    meant: list[str] = field(default_factory=list)
    excused: set[str] = field(default_factory=set)
    hasty: int = 0
    name: str = ""
    _asked: int = 0

    async def ask(self, *, above: bool) -> str:
        """Ask for something; ``above``: its card comes above that of all others."""
        self._asked += 1
        command = (
            f"mkdir {self.name}-{self._asked}"
            if above
            else f"git push origin {self.name}-{self._asked}"
        )
        # Each in its own session, because several of one session are also offered as a plan.
        session = f"agent:main:{self.name}-{self._asked}"
        found = await asyncio.to_thread(lambda: self.home.ask(command, session=session))
        return str(found["id"])

    async def press(self) -> None:
        """Aim, let a card come or go, and press near that moment."""
        if not self.aimed or await self._state(self.aimed) != "pending":
            await self._aim()
        await self.page.evaluate("quiet()")
        box = await self.page.locator(f"#c-{self.aimed} .quick .deny").bounding_box()
        assert box is not None
        await self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        seen = await self.page.evaluate("presses.length")
        await self._change_and_press()
        [(at, hit)] = await self.page.evaluate(f"presses.slice({seen})")
        if at - await self.page.evaluate("changed") < self.near_ms:
            self.hasty += 1
        else:
            self.excused.add(hit)

    async def _aim(self) -> None:
        """Choose a card that has another below it, which moves up when one above goes."""
        before = self.below[-1] if self.below else await self.ask(above=False)
        self.meant.append(before)
        self.aimed = before
        self.below.append(await self.ask(above=False))
        for one in (self.aimed, self.below[-1]):
            await expect(self.page.locator(f"#c-{one} .quick .deny")).to_be_visible()

    async def _change_and_press(self) -> None:
        held = await self.page.evaluate_handle(
            "({ promise: new Promise((done) => changes.push(done)) })"
        )
        how = self.draw.choice(("after", "across", "early"))
        if how == "across":  # the finger is down when the card moves
            await self.page.mouse.down()
        change = asyncio.create_task(self._change())
        if how != "early":
            await self.page.evaluate("(held) => held.promise", held)
        if how != "across":
            await self.page.mouse.down()
        await self.page.mouse.up()
        await change
        await self.page.evaluate("(held) => held.promise", held)

    async def _change(self) -> None:
        """Let a card come above, or the one there go."""
        waiting = [one for one in self.above[-1:] if await self._state(one) == "pending"]
        if waiting:
            agent = self.home.client("agent")
            for one in waiting:
                await asyncio.to_thread(agent.delete, f"/v1/requests/{one}")
        else:
            self.above.append(await self.ask(above=True))

    async def _state(self, asked: str) -> str:
        url = f"/v1/approvals/{asked}"
        found = await asyncio.to_thread(self.home.client("person").get, url)
        return str(found.json()["state"])

    async def wrong(self) -> list[str]:
        """Return the cards that were answered differently than the finger ever meant."""
        meant = {one: {"pending", "denied"} for one in self.meant}
        states = {one: await self._state(one) for one in {*self.above, *self.below, *self.meant}}
        fine = {"pending", "cancelled"}
        wrong = [one for one, state in states.items() if state not in meant.get(one, fine)]
        return [one for one in wrong if one not in self.excused]


@asynccontextmanager
async def _finger(home: ApiGateway, patch: Patch, name: str) -> AsyncIterator[Finger]:
    async with (
        live_browser() as browser,
        signed_in(browser, home.url, link_for(home), patch) as page,
    ):
        await page.evaluate(WATCH)
        finger = Finger(home, page, random.Random(name), name=name)
        try:
            yield finger
        finally:
            for one in {*finger.above, *finger.below, *finger.meant}:
                await asyncio.to_thread(home.client("agent").delete, f"/v1/requests/{one}")


@pytest.mark.slow
@pytest.mark.timeout(120 + 15 * PRESSES)
async def test_no_press_hits_another_card(home: ApiGateway) -> None:
    """Down and up before, across and right after a change, up to 500 times: none is wrong."""
    async with _finger(home, SOON_GONE, "guarded") as finger:
        for _ in range(8 * PRESSES):
            await finger.press()
            if finger.hasty == PRESSES:
                break
        print(f"{finger.hasty} hasty presses, {len(finger.meant) - 1} cards denied that were meant")
        assert finger.hasty == PRESSES
        assert len(finger.meant) > 1, "no press counted at all"
        assert await finger.wrong() == []


@pytest.mark.timeout(300)
async def test_without_the_guard_a_press_does(home: ApiGateway) -> None:
    """The control: the same finger on a page whose guard lasts no time answers other cards."""
    async with _finger(home, UNGUARDED, "unguarded") as finger:
        finger.near_ms = float("inf")  # however slow the machine is, what is hit is found
        for _ in range(100):
            await finger.press()
            if await finger.wrong():
                return
        pytest.fail("no press hit another card in 100, so the test cannot find any")
