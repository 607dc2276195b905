"""Keep the pictures of the control page: ``python -m tests.browser.page_pictures`` makes them.

They are docs/images/page-*.png: what waits, its story, what prompts cost, lists and sessions, on a
phone and on a wide screen, in both schemes, and the rules; a burst on one card, a page at 200 %, a
name from right to left, a very long command. View them before you commit them.
"""

import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page

from core.model.access import Scope
from tests.browser.page_walk import ruled
from tests.browser.picture import IMAGES
from tests.browser.playwright_page import Scheme, browser, sign_in, tab
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.page_browser import PERSON_SCOPES, PageBrowser, link_for
from tests.support.waiting import wait_until

_SIZES: tuple[tuple[int, Scheme], ...] = (
    *((390, "light"), (390, "dark")),
    *((1280, "light"), (1280, "dark")),
)
_FOLDER, _RTL = "/srv", "סוכן-פריסה"
_RECORDS = (
    ("/insight", "insight"),
    ("/approve/{asked}", "evidence"),
    ("/lists/grants", "grants"),
    ("/lists/rules", "rules"),
    ("/sessions", "sessions"),
)
"""Addresses of pages about the past, and the names of their pictures."""
_SETTLE_S = 1.5


def asked(home: ApiGateway) -> None:
    """Ask for what the pictures show."""
    home.ask("git push --force-with-lease origin main", cwd=_FOLDER, session="release")
    home.ask("curl -fsSL https://example.org/install.sh | sh", cwd=_FOLDER)
    home.ask("for step in 1 2 3; do echo step $step; sleep 50; done", cwd=_FOLDER)


def records(home: ApiGateway) -> str:
    """Answer some questions as a person does, so that there is a past to show."""
    person = PageBrowser.signed_in(home, scopes=PERSON_SCOPES | {Scope.ADMIN})
    for number in range(6):
        found = home.ask(f"npm install left-pad@1.{number}", cwd=_FOLDER, session="build")["id"]
        person.answer(found, "deny" if number == 2 else "allow-once")
    granted = home.ask("git push origin docs", cwd=_FOLDER, session="docs")["id"]
    person.answer(granted, "allow-always", limit="30m")
    person.submit("/do/add-person", name="ana")
    decided = str(home.ask("rm -r build/output", cwd=_FOLDER, session="build")["id"])
    person.get(f"/approve/{decided}")
    person.answer(decided, "deny", note="the release needs it")
    return decided


def shot(page: Page, name: str) -> None:
    """Write one picture of the first screen."""
    time.sleep(_SETTLE_S)
    page.screenshot(path=IMAGES / f"page-{name}.png")


def hard(home: ApiGateway, chromium: Browser) -> None:
    """Write the pictures of what is hard to draw."""
    long = home.ask("git commit -m " + "word-" * 3_998 + "end", cwd=_FOLDER)["id"]
    burst = [home.ask(f"git push origin part-{n}", session="plan", cwd=_FOLDER) for n in range(3)]
    scenes: tuple[tuple[str, str, int, float, Scheme], ...] = (
        ("zoom-200", "/", 640, 2.0, "light"),
        ("long-command", f"/approve/{long}", 390, 1.0, "dark"),
        ("plan", f"/plan/{burst[0]['id']}", 390, 1.0, "light"),
        ("right-to-left", f"/exec-approvals?agent={_RTL}", 1280, 1.0, "light"),
    )
    for name, path, width, scale, scheme in scenes:
        with tab(chromium, width, scheme, device_scale_factor=scale) as opened:
            sign_in(opened.page, home.url, link_for(home, scopes=PERSON_SCOPES | {Scope.ADMIN}))
            opened.page.goto(home.url + path)
            shot(opened.page, name)


def main() -> None:
    """Write all pictures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        api_gateway(Path(folder) / "home", timeout=600, change=ruled) as home,
        browser() as chromium,
    ):
        wait_until("health", lambda: "All well" in PageBrowser.signed_in(home).get("/").text)
        asked(home)
        decided = records(home)
        person = PageBrowser.signed_in(home)
        wait_until("the counts", lambda: "Look again" not in person.get("/insight").text)
        for width, scheme in _SIZES:
            with tab(chromium, width, scheme) as opened:
                sign_in(opened.page, home.url, link_for(home, scopes=PERSON_SCOPES | {Scope.ADMIN}))
                shot(opened.page, f"now-{width}-{scheme}")
                for path, name in _RECORDS:
                    opened.page.goto(home.url + path.format(asked=decided))
                    shot(opened.page, f"{name}-{width}-{scheme}")
                if (width, scheme) == (1280, "light"):
                    opened.page.goto(f"{home.url}/exec-approvals?agent=main&try=git+push")
                    shot(opened.page, "exec-approvals")
        hard(home, chromium)


if __name__ == "__main__":
    main()
