"""Show what prompts cost on a page without script, with the numbers next to each plot."""

import re

import pytest

from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PageBrowser
from tests.support.waiting import wait_until


@pytest.fixture(scope="module", autouse=True)
def past(home: ApiGateway) -> None:
    """Have a person deny a command; the counts of a moment ago are shown again."""
    asked = home.ask("git push origin counted")["id"]
    home.client("person").post(f"/v1/approvals/{asked}/resolve", json={"decision": "deny"})


def test_the_plots_are_there_with_their_numbers(ana: PageBrowser) -> None:
    """Each has a title, a description and a table; none contains a script or a style."""

    def counted() -> str:
        text = ana.get("/insight").text
        return "" if "Look again" in text else text

    text = wait_until("the counts", counted)
    assert text.count('<svg class="plot"') == text.count("<title id=") == text.count("<desc") == 2
    assert "by-day" in text
    assert re.search(r'<rect class="o-denied" x="[0-9.]+" y="[0-9.]+"', text)
    assert "style=" not in text
    assert "Programs and rules that cost prompts" in text
    assert "Median answer" in text


def test_who_may_not_read_sees_nothing(home: ApiGateway) -> None:
    """Without the scope the page is refused, as the method is."""
    found = PageBrowser.at(home).get("/insight")
    assert found.status_code == 401
    assert home.client("agent").get("/v1/insight").status_code == 403
    reader = home.client("person")
    wait_until("the counts", lambda: reader.get("/v1/insight").json()["days"])
