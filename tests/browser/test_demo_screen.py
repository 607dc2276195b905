"""Show three chats and the control page on the demo's screen; each shows what another decided."""

import signal
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.browser.demo_screen import PATIENCE_MS, opened
from tests.browser.playwright_page import Opened, tab
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.demo import RunningDemo, demo
from tests.support.waiting import wait_until

PLACES = ("telegram", "slack", "discord")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiGateway]:
    """Run a gateway as it is deployed."""
    with api_gateway(tmp_path_factory.mktemp("framed") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def shown() -> Iterator[RunningDemo]:
    """Run a demo that waits for its viewer."""
    with demo() as running:
        yield running


@pytest.mark.slow
def test_what_is_decided_in_one_place_shows_in_all(chromium: Browser) -> None:
    """By a button in a chat, on the page and by a typed word; Ctrl-C then ends the demo."""
    with tab(chromium, 1600) as made, demo() as running:
        screen = opened(running, made.page)
        card = screen.control.locator(".card", has_text="sha256sum notes.txt")
        expect(card).to_be_visible(timeout=PATIENCE_MS)
        screen.bubble("telegram", "sha256sum").get_by_role("button", name="Allow once").click()
        for place in PLACES:
            bubble = screen.bubble(place, "sha256sum")
            expect(bubble).to_contain_text("Allowed once by you", timeout=PATIENCE_MS)
        expect(card).to_have_count(0, timeout=PATIENCE_MS)  # it shows how it ended, and disappears

        screen.press("cp notes.txt release.txt", "Deny")
        for place in PLACES:
            bubble = screen.bubble(place, "cp notes.txt")
            expect(bubble).to_contain_text("Denied by you", timeout=PATIENCE_MS)

        asked = screen.bubble("discord", "count.sh")
        code = asked.locator("code").first.inner_text()
        screen.chat("discord").get_by_role("textbox").fill(f"/approve {code} deny")
        screen.chat("discord").get_by_role("button", name="Send").click()
        waiting = screen.bubble("slack", "count.sh")
        expect(waiting).to_contain_text("Denied by you", timeout=PATIENCE_MS)
        assert made.complaints == []
        assert Axe().run(made.page).violations_count == 0

        running.process.send_signal(signal.SIGINT)
        running.terminal.wait_for("sets up your own")
        assert running.process.wait(30) == 0


def _is_refused(made: Opened, at: str, inner: str, words: str) -> None:
    """Fail unless a page that frames another is refused, by its framing policy."""
    made.page.route(at, lambda route: route.fulfill(body=f"<iframe src='{inner}'></iframe>"))
    made.page.goto(at)

    def refused() -> bool:
        made.page.wait_for_timeout(20)  # what the console says arrives while the driver waits
        return any("ancestor" in one for one in made.complaints)

    wait_until("the refusal", refused)
    assert words not in made.page.frames[1].locator("html").inner_text()


@pytest.mark.parametrize(
    "at", ["http://localhost:9/", "http://127.0.0.1:9/", "http://evil.example/"]
)
def test_no_other_page_frames_the_demos(chromium: Browser, shown: RunningDemo, at: str) -> None:
    """Not from another port or name; its own screen may."""
    with tab(chromium) as made:
        made.page.goto(shown.url)
        frame = made.page.frame_locator("iframe")
        expect(frame.get_by_role("button", name="Sign in")).to_be_visible()  # the control
        source = made.page.locator("iframe").get_attribute("src") or ""
        _is_refused(made, at, source, "Sign in")


def test_the_demos_origin_frames_no_deployed_page(
    chromium: Browser, shown: RunningDemo, home: ApiGateway
) -> None:
    """The permission is the demo's own gateway's: a deployed one refuses the same origin."""
    with tab(chromium) as made:
        inner = f"{home.url}/history".replace("127.0.0.1", "localhost")
        _is_refused(made, f"{shown.origin}/framing", inner, "signed in")
