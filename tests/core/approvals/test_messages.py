"""Give each way an answer can end its own true sentence."""

from dataclasses import replace

import pytest

from core.approvals import messages
from core.model.approval import (
    HALF_HOUR,
    THIS_SESSION,
    THIS_TASK,
    ApprovalReply,
    ApprovalState,
    GrantTerms,
    Resolution,
    Vote,
)
from core.model.decision import Content, Promise
from core.model.identity import Actor, AgentId, PersonId
from tests.core.approvals.examples import pending

ANA = Actor("telegram", "1001", "Ana")
AT = 1_790_000_000_000


@pytest.mark.parametrize(
    ("ref", "shown"),
    [
        ("k3f7qz", "'K3F7QZ'"),
        ("K3F7QZ", "'K3F7QZ'"),
        ("k3f7qz8", "'k3f7qz8'"),
        ("k3f7qz8n2v4m6p9r1s3t5w7x0y", "'k3f7qz8n2v4m6p9r1s3t5w7x0y'"),
    ],
)
def test_a_code_is_shown_as_prompts_write_it(ref: str, shown: str) -> None:
    """What was typed is compared in lower case; people look for the code that they typed."""
    assert messages.unknown(ref).startswith(f"No approval has the id or code {shown}.")
    assert messages.ambiguous(ref, ("K3F7QZ", "K3F7QZ8")).startswith(f"{shown} could mean ")


def test_endings_differ() -> None:
    """Late, denied, allowed, always allowed and withdrawn are told apart, with who and when."""
    ends = [
        Resolution(ApprovalState.EXPIRED, None, None, AT),
        Resolution(ApprovalState.DENIED, ApprovalReply.DENY, ANA, AT),
        Resolution(ApprovalState.ALLOWED, ApprovalReply.ALLOW_ONCE, ANA, AT),
        Resolution(ApprovalState.ALLOWED, ApprovalReply.ALLOW_ALWAYS, ANA, AT),
        Resolution(ApprovalState.CANCELLED, None, None, AT, "the agent's session ended"),
    ]

    told = [messages.ended(pending(end)) for end in ends]

    assert len(told) == len(set(told))
    assert all("14:13:20 UTC" in line and "changed nothing" in line for line in told)
    assert "Ana (telegram)" in told[1]
    assert "allowed always by Ana" in told[3]
    assert "session ended" in told[4]


def test_unlisted_person_learns_the_id_to_list() -> None:
    """A person who may not answer is told which id would have to be listed where."""
    line = messages.not_listed(Actor("telegram", "1002"))

    assert "1002" in line
    assert "channels.telegram.approvers" in line


def test_an_agents_own_list_is_named() -> None:
    """If the agent has its own list, that is the one to change, with the channel's name."""
    line = messages.not_listed(Actor("telegram", "1002"), AgentId("coder"))

    assert "telegram:1002 is not in agents.list[coder].approvers" in line


def test_a_counted_allow_says_how_many_are_needed() -> None:
    """While it waits: how many of how many; afterwards: how it ended."""
    vote = Vote(PersonId("ana"), ANA, ApprovalReply.ALLOW_ONCE, AT)
    waiting = replace(pending(), quorum=2, votes=(vote,))
    denied = Resolution(ApprovalState.DENIED, ApprovalReply.DENY, ANA, AT)

    assert messages.counted(waiting) == (
        "Counted: 1 of 2 people have allowed K3F7QZ; one more is needed."
    )
    assert "2 more are needed" in messages.counted(replace(waiting, quorum=3))
    assert "was denied by Ana" in messages.counted(replace(waiting, resolution=denied))


def test_limits_are_told() -> None:
    """The person who decided, and one who comes later, is told how far the allow goes."""
    terms = GrantTerms(for_ms=1_800_000, uses=2, session_only=True)
    end = Resolution(ApprovalState.ALLOWED, ApprovalReply.ALLOW_ALWAYS, ANA, AT, terms=terms)
    words = "for 30 minutes, for 2 more runs, in this session"

    assert words == messages.limits(terms)
    assert "for 30 minutes" == messages.limits(HALF_HOUR)
    assert "in this session" == messages.limits(THIS_SESSION)
    assert "in this task" == messages.limits(THIS_TASK)
    assert "for 1 minute, for 1 more run" == messages.limits(GrantTerms(60_000, 1))
    assert f"Allowed {words}: K3F7QZ." == messages.accepted(
        pending(end), ApprovalReply.ALLOW_ALWAYS
    )
    assert f"was allowed {words} by Ana" in messages.ended(pending(end))


def test_a_narrower_end_is_told_to_whoever_decided() -> None:
    """A person who said always and decided a once learns that."""
    end = Resolution(ApprovalState.ALLOWED, ApprovalReply.ALLOW_ONCE, ANA, AT)

    line = messages.accepted(pending(end), ApprovalReply.ALLOW_ALWAYS)

    assert "Allowed once: K3F7QZ" in line
    assert "narrowest" in line


@pytest.mark.parametrize("reply", list(ApprovalReply))
@pytest.mark.parametrize("content", [(), (("/srv/app/build", "ab" * 32),)], ids=["path", "script"])
def test_only_an_always_of_a_script_is_bound_to_its_code(
    reply: ApprovalReply, content: Content
) -> None:
    """The reply says so there, and promises nothing about the code elsewhere."""
    state = ApprovalState.DENIED if reply is ApprovalReply.DENY else ApprovalState.ALLOWED
    approval = pending(Resolution(state, reply, ANA, AT))
    promised = (Promise("/usr/bin/rm", None, content),)
    approval = replace(approval, evaluation=replace(approval.evaluation, promise=promised))

    bound = reply is ApprovalReply.ALLOW_ALWAYS and content != ()
    assert ("while its code stays as it is" in messages.accepted(approval, reply)) is bound
