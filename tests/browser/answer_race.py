"""Let two pages, a chat and the terminal answer one question at the same moment.

The pages are real ones, each with a pointer of its own; the chat is Telegram's local server, the
terminal the real CLI in a process. Whoever wins, all four are told who decided and what.
"""

import asyncio
import json
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Page
from sqlalchemy import text

from core.model.command import ExecRequest
from core.model.identity import Intake, Requester, SessionKey
from core.model.result import Pending
from core.store.people import people, tokens
from tests.browser.live_pages import WATCH, live_browser, signed_in
from tests.support.api_gateway import UNLIMITED, ApiGateway, api_gateway
from tests.support.forked_cli import Forked, forked
from tests.support.gateway_process import ANA, CHAT, BotApi, GatewayProcess
from tests.support.page_browser import link_for
from tests.support.waiting import wait_until

_PAGE_S, _LEAST_S, _MOST_S = 0.05, 0.05, 0.6
"""How late a page may be, and the bounds for the others."""
_LABELS = {"allow": "Allow once", "deny": "Deny"}
_NAMES = {
    "ana": ("ana", "ana"),
    "ben": ("ben", "ben"),
    f"telegram:{ANA}": ("chat", f"Person {ANA} (telegram"),
    f"terminal:uid:{os.getuid()}": ("cli", "root"),
}
"""Who each of the four is to the store, and what others read."""
_ENDED = """(id) => new Promise((done) => {
  const look = () => {
    const card = document.getElementById(`c-${id}`);
    return card?.classList.contains("gone") ? (done(card.innerText), true) : false;
  };
  if (look()) return;
  const seen = new MutationObserver(() => { if (look()) seen.disconnect(); });
  seen.observe(document.getElementById("cards"), { childList: true, subtree: true });
})"""

_SENT = """
window.sent = new Set();
addEventListener("submit", (event) => sent.add(event.target.action.split("/").at(-2)));
"""
_SAID = """([id, code]) => new Promise((done) => {
  if (!sent.has(id)) { done(null); return; }
  const said = document.getElementById("said");
  const look = () => said.textContent.includes(code) ? (done(said.textContent), true) : false;
  if (look()) return;
  const seen = new MutationObserver(() => { if (look()) seen.disconnect(); });
  seen.observe(said, { childList: true });
})"""


@contextmanager
def race_home(folder: Path, chat: BotApi) -> Iterator[ApiGateway]:
    """Run a gateway that asks on the page, in a chat and at the terminal; it knows Ana and Ben."""

    def asks_there(config: dict[str, Any]) -> None:
        exec_ = config["approvals"]["exec"]
        exec_["approvers"] = ["person:ana", "person:ben"]
        exec_ |= {"mode": "targets", "targets": [{"channel": "telegram", "to": CHAT}]}
        config["channels"]["telegram"] = {
            "token": chat.token,
            "apiBaseUrl": chat.url,
            "approvers": [ANA],
            "pollTimeout": 2,
        }

    with api_gateway(folder, timeout=900, change=asks_there, limits=UNLIMITED) as running:
        running.do(running.gateway.store.write(people.add, "ben"))
        yield running


@dataclass
class Browser:
    """A page and the button that it presses."""

    page: Page
    reply: str

    async def said(self, asked: str, code: str) -> str | None:
        """Return what the page said to its press, or ``None`` if it came too late to be one."""
        found: str | None = await self.page.evaluate(_SAID, [asked, code])
        return found

    async def aim(self, asked: str) -> tuple[float, float]:
        """Wait until the button can be pressed; return where it is."""
        button = self.page.locator(f"#c-{asked} .quick .{self.reply}")
        await button.wait_for()
        # The cards before it have ended, and stay. Not Playwright's own: it fails where the page
        # replaces the button while it waits for it to keep still.
        await button.evaluate("it => it.scrollIntoView({block: 'center', behavior: 'instant'})")
        await self.page.evaluate("quiet()")
        box = await button.bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    async def press(self, at: tuple[float, float]) -> None:
        """Press there."""
        await self.page.mouse.click(*at)


@dataclass(frozen=True, slots=True)
class Told:
    """What the four were told about one question, and after how long all of it was there.

    ``presses`` are what the pages said to their own presses; a page whose card had ended before
    its press came made none. ``status`` is the CLI's exit code.
    """

    cards: tuple[str, ...]
    presses: tuple[str | None, ...]
    toast: str
    message: str
    status: int
    printed: str
    seconds: float


@dataclass
class Four:
    """The answerers: two browsers, a phone and a terminal."""

    home: ApiGateway
    chat: BotApi
    cli: Forked
    pages: tuple[Browser, Browser]
    draw: random.Random
    other_s: float = 0.3

    async def answer(self, name: str) -> tuple[dict[str, Any], Told]:
        """Ask, let all four answer in a blink, and return the result."""
        asked, code = await asyncio.to_thread(self._ask, name)
        spots = [await page.aim(asked) for page in self.pages]
        prompt = await asyncio.to_thread(self.chat.prompt, name)
        by_chat, by_cli = self.draw.sample(("allow", "deny"), 2)
        words = ("approve", asked, "allow-once") if by_cli == "allow" else ("deny", asked)
        ends = [page.page.evaluate(_ENDED, asked) for page in self.pages]
        begun = time.monotonic()
        press = asyncio.to_thread(self.chat.press_old, prompt, _LABELS[by_chat])
        *_, query, (status, out, error), first, second = await asyncio.gather(
            *(
                self._soon(page.press(at), _PAGE_S)
                for page, at in zip(self.pages, spots, strict=True)
            ),
            self._soon(press, self.other_s),
            self._soon(asyncio.to_thread(self.cli.run, *words), self.other_s),
            *ends,
        )
        toast = await asyncio.to_thread(self.chat.told, query)
        message = await asyncio.to_thread(self._final, prompt["message_id"])
        answers = tuple([await page.said(asked, code) for page in self.pages])
        seconds = time.monotonic() - begun
        printed = (out + error).decode()
        told = Told((first, second), answers, toast, message, status, printed, seconds)
        truth = await asyncio.to_thread(self._truth, asked)
        self._even_out(_NAMES[truth["who"]][0])
        return truth, told

    def _even_out(self, winner: str) -> None:
        """Keep it a race: a press takes varying time to travel through a browser."""
        won = winner in {"ana", "ben"}
        self.other_s = min(_MOST_S, max(_LEAST_S, self.other_s * (0.95 if won else 1.05)))

    def _ask(self, name: str) -> tuple[str, str]:
        """Ask from another terminal: what comes over the network is not answered at one."""
        request = ExecRequest(
            requester=Requester(Intake.SOCKET, "uid:0", (1, 2)),
            session=SessionKey("main"),
            cwd=str(self.home.home),
            line=f"mkdir {name}",
        )
        asked = self.home.do(self.home.gateway.gate.submit(request))
        assert isinstance(asked, Pending)
        return asked.run_id, asked.code

    async def _soon(self, act: Awaitable[Any], most_s: float) -> Any:
        """Be as late as people are who press at the same moment."""
        await asyncio.sleep(self.draw.uniform(0, most_s))
        return await act

    def _final(self, message: int) -> str:
        """Wait until the copy in the chat has no buttons; return what it says."""

        def look() -> str:
            (found,) = [one for one in self.chat.messages() if one["message_id"] == message]
            return "" if found.get("reply_markup") else str(found["text"])

        return str(wait_until("the end of the copy in the chat", look))

    def _truth(self, asked: str) -> dict[str, Any]:
        """Return how it ended, and how often that is in the store and in the journal."""
        found: dict[str, Any] = self.home.client("person").get(f"/v1/approvals/{asked}").json()
        count = text("SELECT count(*) FROM decisions WHERE approval_id = :id")
        read = self.home.gateway.store.read(
            lambda conn: conn.execute(count, {"id": asked}).scalar()
        )
        lines = (self.home.home / "audit.jsonl").read_text().splitlines()
        records = [record for line in lines if (record := json.loads(line)).get("run") == asked]
        kinds = [record["kind"] for record in records]
        who = self._sessions().get(found["by"], found["by"])
        counts = {"decisions": self.home.do(read), "journal": kinds.count("resolve")}
        return {**found, "who": who, **counts}

    def _sessions(self) -> dict[str, str | None]:
        """Return the owner of each session of the page."""
        listed = self.home.do(self.home.gateway.store.read(tokens.listed))
        return {f"api:{one.id}": one.person for one in listed if one.browser is not None}


def check(truth: dict[str, Any], told: Told) -> str:
    """Check what each of the four was told; return who won."""
    done = {"allowed": "Allowed once", "denied": "Denied"}[truth["state"]]
    was = {"allowed": "was allowed", "denied": "was denied"}[truth["state"]]
    winner, name = _NAMES[truth["who"]]
    assert (truth["decisions"], truth["journal"]) == (1, 1), truth
    for words in (*told.cards, told.message):
        assert f"{done} by {name}" in words, (truth, told)
    said: dict[str, str | None] = {
        "ana": told.presses[0],
        "ben": told.presses[1],
        "chat": told.toast,
        "cli": told.printed,
    }
    assert f"{done}: {truth['code']}" in (said.pop(winner) or ""), (truth, told)
    for also in said.values():
        assert also is None or f"{truth['code']} {was} by {name}" in also, (truth, told)
    assert told.status == (0 if winner == "cli" else 3)
    return winner


@asynccontextmanager
async def four(home: ApiGateway, chat: BotApi) -> AsyncIterator[Four]:
    """Open both pages and a terminal."""
    with forked(GatewayProcess(home.home)) as cli:
        async with (
            live_browser() as browser,
            signed_in(browser, home.url, link_for(home)) as first,
            signed_in(browser, home.url, link_for(home, "ben")) as second,
        ):
            for page in (first, second):
                await page.evaluate(WATCH)
                await page.evaluate(_SENT)
            pages = (Browser(first, "allow"), Browser(second, "deny"))
            yield Four(home, chat, cli, pages, random.Random(15))
