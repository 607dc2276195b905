"""Show the past: filters, one request's story, files to download, the journal."""

import csv
import io
import json

import pytest

from core.model.evidence import Surface
from core.model.identity import ApprovalId
from core.store.outbox import showings
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import GOES_TO, PageBrowser
from tests.support.waiting import wait_until

_IMAGE_ELSEWHERE = {
    "Sec-Fetch-Site": "same-site",
    "Sec-Fetch-Mode": "no-cors",
    "Sec-Fetch-Dest": "image",
}
"""The headers that browsers send for an image in a page of another server of the same host."""


def _done(home: ApiGateway, command: str, who: str = "agent", **more: str) -> str:
    found = home.ask(command, who=who, wait=20, **more)
    assert found["status"] == "finished", found
    return str(found["id"])


def test_filters_keep_what_they_say(home: ApiGateway, ana: PageBrowser) -> None:
    """By agent, session, state, text and person; also combined."""
    mine = _done(home, "echo filter-mine", session="nightly")
    theirs = _done(home, "echo filter-theirs", who="other")
    denied = home.ask("git push origin filter-denied")["id"]
    ana.answer(denied, "deny")
    everything = {mine, theirs, denied}

    def kept(query: str) -> set[str]:
        text = ana.get(f"/history?{query}").text
        return {one for one in everything if f"/history/{one}" in text}

    assert kept("") == everything
    assert kept("agent=other") == {theirs}
    assert kept("session=agent:main:nightly") == {mine}
    assert kept("state=denied&agent=main&session=") == {denied}
    assert kept("grep=FILTER-MINE") == {mine}
    assert kept("by=ana") == {denied}
    assert kept("by=nobody") == set()
    assert kept("by=ana&grep=filter-mine") == set()


def test_pages_lead_back(home: ApiGateway, ana: PageBrowser) -> None:
    """Fifty a page; the last one links to older ones, and there is a link back to the newest."""
    made = [_done(home, f"echo page-{n}") for n in range(52)]
    first = ana.get("/history?grep=page-").text
    assert f"/history/{made[-1]}" in first
    assert f"/history/{made[0]}" not in first
    older = first.split('href="/history?grep=page-&amp;before=')[1].split('"')[0]
    second = ana.get(f"/history?grep=page-&before={older}").text
    assert f"/history/{made[0]}" in second
    newest = 'href="/history?grep=page-">Newest</a>'
    assert (newest in first, newest in second) == (False, True)
    assert (">Older</a>" in first, ">Older</a>" in second) == (True, False)


def test_a_story_goes_from_the_question_to_the_output(home: ApiGateway, ana: PageBrowser) -> None:
    """Asked, shown, decided by whom, started, ended, printed."""
    asked = home.ask("cat /etc/hostname | tee /dev/null")["id"]
    ana.answer(asked, "allow-once")
    path = f"/history/{asked}"
    text = wait_until("the end", lambda: "Ended" in (page := ana.get(path).text) and page)

    places = [text.index(f"<h2>{word}") for word in ("Asked", "Shown", "Decided", "Started")]
    assert places == sorted(places)
    assert "finished after" in text
    assert "Output, secrets masked" in text


def test_a_story_without_a_question_says_so(home: ApiGateway, ana: PageBrowser) -> None:
    """Policy decided it; there is no approval to show."""
    run = _done(home, "echo unasked")
    text = ana.get(f"/history/{run}").text
    assert "Decided by policy" in text
    assert "/approve/" not in text
    assert ana.get(f"/history/{'z' * 26}").status_code == 404


def test_exports_hold_what_the_filters_keep(home: ApiGateway, ana: PageBrowser) -> None:
    """One JSON object or one row each, under a name by which browsers save it."""
    run = _done(home, "echo export-me")
    lines = ana.get("/history/export?format=jsonl&grep=export-me")
    found = [json.loads(line) for line in lines.text.splitlines()]
    assert [one["id"] for one in found] == [run]
    assert "attachment" in lines.headers["content-disposition"]

    table = ana.get("/history/export?format=csv&grep=export-me")
    (row,) = csv.DictReader(io.StringIO(table.text))
    assert (row["id"], row["command"], row["exitCode"]) == (run, "echo export-me", "0")
    assert ana.get("/history/export?format=xml").status_code == 400


def test_a_cell_is_no_formula(home: ApiGateway, ana: PageBrowser) -> None:
    """A spreadsheet shows what an agent wrote; it does not calculate it."""
    asked = home.ask("=1+1 | tee /dev/null", session="x")["id"]
    table = ana.get("/history/export?format=csv&grep=1%2B1").text
    row = next(one for one in csv.DictReader(io.StringIO(table)) if one["id"] == asked)
    assert row["command"].startswith("'=")
    ana.answer(asked, "deny")


def test_the_journal_is_verified(home: ApiGateway, ana: PageBrowser) -> None:
    """Intact as it is; with a changed line it says which. Only a form requests it."""
    journal = home.home / "audit.jsonl"
    _done(home, "echo for the journal")
    assert "The journal is whole" in ana.submit("/history/verify").text
    before = journal.read_bytes()
    try:
        journal.write_bytes(before.replace(b"echo for the journal", b"echo 4or the journal", 1))
        assert "is not whole" in ana.submit("/history/verify").text
    finally:
        journal.write_bytes(before)
    assert ana.get("/history/verify").status_code in {404, 405}


@pytest.mark.parametrize(
    ("method", "path", "headers", "surfaces"),
    [
        ("GET", "/history/{}", {}, []),
        ("HEAD", "/approve/{}", {}, []),
        ("HEAD", "/plan/{}", {}, []),
        ("HEAD", "/", {}, []),
        ("GET", "/approve/{}", {"Sec-Purpose": "prefetch;prerender"}, []),
        ("GET", "/approve/{}", _IMAGE_ELSEWHERE, []),
        ("GET", "/approve/{}", {"Sec-Fetch-Site": "same-site", **GOES_TO}, []),
        ("GET", "/", {"Sec-Fetch-Site": "cross-site"}, []),
        ("GET", "/approve/{}", {"Sec-Fetch-Site": "none", **GOES_TO}, [Surface.WHOLE]),
        ("GET", "/approve/{}", {"Sec-Fetch-Site": "same-origin"}, [Surface.WHOLE]),
        ("GET", "/approve/{}", {}, [Surface.WHOLE]),
        ("GET", "/", {}, [Surface.LIST]),
    ],
)
def test_who_was_not_shown_a_card_is_not_on_record_for_it(
    home: ApiGateway,
    ana: PageBrowser,
    method: str,
    path: str,
    headers: dict[str, str],
    surfaces: list[Surface],
) -> None:
    """A story is not a card, nor the API; a page that no one reads shows nothing."""
    asked = home.ask("git push origin looked")["id"]
    assert ana.http.request(method, path.format(asked), headers=headers).status_code == 200
    home.do(home.gateway.gate.seen.flush())
    found = home.do(home.gateway.store.read(showings.of_approval, ApprovalId(asked)))
    assert [one.surface for one in found] == surfaces
    ana.answer(asked, "deny")
