"""Push in a real browser: the worker shows what the gateway pushed, and answers by its buttons.

Chromium's headless shell subscribes at no push service and refuses every notification. So a browser
of the tests' own push service takes what the gateway pushes, and DevTools delivers it to the real
worker as a push. What the worker shows is kept in the worker by its tag, as on a screen; a press is
the closest event that a script can dispatch there.
"""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, Worker, expect

from tests.browser.playwright_page import sign_in, tab
from tests.emulators.web_push import Phone, PushService, push_service
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.page_browser import link_for
from tests.support.waiting import wait_until

_POST = """async ([path, fields]) => {
  const csrf = document.querySelector("[name=csrf]").value;
  const answer = await fetch(path, { method: "POST", headers: { Accept: "application/json" },
    body: new URLSearchParams({ csrf, ...fields }) });
  return answer.json();
}"""
_SCREEN = """() => {
  self.screen = new Map();
  ServiceWorkerRegistration.prototype.showNotification = async (title, options) => {
    self.screen.set(options.tag, { title, ...options });
  };
  ServiceWorkerRegistration.prototype.getNotifications = async ({ tag }) =>
    [...self.screen.values()].filter((one) => one.tag === tag);
}"""
_LOSE = """(how) => {
  const own = self.fetch;
  self.fetch = async (path, ...more) => {
    const lost = path === "/push/answer";
    if (lost && how === "request") throw new TypeError("Failed to fetch");
    const said = await own(path, ...more);
    if (!lost) return said;
    if (how === "response") throw new TypeError("Failed to fetch");
    if (how === "body") return new Response((await said.text()).slice(0, 9));
    return new Response("<h1>Bad gateway</h1>", { status: 502 });
  };
}"""
_SHOWN = """() => [...self.screen.values()].map((one) => ({
  title: one.title, body: one.body, tag: one.tag, actions: one.actions.map((each) => each.action),
}))"""
_CLICK = """([tag, action]) => {
  const close = () => self.screen.delete(tag);
  const notification = { ...self.screen.get(tag), close };
  const event = Object.assign(new ExtendableEvent("notificationclick"), { notification, action });
  try {
    self.dispatchEvent(event);
  } catch { /* only the browser's own events are waited for */ }
}"""


@pytest.fixture(scope="module")
def service() -> Iterator[PushService]:
    """Run a push service."""
    with push_service() as running:
        yield running


def _gateway(home: Path, service: PushService) -> AbstractContextManager[ApiGateway]:
    """Run a gateway that knows the service."""
    return api_gateway(home, timeout=300, push={"services": [service.url]})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, service: PushService) -> Iterator[ApiGateway]:
    """Run a gateway for all tests."""
    with _gateway(tmp_path_factory.mktemp("push") / "home", service) as running:
        yield running


class Device:
    """A signed-in page and its worker, as the person's browser that takes push."""

    def __init__(self, page: Page, home: ApiGateway, service: PushService) -> None:
        self.page, self.home, self.service = page, home, service
        self.devtools: CDPSession = page.context.new_cdp_session(page)
        self.registrations: list[dict[str, Any]] = []
        self.devtools.on("ServiceWorker.workerRegistrationUpdated", self._found)
        self.devtools.send("ServiceWorker.enable")
        page.goto(f"{home.url}/sessions")
        page.evaluate("navigator.serviceWorker.ready.then((one) => one.scope)")
        self.phone: Phone = service.subscribe()
        said = page.evaluate(_POST, ["/push", self.phone.fields])
        assert said["done"], said
        self.worker: Worker = wait_until("the worker", lambda: self._workers(page.context))
        self.worker.evaluate(_SCREEN)

    def _workers(self, context: BrowserContext) -> Worker | None:
        return next(iter(context.service_workers), None)

    def _found(self, event: dict[str, Any]) -> None:
        self.registrations += event["registrations"]

    def take(self, about: str, kind: str) -> dict[str, Any]:
        """Wait for what the gateway pushed, and deliver it to the worker."""

        def pushed() -> dict[str, Any] | None:
            notes = self.service.notes(self.phone)
            return next((one for one in notes if (one["id"], one["kind"]) == (about, kind)), None)

        note: dict[str, Any] = wait_until(f"the {kind}", pushed)
        self.deliver(note)
        return note

    def deliver(self, note: dict[str, Any]) -> None:
        """Deliver a message as the browser does."""
        self.page.evaluate("0")  # DevTools events arrive while something is awaited
        message = {
            "origin": self.home.url,
            "registrationId": self.registrations[-1]["registrationId"],
            "data": json.dumps(note),
        }
        self.devtools.send("ServiceWorker.deliverPushMessage", message)

    def shown(self, title: str) -> dict[str, Any]:
        """Wait for a notification with these words in its title."""

        def found() -> dict[str, Any] | None:
            shown = self.worker.evaluate(_SHOWN)
            return next((one for one in shown if title in one["title"]), None)

        one: dict[str, Any] = wait_until(f"a notification: {title}", found, pause=0.1)
        return one

    def says(self, words: str) -> bool:
        """Return whether a notification has these words below its title."""
        return any(words in one["body"] for one in self.worker.evaluate(_SHOWN))

    def click(self, tag: str, action: str) -> None:
        """Press a button of a notification."""
        self.worker.evaluate(_CLICK, [tag, action])


@pytest.fixture
def device(chromium: Browser, home: ApiGateway, service: PushService) -> Iterator[Device]:
    """Open a browser on a phone's screen, signed in and notified."""
    with tab(chromium, 390) as opened:
        sign_in(opened.page, home.url, link_for(home))
        yield Device(opened.page, home, service)


def _state(home: ApiGateway, asked: str) -> str:
    return str(home.client("person").get(f"/v1/approvals/{asked}").json()["state"])


def test_a_notification_answers_and_is_replaced_by_the_truth(
    home: ApiGateway, device: Device
) -> None:
    """Shown with its buttons, allowed with one of them, and then replaced by the decision."""
    asked = home.ask("git push origin from-the-phone")["id"]
    note = device.take(asked, "prompt")
    shown = device.shown("asks")
    assert shown["actions"] == ["allow-once", "deny"]
    assert shown["body"].startswith("git push origin from-the-phone")
    device.click(note["tag"], "allow-once")
    wait_until("the answer", lambda: _state(home, asked) == "allowed")
    wait_until("its words", lambda: device.says("llowed"))
    ended = device.take(asked, "outcome")
    assert ended["tag"] == note["tag"]
    device.shown("Allowed")
    assert len(device.worker.evaluate(_SHOWN)) == 1


def test_what_was_decided_elsewhere_takes_the_place_of_the_question(
    home: ApiGateway, device: Device
) -> None:
    """Pushed again, and a press that crossed it is told the truth and changes nothing."""
    asked = home.ask("git push origin crossed")["id"]
    note = device.take(asked, "prompt")
    device.shown("asks")
    path = f"/v1/approvals/{asked}/resolve"
    home.client("person").post(path, json={"decision": "deny"}).raise_for_status()
    device.click(note["tag"], "allow-once")
    wait_until(
        "the truth on the notification",
        lambda: device.says("enied"),
    )
    device.take(asked, "outcome")
    assert device.shown("Denied")["tag"] == note["tag"]
    assert _state(home, asked) == "denied"


def test_a_long_command_is_only_opened(home: ApiGateway, device: Device) -> None:
    """There is no button that allows; pressing a missing one decides nothing."""
    asked = home.ask(f"git push origin {'b' * 300}")["id"]
    note = device.take(asked, "prompt")
    assert device.shown("asks")["actions"] == ["open"]
    assert "answer" not in note
    device.click(note["tag"], "allow-once")
    device.worker.evaluate("new Promise((done) => setTimeout(done, 0))")
    assert _state(home, asked) == "pending"


@pytest.mark.parametrize("how", ["response", "body", "proxy"])
def test_an_answer_whose_response_was_lost_is_looked_up(
    home: ApiGateway, device: Device, how: str
) -> None:
    """It was decided, so the notification says how, and not that nothing was."""
    asked = home.ask(f"git push origin lost-{how}")["id"]
    note = device.take(asked, "prompt")
    device.shown("asks")
    device.worker.evaluate(_LOSE, how)
    device.click(note["tag"], "allow-once")
    wait_until("the answer", lambda: _state(home, asked) == "allowed")
    wait_until("its words", lambda: device.says("Allowed once by ana"))
    assert not device.says("nothing")


def test_an_answer_that_was_lost_on_its_way_is_said_to_be(home: ApiGateway, device: Device) -> None:
    """It still waits, and the notification says that (the control of the test above)."""
    asked = home.ask("git push origin never-arrived")["id"]
    note = device.take(asked, "prompt")
    device.shown("asks")
    device.worker.evaluate(_LOSE, "request")
    device.click(note["tag"], "allow-once")
    wait_until("its words", lambda: device.says("It still waits for an answer"))
    assert _state(home, asked) == "pending"


def test_a_gateway_that_is_away_is_named(
    tmp_path: Path, chromium: Browser, service: PushService
) -> None:
    """The notification says no more than is known: the answer may not have arrived."""
    with tab(chromium, 390) as opened:
        with _gateway(tmp_path / "other", service) as home:
            sign_in(opened.page, home.url, link_for(home))
            device = Device(opened.page, home, service)
            note = device.take(home.ask("git push origin unreachable")["id"], "prompt")
            device.shown("asks")
        device.click(note["tag"], "allow-once")
        wait_until(
            "the words on the notification",
            lambda: device.says("cannot be reached, so your answer may not have arrived"),
        )


def test_a_subscription_that_the_browser_ended_is_said(home: ApiGateway, device: Device) -> None:
    """The worker cannot subscribe again on its own; it says where to."""
    device.page.goto(home.url)
    device.worker.evaluate("""() => {
      self.gone = [];
      self.clients.openWindow = async (path) => { self.gone.push(path); };
      try {
        self.dispatchEvent(new ExtendableEvent("pushsubscriptionchange"));
      } catch { /* only the browser's own events are waited for */ }
    }""")
    wait_until("its words", lambda: device.says("it has ended its subscription"))
    device.click("ended", "")
    wait_until("the page", lambda: device.worker.evaluate("self.gone") == ["/sessions"])


_KEPT = """
  self.forgotten = [];
  const one = (what) => async () => { self.forgotten.push(what); return true; };
  ServiceWorkerRegistration.prototype.getNotifications = async () =>
    [1, 2].map((number) => ({ close: one(`notification ${number}`) }));
  PushManager.prototype.getSubscription = async () => ({ unsubscribe: one("subscription") });
"""
"""What a person's browser has and a headless one lacks: notifications and a subscription."""


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_browser_that_is_signed_out_keeps_nothing(
    chromium: Browser, home: ApiGateway, where: str
) -> None:
    """Its notifications are closed and its subscription ends; while it is signed in, nothing is."""
    with tab(chromium, 390) as opened:
        page = opened.page
        page.add_init_script(_KEPT)
        sign_in(page, home.url, link_for(home))
        page.goto(f"{home.url}/sessions")
        page.evaluate("navigator.serviceWorker.ready.then((one) => one.scope)")
        assert page.evaluate("self.forgotten") == []
        if where == "here":
            page.get_by_role("button", name="Sign out", exact=True).click()
        else:
            path = page.locator("form:has([value=revoke])").last.get_attribute("action")
            assert page.evaluate(_POST, [path, {"how": "revoke"}]) is not None
            page.goto(home.url)
        expect(page.get_by_role("heading", name="You are not signed in")).to_be_visible()
        wait_until("all to be gone", lambda: len(page.evaluate("self.forgotten")) == 3)
        assert page.evaluate("self.forgotten[2]") == "subscription"


def test_nothing_asks_for_leave_before_a_press(chromium: Browser, home: ApiGateway) -> None:
    """Opening pages asks for no permission; the press says why this browser takes no push."""
    with tab(chromium, 390) as opened:
        page = opened.page
        page.add_init_script(
            "self.asked = 0; const own = Notification.requestPermission;"
            "Notification.requestPermission = (...all) => { self.asked += 1; return own(...all); };"
        )
        sign_in(page, home.url, link_for(home))
        page.goto(f"{home.url}/sessions")
        assert page.evaluate("self.asked") == 0
        page.get_by_role("button", name="Notify me here").click()
        expect(page.locator("#said")).not_to_be_empty()
        assert page.evaluate("self.asked") == 1
