"""Who may answer: listed ids only, and never the requester."""

import pytest

from core.approvals.approvers import Approvers, Standing
from core.model.identity import Actor, Intake, Requester

LISTED = Approvers({"telegram": frozenset({"1001"}), "terminal": frozenset({"uid:0"})})
AGENT = Requester(Intake.SOCKET, "uid:0", (40, 7))


def test_listed_person_may() -> None:
    """A listed platform id may answer."""
    assert LISTED.standing(Actor("telegram", "1001"), AGENT) is Standing.MAY


@pytest.mark.parametrize("account", ["1002", "ana", "1001 ", "01001", ""])
def test_others_may_not(account: str) -> None:
    """Ids are compared exactly; a name is no id."""
    actor = Actor("telegram", account, name="1001")

    assert LISTED.standing(actor, AGENT) is Standing.NOT_LISTED


def test_empty_list_means_nobody() -> None:
    """A channel without approvers, and a channel that is not configured, let nobody answer."""
    nobody = Approvers({"telegram": frozenset()})

    assert nobody.standing(Actor("telegram", "1001"), AGENT) is Standing.NOT_LISTED
    assert nobody.standing(Actor("slack", "1001"), AGENT) is Standing.NOT_LISTED
    assert not nobody.anybody("telegram")


def test_id_of_another_channel_does_not_count() -> None:
    """The same id on another platform is another person."""
    assert LISTED.standing(Actor("terminal", "1001"), AGENT) is Standing.NOT_LISTED


def test_requesting_session_never_approves() -> None:
    """A command of the kernel session that asked is the requester, although its uid is listed."""
    actor = Actor("terminal", "uid:0")

    assert LISTED.standing(actor, AGENT, (40, 7)) is Standing.REQUESTER
    assert LISTED.standing(actor, AGENT, (40, 9)) is Standing.MAY
    assert LISTED.standing(actor, AGENT, (41, 7)) is Standing.MAY


def test_unknown_session_is_taken_for_the_requester() -> None:
    """Where the asking session was not recorded, nobody on this machine can be told from it."""
    unknown = Requester(Intake.SOCKET, "uid:0")

    assert LISTED.standing(Actor("terminal", "uid:0"), unknown, (41, 7)) is Standing.REQUESTER


def test_person_who_asked_in_chat_never_approves() -> None:
    """A listed person who asked in a chat cannot answer itself."""
    asked = Requester(Intake.CHAT, "1001")

    assert LISTED.standing(Actor("telegram", "1001"), asked) is Standing.REQUESTER
