"""Open the demo's screen in a browser, and use the chats and the control page that it shows.

``python -m tests.browser.demo_screen`` writes docs/images/demo.png; look at it before you commit.
"""

from contextlib import suppress
from dataclasses import dataclass

from playwright.sync_api import Error, FrameLocator, Locator, Page, expect

from tests.browser.picture import IMAGES
from tests.browser.playwright_page import browser, tab
from tests.support.demo import RunningDemo, demo
from tests.support.waiting import wait_until

PATIENCE_MS = 30_000


@dataclass(frozen=True, slots=True)
class DemoScreen:
    """A tab with the screen of a demo open."""

    demo: RunningDemo
    page: Page

    def chat(self, place: str) -> Locator:
        """Return one of the fake chats."""
        return self.page.locator(f"section.{place}")

    def bubble(self, place: str, command: str) -> Locator:
        """Return the message about a command in a chat."""
        return self.chat(place).locator(".bubble", has_text=command).last

    @property
    def control(self) -> FrameLocator:
        """Return the control page in its frame."""
        return self.page.frame_locator("iframe")

    def sign_in(self) -> None:
        """Press the one button that the frame shows at first."""
        self.control.get_by_role("button", name="Sign in").click()
        expect(self.control.locator("#health")).to_be_visible(timeout=PATIENCE_MS)

    def press(self, command: str, button: str) -> None:
        """Press a button of a card, again if cards had just moved: the page takes none then."""
        card = self.control.locator(".card", has_text=command)
        expect(card).to_be_visible(timeout=PATIENCE_MS)

        def taken() -> bool:
            with suppress(Error):  # it went away in the meantime
                card.get_by_role("button", name=button).first.click(timeout=5_000)
            return card.count() == 0  # it says how it ended instead

        wait_until("the press is taken", taken)


def opened(running: RunningDemo, page: Page) -> DemoScreen:
    """Open the screen of a demo and sign in to its page."""
    page.goto(running.url)
    screen = DemoScreen(running, page)
    screen.sign_in()
    return screen


def main() -> None:
    """Write the picture: something decided, something that waits, something that runs."""
    with browser() as chromium, tab(chromium, 1600) as made, demo() as running:
        made.page.set_viewport_size({"width": 1600, "height": 1000})
        screen = opened(running, made.page)
        screen.chat("telegram").get_by_role("button", name="Allow once").click()
        screen.press("count.sh", "once")
        expect(screen.control.locator(".card")).to_have_count(1, timeout=PATIENCE_MS)
        expect(screen.control.get_by_text("step 5 of 8").first).to_be_visible(timeout=PATIENCE_MS)
        screen.control.locator("main").evaluate("scrollTo(0, 0)")
        made.page.screenshot(path=IMAGES / "demo.png")


if __name__ == "__main__":
    main()
