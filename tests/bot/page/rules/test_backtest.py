"""Try a draft on the past: progress, prompts saved, commands newly allowed, the draft kept."""

import html
import re
from typing import Any

import httpx

from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PageBrowser
from tests.support.waiting import wait_until

PATH = "/exec-approvals"
_FIELD = re.compile(r'name="(agent|node|base|seen|csrf)" value="([^"]*)"')
_JSON = {"Accept": "application/json"}


def _fields(browser: PageBrowser, agent: str = "main") -> dict[str, str]:
    text = browser.get(f"{PATH}?agent={agent}").text.split('class="rules"')[1]
    return {name: html.unescape(value) for name, value in _FIELD.findall(text)}


def _tried(browser: PageBrowser, **fields: str) -> httpx.Response:
    """Start a backtest with the form and return its page when it has ended."""
    begun = browser.post(PATH, **_fields(browser), do="backtest", **fields)
    assert begun.status_code == 303, begun.text
    path = begun.headers["location"]
    assert path.startswith(f"{PATH}/backtest/")

    def ended() -> Any:
        found = browser.get(path, headers=_JSON).json()
        return found["ended"] and found

    found = wait_until("the backtest's end", ended, seconds=60)
    assert found["looked"] == found["total"] > 0
    return browser.get(path)


def _figure(text: str, name: str) -> str:
    found = re.search(rf"<dt>{name}</dt><dd>([^<]*)</dd>", text)
    assert found is not None, text
    return found[1]


def test_a_draft_saves_prompts_and_says_what_it_would_run(
    home: ApiGateway, ana: PageBrowser
) -> None:
    """A reader may try; what a person denied is named; nothing is saved."""
    before = (home.home / "exec-approvals.json").read_bytes()
    denied = home.ask("sha256sum /etc/hostname")["id"]
    home.client("person").post(f"/v1/approvals/{denied}/resolve", json={"decision": "deny"})
    home.ask("sha256sum /etc/hostname")
    text = _tried(ana, add="/usr/bin/sha256sum").text
    assert _figure(text, "prompts saved") == "2"
    assert _figure(text, "commands newly allowed") == "2"
    assert _figure(text, "of those that a person denied") == "1"
    assert "sha256sum /etc/hostname" in text
    assert "a person denied it" in text
    assert (home.home / "exec-approvals.json").read_bytes() == before


def test_a_draft_may_ask_more(home: ApiGateway, ana: PageBrowser) -> None:
    """The control: a stricter draft saves less than nothing, and newly allows nothing."""
    home.ask("seq 3", wait=20)
    text = _tried(ana, ask="always").text
    assert int(_figure(text, "prompts saved")) < 0
    assert _figure(text, "commands newly allowed") == "0"


def test_the_draft_is_kept_and_can_be_saved(home: ApiGateway, admin: PageBrowser) -> None:
    """With the base that was read, so another person's save in between is not overwritten."""
    home.ask("seq 3", wait=20)
    text = _tried(admin, add="/usr/bin/sha1sum", ask="always").text
    assert "/usr/bin/sha1sum</textarea>" in text
    assert '<option value="always" selected>' in text
    form = text.split('class="rules"')[1]
    fields = {name: html.unescape(value) for name, value in _FIELD.findall(form)}
    other = admin.post(PATH, **_fields(admin, "other"), security="deny")
    assert other.status_code == 303
    clash = admin.post(PATH, **fields, add="/usr/bin/sha1sum", ask="always")
    assert clash.status_code == 409
    assert "sha1sum" not in (home.home / "exec-approvals.json").read_text()


def test_nobody_sees_the_backtest_of_another_session(
    home: ApiGateway, ana: PageBrowser, admin: PageBrowser
) -> None:
    """The id alone gives nothing."""
    begun = ana.post(PATH, **_fields(ana), do="backtest")
    path = begun.headers["location"]
    assert admin.get(path).status_code == 404
    wait_until("its end", lambda: ana.get(path, headers=_JSON).json()["ended"], seconds=60)
    assert ana.get(path).status_code == 200
    assert ana.get(f"{PATH}/backtest/nothing").status_code == 404


def test_a_draft_that_never_matches_is_refused_at_once(home: ApiGateway, ana: PageBrowser) -> None:
    """As when it is saved."""
    refused = ana.post(PATH, **_fields(ana), do="backtest", add="rg")
    assert refused.status_code == 422
    assert "never matches" in refused.text
