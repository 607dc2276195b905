"""Whose session may register a passkey."""

import pytest

from core.store.people import page_links
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PERSON_SCOPES, PageBrowser


@pytest.mark.parametrize(
    ("by", "status"), [("uid:1000", 200), ("telegram:1001", 403), ("slack:U0ANA", 403)]
)
def test_a_chats_link_registers_no_passkey(home: ApiGateway, by: str, status: int) -> None:
    """Whoever takes over a chat account gets links; a key of their own would be a step-up's proof.

    A link that was made at a terminal is the control.
    """
    made = home.do(home.gateway.store.write(page_links.create, "ana", PERSON_SCOPES, by))
    browser = PageBrowser.at(home)
    browser.sign_in(f"/login/{made.secret}")

    answer = browser.submit("/passkeys/new")

    assert answer.status_code == status, answer.text
    assert ("from a terminal: sayso login" in answer.text) is (status == 403)
