"""Let only certain sessions register a passkey."""

import pytest

from core.store.people import page_links, passkeys
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PERSON_SCOPES, PageBrowser


@pytest.mark.parametrize(
    ("by", "status"), [("uid:1000", 200), ("telegram:1001", 403), ("slack:U0ANA", 403)]
)
def test_a_chats_link_registers_no_passkey(home: ApiGateway, by: str, status: int) -> None:
    """A hijacked chat account gets links; a key of its own would be a step-up's proof.

    A link that was made at a terminal is the control.
    """
    made = home.do(home.gateway.store.write(page_links.create, "ana", PERSON_SCOPES, by))
    browser = PageBrowser.at(home)
    browser.sign_in(f"/login/{made.secret}")

    answer = browser.submit("/passkeys/new")

    assert answer.status_code == status, answer.text
    assert ("from a terminal: sayso login" in answer.text) is (status == 403)


@pytest.mark.parametrize(("limit", "status"), [("7d", 200), ("", 200), ("9" * 10_000, 400)])
def test_what_is_no_limit_is_not_signed(home: ApiGateway, limit: str, status: int) -> None:
    """Nor kept until it is signed."""
    made = home.do(home.gateway.store.write(page_links.create, "ana", PERSON_SCOPES, "uid:0"))
    browser = PageBrowser.at(home)
    browser.sign_in(f"/login/{made.secret}")
    asked = home.ask("git push origin limited")["id"]
    own = ("ana", "limited-key", "public", 0, "a browser", "uid:0")
    home.do(home.gateway.store.write(passkeys.add, *own))
    path, fields = f"/approve/{asked}/passkey", {"decision": "allow-always", "limit": limit}
    assert browser.submit(path, **fields).status_code == status
    home.do(home.gateway.store.write(passkeys.forget, "limited-key"))
    browser.answer(asked, "deny")
