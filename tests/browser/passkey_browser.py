"""Run a browser with Chromium's virtual authenticator: register a passkey, draw, sign, answer."""

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import CDPSession, Page, expect

from tests.browser.playwright_page import sign_in
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import link_for

_FETCH = """async ([path, fields]) => {
  const csrf = document.querySelector("[name=csrf]")?.value ?? "";
  const answer = await fetch(path, { method: "POST", headers: { Accept: "application/json" },
    body: new URLSearchParams({ csrf, ...fields }) });
  return { status: answer.status, ...await answer.json() };
}"""
_SIGN = """async (options) => {
  const bytes = (words) => Uint8Array.from(
    atob(words.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const made = await navigator.credentials.get({ publicKey: { ...options,
    challenge: bytes(options.challenge),
    allowCredentials: options.allowCredentials.map((one) => ({ ...one, id: bytes(one.id) })) } });
  const response = {};
  for (const name of ["clientDataJSON", "authenticatorData", "signature"])
    response[name] = text(made.response[name]);
  return JSON.stringify({ id: made.id, rawId: made.id, type: made.type, response });
}"""


@dataclass
class Device:
    """A browser with an authenticator in it, and the person signed in there."""

    home: ApiGateway
    page: Page
    cdp: CDPSession
    authenticator: str

    @property
    def url(self) -> str:
        """Return the address of the page: browsers make passkeys for names only."""
        return self.home.url.replace("127.0.0.1", "localhost")

    def post(self, path: str, **fields: str) -> dict[str, Any]:
        """Send a form as the page's scripts do."""
        found: dict[str, Any] = self.page.evaluate(_FETCH, [path, fields])
        return found

    def draw(self, asked: str, decision: str = "allow-once", **more: str) -> dict[str, Any]:
        """Draw a challenge for an answer."""
        return self.post(f"/approve/{asked}/passkey", decision=decision, **more)

    def sign(self, options: dict[str, Any]) -> str:
        """Have the authenticator sign."""
        return str(self.page.evaluate(_SIGN, options))

    def answer(self, asked: str, nonce: str, credential: str, **more: str) -> dict[str, Any]:
        """Send what was signed as an answer."""
        fields = {"decision": "allow-once", "nonce": nonce, "credential": credential, **more}
        return self.post(f"/approve/{asked}/answer", **fields)

    def credentials(self) -> list[dict[str, Any]]:
        """Return what is in the authenticator, private keys included."""
        asked = {"authenticatorId": self.authenticator}
        found: list[dict[str, Any]] = self.cdp.send("WebAuthn.getCredentials", asked)["credentials"]
        return found


def new_device(home: ApiGateway, page: Page, person: str) -> Device:
    """Put an authenticator that verifies its person into a tab, and sign in by a link."""
    cdp = page.context.new_cdp_session(page)
    cdp.send("WebAuthn.enable", {"enableUI": False})
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    added = cdp.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    device = Device(home, page, cdp, added["authenticatorId"])
    sign_in(page, device.url, link_for(home, person))
    return device


def register(device: Device) -> None:
    """Add a passkey on the page, as its person does."""
    device.page.goto(f"{device.url}/sessions")
    device.page.get_by_role("button", name="Add a passkey").click()
    expect(device.page.locator("#passkeys + p + ul code")).to_have_count(1)
