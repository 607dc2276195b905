"""Check who may answer: listed ids only, and never the requester."""

import pytest

from core.approvals.routing.approvers import Approvers, Eligibility
from core.model.identity import Actor, AgentId, Intake, PersonId, Requester

LISTED = Approvers({"telegram": frozenset({"1001"}), "terminal": frozenset({"uid:0"})})
AGENT = Requester(Intake.SOCKET, "uid:0", (40, 7))


def test_listed_person_may() -> None:
    """A listed platform id may answer."""
    assert LISTED.eligibility(Actor("telegram", "1001"), AGENT) is Eligibility.MAY


@pytest.mark.parametrize("account", ["1002", "ana", "1001 ", "01001", ""])
def test_others_may_not(account: str) -> None:
    """Ids are compared exactly; a name is not an id."""
    actor = Actor("telegram", account, name="1001")

    assert LISTED.eligibility(actor, AGENT) is Eligibility.NOT_LISTED


def test_empty_list_means_nobody() -> None:
    """A channel without approvers, and a channel that is not configured, let no one answer."""
    nobody = Approvers({"telegram": frozenset()})

    assert nobody.eligibility(Actor("telegram", "1001"), AGENT) is Eligibility.NOT_LISTED
    assert nobody.eligibility(Actor("slack", "1001"), AGENT) is Eligibility.NOT_LISTED
    assert not nobody.anybody("telegram")


def test_id_of_another_channel_does_not_count() -> None:
    """The same id on another platform is another person."""
    assert LISTED.eligibility(Actor("terminal", "1001"), AGENT) is Eligibility.NOT_LISTED


def test_requesting_session_never_approves() -> None:
    """A command of the kernel session that asked is the requester, although its uid is listed."""
    actor = Actor("terminal", "uid:0")

    assert LISTED.eligibility(actor, AGENT, (40, 7)) is Eligibility.REQUESTER
    assert LISTED.eligibility(actor, AGENT, (40, 9)) is Eligibility.MAY
    assert LISTED.eligibility(actor, AGENT, (41, 7)) is Eligibility.MAY


def test_unknown_session_is_taken_for_the_requester() -> None:
    """If the asking session was not recorded, no one on this machine can be told apart from it."""
    unknown = Requester(Intake.SOCKET, "uid:0")

    assert LISTED.eligibility(Actor("terminal", "uid:0"), unknown, (41, 7)) is Eligibility.REQUESTER


def test_person_who_asked_in_chat_never_approves() -> None:
    """A listed person who asked in a chat cannot answer that question."""
    asked = Requester(Intake.CHAT, "telegram:1001")

    assert LISTED.eligibility(Actor("telegram", "1001"), asked) is Eligibility.REQUESTER


def test_person_who_asked_never_approves_on_another_account() -> None:
    """The same named person is the requester, whatever account answers."""
    asked, ana = Requester(Intake.CHAT, "slack:U1"), PersonId("ana")
    actor = Actor("telegram", "1001")

    assert LISTED.eligibility(actor, asked, person=ana, asker=ana) is Eligibility.REQUESTER
    assert LISTED.eligibility(actor, asked, person=ana, asker=PersonId("bob")) is Eligibility.MAY


def test_an_agents_own_list_replaces_the_others() -> None:
    """Also if it is empty; other agents keep the common lists."""
    people = Approvers(
        {"telegram": frozenset({"1001"})},
        frozenset({"slack:U1"}),
        {AgentId("coder"): frozenset({"slack:U2"}), AgentId("locked"): frozenset()},
        2,
        {AgentId("coder"): 1},
    )
    ana, slack = Actor("telegram", "1001"), Actor("slack", "U1")

    for agent, actor, expected in (
        (AgentId("main"), ana, Eligibility.MAY),
        (AgentId("main"), slack, Eligibility.MAY),
        (AgentId("coder"), ana, Eligibility.NOT_LISTED),
        (AgentId("coder"), slack, Eligibility.NOT_LISTED),
        (AgentId("coder"), Actor("slack", "U2"), Eligibility.MAY),
        (AgentId("locked"), ana, Eligibility.NOT_LISTED),
    ):
        assert expected is people.eligibility(actor, AGENT, agent=agent)
    assert people.anybody("slack", AgentId("coder"))
    assert not people.anybody("telegram", AgentId("coder"))
    assert not people.anybody("slack", AgentId("locked"))
    assert (2, 1) == (people.needed(AgentId("main")), people.needed(AgentId("coder")))
