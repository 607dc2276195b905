"""Each way an answer can end has its own true sentence."""

from core.approvals import sentences
from core.model.approval import ApprovalReply, ApprovalState, Resolution
from core.model.identity import Actor
from tests.core.approvals.examples import pending

ANA = Actor("telegram", "1001", "Ana")
AT = 1_790_000_000_000


def test_endings_differ() -> None:
    """Late, denied, allowed, always allowed and withdrawn are told apart, with who and when."""
    ends = [
        Resolution(ApprovalState.EXPIRED, None, None, AT),
        Resolution(ApprovalState.DENIED, ApprovalReply.DENY, ANA, AT),
        Resolution(ApprovalState.ALLOWED, ApprovalReply.ALLOW_ONCE, ANA, AT),
        Resolution(ApprovalState.ALLOWED, ApprovalReply.ALLOW_ALWAYS, ANA, AT),
        Resolution(ApprovalState.CANCELLED, None, None, AT, "the agent's session ended"),
    ]

    told = [sentences.ended(pending(end)) for end in ends]

    assert len(told) == len(set(told))
    assert all("14:13:20 UTC" in line and "changed nothing" in line for line in told)
    assert "Ana (telegram)" in told[1]
    assert "always allowed by Ana" in told[3]
    assert "session ended" in told[4]


def test_unlisted_person_learns_the_id_to_list() -> None:
    """A person who may not answer is told which id would have to be listed where."""
    line = sentences.not_listed(Actor("telegram", "1002"))

    assert "1002" in line
    assert "channels.telegram.approvers" in line
