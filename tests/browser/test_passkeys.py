"""Test passkeys of Chromium's virtual authenticator: what they may do, and what they may not."""

import base64
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from core.store.approvals import proofs
from core.store.people import passkeys, people
from core.trust.passkeys import PasskeyProof, approval_challenge, check, relying_party
from tests.browser.engines import ENGINES, store_of
from tests.browser.passkey_browser import Device, new_device, register
from tests.browser.playwright_page import tab
from tests.support.api_gateway import UNLIMITED, ApiGateway, api_gateway

_NUMBERS = itertools.count()


@pytest.fixture(scope="module", params=ENGINES)
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiGateway]:
    """Run a gateway where a forced push requires a step-up, for Ana and Ben."""
    folder = tmp_path_factory.mktemp("passkeys") / "home"

    def both(config: dict[str, Any]) -> None:
        config["approvals"]["exec"]["approvers"] = ["person:ana", "person:ben"]

    with api_gateway(
        folder, timeout=900, step_up=True, store=store_of(request), change=both, limits=UNLIMITED
    ) as running:
        running.do(running.gateway.store.write(people.add, "ben"))
        yield running


@pytest.fixture
def device(chromium: Browser, home: ApiGateway) -> Iterator[Device]:
    """Sign Ana in with a link, and register a passkey of hers."""
    with tab(chromium) as opened:
        made = new_device(home, opened.page, "ana")
        register(made)
        yield made
        for one in home.do(home.gateway.store.read(passkeys.listed)):
            home.do(home.gateway.store.write(passkeys.forget, one.id))


def _ask(home: ApiGateway) -> str:
    return str(home.ask(f"git push --force origin b{next(_NUMBERS)}")["id"])


def _state(home: ApiGateway, asked: str) -> str:
    return str(home.client("person").get(f"/v1/approvals/{asked}").json()["state"])


def test_a_press_and_the_passkey_allow(home: ApiGateway, device: Device) -> None:
    """On the card; what was signed is kept with the decision, and covers its digest."""
    asked = _ask(home)
    device.page.goto(f"{device.url}/approve/{asked}")
    device.page.get_by_role("button", name="Allow").first.click()
    expect(device.page.locator("[data-state=allowed]")).to_be_visible()
    (kept,) = home.do(home.gateway.store.read(proofs.of_approval, asked))
    assert (kept.person, kept.reply, kept.step) == ("ana", "allow-once", 0)
    proof = PasskeyProof.model_validate_json(kept.passkey or "")
    (key,) = home.do(home.gateway.store.read(passkeys.of_person, "ana"))
    party = relying_party(home.url)
    assert party is not None
    challenge = approval_challenge(asked, kept.digest, "allow-once", "", proof.nonce)
    assert check(proof.signed, challenge, party, key.public_key, 0) == key.sign_count


def test_a_passkey_signs_in(home: ApiGateway, device: Device) -> None:
    """A new session of its person, listed; such a session registers no further passkey."""
    page = device.page
    page.context.clear_cookies()
    page.goto(page.url)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.locator("h1").first).to_contain_text("Where you are signed in")
    expect(page.locator(".me .name")).to_contain_text("ana")
    expect(page.locator("main")).to_contain_text("link made by passkey:")
    expect(page.get_by_role("button", name="Add a passkey")).to_have_count(0)
    refused = device.post("/passkeys/new")
    assert (refused["status"], "signing in by a link from a terminal" in refused["sentence"]) == (
        403,
        True,
    )


def test_what_is_signed_for_one_answer_is_good_for_no_other(
    home: ApiGateway, device: Device
) -> None:
    """Not for another approval, another digest, another answer, nor twice."""
    first, second = _ask(home), _ask(home)
    drawn = device.draw(first)
    signed = device.sign(drawn["options"])
    other = device.draw(second)
    for nonce in (drawn["nonce"], other["nonce"]):
        refused = device.answer(second, nonce, signed)
        assert (refused["status"], _state(home, second)) == (409, "pending"), refused
    always = device.answer(first, drawn["nonce"], signed, decision="allow-always")
    assert (always["status"], _state(home, first)) == (409, "pending")
    assert device.answer(first, drawn["nonce"], signed)["done"]
    again = device.answer(second, drawn["nonce"], signed)
    assert (again["status"], _state(home, second)) == (409, "pending")
    own = device.sign(other["options"])
    assert device.answer(second, other["nonce"], own)["done"]  # the control


def test_another_digest_is_not_this_one(home: ApiGateway, device: Device) -> None:
    """A real signature, but over another plan; nor over nothing of a plan."""
    asked = _ask(home)
    drawn = device.draw(asked)
    digest = home.client("person").get(f"/v1/approvals/{asked}").json()["digest"]
    for other in ("0" * 64, digest[::-1], ""):
        challenge = approval_challenge(asked, other, "allow-once", "", drawn["nonce"])
        encoded = base64.urlsafe_b64encode(challenge).rstrip(b"=").decode()
        signed = device.sign({**drawn["options"], "challenge": encoded})
        refused = device.answer(asked, drawn["nonce"], signed)
        assert (refused["status"], _state(home, asked)) == (409, "pending"), refused
    assert device.answer(asked, drawn["nonce"], device.sign(drawn["options"]))["done"]


def test_what_was_signed_on_another_page_proves_nothing(home: ApiGateway, device: Device) -> None:
    """With the same passkey, which browsers let any port of the host use; the control: on ours."""
    asked = _ask(home)
    drawn = device.draw(asked)
    elsewhere = "http://localhost:9/"
    device.page.route(f"{elsewhere}**", lambda route: route.fulfill(body="<p>another program</p>"))
    device.page.goto(elsewhere)
    signed = device.sign(drawn["options"])
    device.page.goto(f"{device.url}/sessions")
    refused = device.answer(asked, drawn["nonce"], signed)
    assert (refused["status"], "origin" in refused["sentence"]) == (409, True), refused
    assert _state(home, asked) == "pending"
    assert device.answer(asked, drawn["nonce"], device.sign(drawn["options"]))["done"]


def _changed(credential: str, part: str, at: int, to: bytes) -> str:
    """Return a credential with some bytes of one part replaced."""
    found = json.loads(credential)
    data = base64.urlsafe_b64decode(found["response"][part] + "===")
    data = data[:at] + to + data[at + len(to) :] if at >= 0 else to
    found["response"][part] = base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    return json.dumps(found)


_UP = 0x01
"""The flags for a user who was present and not verified."""


def test_what_is_forged_proves_nothing(home: ApiGateway, device: Device) -> None:
    """A changed signature, flag, count, origin or key; nor a malformed one."""
    asked = _ask(home)
    drawn = device.draw(asked)
    signed = device.sign(drawn["options"])
    text = json.loads(signed)["response"]["clientDataJSON"]
    client = json.loads(base64.urlsafe_b64decode(text + "==="))
    other = json.dumps({**client, "origin": "https://elsewhere.example"}).encode()
    framed = json.dumps({**client, "crossOrigin": True}).encode()
    forged = [
        _changed(signed, "signature", 8, b"\0\1"),
        _changed(signed, "authenticatorData", 32, bytes([_UP])),
        _changed(signed, "authenticatorData", 33, b"\x7f\xff\xff\xff"),
        _changed(signed, "clientDataJSON", -1, other),
        _changed(signed, "clientDataJSON", -1, framed),
        json.dumps({**json.loads(signed), "id": "AAAA", "rawId": "AAAA"}),
        *("{}", "null", "[]", "x" * 20_000, json.dumps({"id": 1})),
    ]
    for one in forged:
        refused = device.answer(asked, drawn["nonce"], one)
        assert (refused["status"] >= 400, _state(home, asked)) == (True, "pending"), (one, refused)
    assert device.answer(asked, drawn["nonce"], signed)["done"]  # the control


def test_another_persons_passkey_proves_nothing(
    home: ApiGateway, device: Device, chromium: Browser
) -> None:
    """Neither Ben's for Ana's answer nor Ana's in Ben's session; the control: Ben's for Ben's."""
    with tab(chromium) as opened:
        ben = new_device(home, opened.page, "ben")
        register(ben)
        asked = _ask(home)
        anas, bens = device.draw(asked), ben.draw(asked)
        by_ana, by_ben = device.sign(anas["options"]), ben.sign(bens["options"])
        for who, nonce, signed in (
            (device, bens["nonce"], by_ben),
            (device, anas["nonce"], by_ben),
            (ben, anas["nonce"], by_ana),
            (ben, bens["nonce"], by_ana),
        ):
            refused = who.answer(asked, nonce, signed)
            assert (refused["status"], _state(home, asked)) == (409, "pending"), refused
        assert ben.answer(asked, bens["nonce"], by_ben)["done"]


def test_who_is_not_verified_signs_nothing(home: ApiGateway, device: Device) -> None:
    """The browser refuses if asked as the page asks; asked for less, the gateway does."""
    asked = _ask(home)
    drawn = device.draw(asked)
    user = {"authenticatorId": device.authenticator, "isUserVerified": False}
    device.cdp.send("WebAuthn.setUserVerified", user)
    weaker = {**drawn["options"], "userVerification": "discouraged"}
    refused = device.answer(asked, drawn["nonce"], device.sign(weaker))
    assert (refused["status"], "not verified" in refused["sentence"]) == (409, True)
    assert _state(home, asked) == "pending"
    device.cdp.send("WebAuthn.setUserVerified", {**user, "isUserVerified": True})
    assert device.answer(asked, drawn["nonce"], device.sign(drawn["options"]))["done"]


def test_of_a_copied_passkey_the_one_behind_is_refused(
    home: ApiGateway, device: Device, chromium: Browser
) -> None:
    """Its count is not above the last one; the control: the original's is."""
    (credential,) = device.credentials()
    first, second = _ask(home), _ask(home)
    with tab(chromium) as opened:
        copy = new_device(home, opened.page, "ana")
        copied = {"authenticatorId": copy.authenticator, "credential": credential}
        copy.cdp.send("WebAuthn.addCredential", copied)
        for one in (device.draw(first), device.draw(first)):
            ahead = device.answer(first, one["nonce"], device.sign(one["options"]))
        assert ahead["status"] == 409  # the second came after the decision
        drawn = copy.draw(second)
        refused = copy.answer(second, drawn["nonce"], copy.sign(drawn["options"]))
        assert (refused["status"], "count" in refused["sentence"]) == (409, True), refused
        assert _state(home, second) == "pending"
    drawn = device.draw(second)
    assert device.answer(second, drawn["nonce"], device.sign(drawn["options"]))["done"]


def test_with_a_passkey_nothing_less_allows(home: ApiGateway, device: Device) -> None:
    """No press, no typed code; denying takes one press, and without the passkey the code counts."""
    asked = _ask(home)
    code = home.client("person").get(f"/v1/approvals/{asked}").json()["code"]
    path = f"/approve/{asked}/answer"
    for fields in ({}, {"typed": code}, {"totp": "123456"}):
        refused = device.post(path, decision="allow-once", **fields)
        assert (refused["status"], _state(home, asked)) == (409, "pending"), refused
    (key,) = home.do(home.gateway.store.read(passkeys.of_person, "ana"))
    assert home.do(home.gateway.store.write(passkeys.forget, key.id)) == "ana"
    assert device.post(path, decision="allow-once", typed=code)["done"]
