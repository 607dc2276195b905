"""Show one card for a burst: each command, ticks one by one or all, one commit per tick."""

import html
from pathlib import Path

import pytest

from core.model.evidence import Surface
from core.model.identity import ApprovalId
from core.store.outbox import showings
from tests.bot.page.markup import Markup
from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PageBrowser


def _burst(home: ApiGateway, session: str, *lines: str) -> list[str]:
    return [home.ask(line, session=session)["id"] for line in lines]


def _states(home: ApiGateway, asked: list[str]) -> list[str]:
    person = home.client("person")
    return [person.get(f"/v1/approvals/{one}").json()["state"] for one in asked]


def _withdraw(home: ApiGateway, asked: list[str]) -> None:
    for one in asked:
        home.client("agent").delete(f"/v1/requests/{one}")


def _lines(name: str, count: int = 3) -> list[str]:
    return [f"git push origin {name}-{number}" for number in range(count)]


def test_three_of_one_session_are_offered_together(home: ApiGateway, ana: PageBrowser) -> None:
    """Two do not make one, nor three of different sessions; the card shows each command."""
    two = _burst(home, "two", *_lines("two", 2))
    other = _burst(home, "another", "git push origin another")
    assert "Answer them on one card" not in ana.get("/").text
    third = _burst(home, "two", "git push origin two-2")
    text = ana.get("/").text
    assert "asks for 3 commands (<bdi>session agent:main:two</bdi>)" in text
    shown = ana.get(f"/plan/{two[0]}").text
    assert all(f"git push origin two-{number}" in shown for number in range(3))
    assert "another" not in shown
    _withdraw(home, [*two, *other, *third])


def test_what_is_ticked_is_answered_and_nothing_else(home: ApiGateway, ana: PageBrowser) -> None:
    """Each with its own record in the journal, like any answer."""
    asked = _burst(home, "ticks", *_lines("ticks", 4))
    path = f"/plan/{asked[0]}"
    ticks = {f"tick-{one}": "yes" for one in asked[:2]}
    said = ana.submit(path, decision="allow-once", **ticks)
    assert said.status_code == 200
    assert said.text.count("Allowed once") == 2
    assert _states(home, asked) == ["allowed", "allowed", "pending", "pending"]
    journal = (home.home / "audit.jsonl").read_text()
    assert all(journal.count(one) >= 1 for one in asked[:2])

    denied = ana.submit(path, decision="deny", **{f"tick-{asked[2]}": "yes"})
    assert "Denied" in denied.text
    assert _states(home, asked) == ["allowed", "allowed", "denied", "pending"]
    _withdraw(home, asked[3:])


def test_all_means_all_that_was_shown(home: ApiGateway, ana: PageBrowser) -> None:
    """A question that arrived after the page was read keeps waiting."""
    asked = _burst(home, "all", *_lines("all"))
    late = _burst(home, "all", "git push origin late")
    said = ana.submit(f"/plan/{asked[0]}", decision="deny", all="yes", shown=" ".join(asked))
    assert said.status_code == 200
    assert _states(home, [*asked, *late]) == ["denied"] * 3 + ["pending"]
    _withdraw(home, late)


def test_one_that_is_decided_elsewhere_says_so_and_the_others_count(
    home: ApiGateway, ana: PageBrowser
) -> None:
    """One commit each: a late one takes no other with it."""
    asked = _burst(home, "late", *_lines("late"))
    home.client("person").post(f"/v1/approvals/{asked[1]}/resolve", json={"decision": "deny"})
    ticks = {f"tick-{one}": "yes" for one in asked}
    said = ana.submit(f"/plan/{asked[0]}", decision="allow-once", **ticks)
    assert said.status_code == 409
    assert "is no longer waiting here" in said.text
    assert _states(home, asked) == ["allowed", "denied", "allowed"]


def test_what_must_be_read_whole_is_not_allowed_among_others(
    home: ApiGateway, ana: PageBrowser
) -> None:
    """A long command is refused with its reason, even if the form is forged; deny works."""
    asked = _burst(home, "long", *_lines("long", 2), "git commit -m " + "x" * 3_000)
    path = f"/plan/{asked[0]}"
    shown = ana.get(path).text
    assert "read all of it on its own page" in shown
    assert "Allow all 3 once" not in shown
    said = ana.submit(path, decision="allow-once", **{f"tick-{asked[2]}": "yes"})
    assert (said.status_code, _states(home, asked)[2]) == (409, "pending")
    ana.submit(path, decision="deny", **{f"tick-{one}": "yes" for one in asked})
    assert _states(home, asked) == ["denied"] * 3


def test_the_form_gives_no_more_than_the_method(
    home: ApiGateway, ana: PageBrowser, bo: PageBrowser
) -> None:
    """No approver, no answer; no CSRF token, none; another session's question is not in it."""
    asked = _burst(home, "guarded", *_lines("guarded"))
    foreign = _burst(home, "elsewhere", "git push origin elsewhere")
    path, ticks = f"/plan/{asked[0]}", {f"tick-{one}": "yes" for one in asked}
    refused = bo.submit(path, decision="allow-once", **ticks)
    assert refused.status_code == 409
    assert ana.post(path, decision="allow-once", **ticks).status_code == 403
    ana.submit(path, decision="allow-once", **{f"tick-{foreign[0]}": "yes"})
    assert _states(home, [*asked, *foreign]) == ["pending"] * 4
    allowed = ana.submit(path, decision="allow-once", **ticks)
    assert (allowed.status_code, _states(home, asked)) == (200, ["allowed"] * 3)
    _withdraw(home, foreign)


@pytest.mark.parametrize("fields", [{}, {"decision": "allow-always"}, {"decision": "deny"}])
def test_a_form_that_says_nothing_changes_nothing(
    home: ApiGateway, ana: PageBrowser, fields: dict[str, str]
) -> None:
    """No decision, one that does not apply to several, or no tick."""
    asked = _burst(home, "none", *_lines("none"))
    assert ana.submit(f"/plan/{asked[0]}", **fields).status_code == 400
    assert _states(home, asked) == ["pending"] * 3
    _withdraw(home, asked)


def test_a_plan_shows_what_its_answer_is_decided_by(
    home: ApiGateway, ana: PageBrowser, tmp_path: Path
) -> None:
    """A program that may deceive, the folder and the machine, as on a card of its own."""
    odd = tmp_path / "git"
    odd.symlink_to("/usr/bin/env")
    asked = _burst(home, "warned", *_lines("warned", 2), f"{odd} push")
    shown = ana.get(f"/plan/{asked[0]}").text
    warned = Markup.of(shown).first("div", class_="odd").text
    assert "⚠ Program" in warned
    assert str(odd) in warned
    assert shown.count(f"<bdi>{html.escape(str(home.home))}</bdi>") == 3
    _withdraw(home, asked)


def test_what_is_recorded_as_shown_was_on_the_page(home: ApiGateway, ana: PageBrowser) -> None:
    """Each line of it; of a long command only the beginning."""
    long = "git commit -m " + "x" * 3_000 + "ending"
    asked = _burst(home, "recorded", *_lines("recorded", 2), long)
    page = Markup.of(ana.get(f"/plan/{asked[0]}").text).first("main").text
    home.do(home.gateway.gate.seen.flush())
    for one in asked:
        rows = home.do(home.gateway.store.read(showings.of_approval, ApprovalId(one)))
        texts = home.do(home.gateway.store.read(showings.texts_of, ApprovalId(one)))
        assert [row.surface for row in rows] == [Surface.LIST]
        lines = [line for text in texts.values() for line in text.splitlines()]
        assert lines
        for line in lines:
            label, _, value = line.partition(": ")
            assert line in page or (label in page and value in page), line
        assert "ending" not in str(texts)
    _withdraw(home, asked)
