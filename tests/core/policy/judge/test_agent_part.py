"""Ask about what an agent does itself, whatever the lists contain, unless security is full."""

from dataclasses import replace

import pytest

from core.model.command import AgentPart, AgentPartKind, ExecPlan
from core.model.decision import Decision, Reason
from core.model.policy import ExecAsk, ExecPolicy, ExecSecurity
from core.policy.judge.evaluate import evaluate
from core.policy.rules.compiled import NO_PROVISIONS, Provisions
from tests.core.policy.configured_rules import provisions
from tests.support.plans import LISTED, command, listed, plan_of
from tests.support.tables import rows

FULL = replace(LISTED, security=ExecSecurity.FULL)
SHUT = replace(LISTED, security=ExecSecurity.DENY)
ALWAYS = replace(FULL, ask=ExecAsk.ALWAYS)
NEVER = replace(LISTED, ask=ExecAsk.OFF)
HELD = provisions(capabilities={"tools": ["Exec"], "files": {"read": ["/srv/app"], "write": []}})


def part(kind: AgentPartKind, *, unasked: bool = False) -> ExecPlan:
    """Return the plan of what an agent does itself."""
    return replace(plan_of(command("ls")), part=AgentPart(kind, unasked=unasked))


@rows(
    "kind, policy, decision, reason",
    [
        (AgentPartKind.PROMPT, LISTED, Decision.ALLOW, Reason.AGENT_PROMPT),
        (AgentPartKind.PROMPT, ALWAYS, Decision.ASK, Reason.ASK_ALWAYS),
        (AgentPartKind.PROMPT, SHUT, Decision.DENY, Reason.SECURITY_DENY),
        (AgentPartKind.TOOL, LISTED, Decision.ASK, Reason.AGENT_TOOL),
        (AgentPartKind.TOOL, FULL, Decision.ALLOW, Reason.SECURITY_FULL),
        (AgentPartKind.TOOL, NEVER, Decision.DENY, Reason.AGENT_TOOL),
        (AgentPartKind.COMMAND, LISTED, Decision.ASK, Reason.AGENT_TOOL),
        (AgentPartKind.COMMAND, FULL, Decision.ALLOW, Reason.SECURITY_FULL),
        (AgentPartKind.TERMINAL, LISTED, Decision.ASK, Reason.OPENS_TERMINAL),
        (AgentPartKind.TERMINAL, FULL, Decision.ASK, Reason.OPENS_TERMINAL),
        (AgentPartKind.TERMINAL, SHUT, Decision.DENY, Reason.SECURITY_DENY),
    ],
)
def test_no_list_covers_it(
    kind: AgentPartKind, policy: ExecPolicy, decision: Decision, reason: Reason
) -> None:
    """The control is the same words as a command of Sayso's, which the list lets pass."""
    found = evaluate(part(kind), policy, listed("/usr/bin/ls"))

    assert (found.decision, found.reason, found.promise) == (decision, reason, ())
    assert evaluate(plan_of(command("ls")), LISTED, listed("/usr/bin/ls")).decision is (
        Decision.ALLOW
    )


def test_a_terminal_opens_unasked_where_the_configuration_says_so() -> None:
    """For this account only; it lets pass nothing else that an agent does itself."""
    opened = evaluate(part(AgentPartKind.TERMINAL, unasked=True), LISTED, listed())

    assert (opened.decision, opened.reason) == (Decision.ALLOW, Reason.OPENS_TERMINAL)
    assert evaluate(part(AgentPartKind.TOOL, unasked=True), LISTED, listed()).decision is (
        Decision.ASK
    )


@pytest.mark.parametrize(
    ("kind", "given", "decision"),
    [
        (AgentPartKind.PROMPT, HELD, Decision.ALLOW),
        (AgentPartKind.TOOL, HELD, Decision.DENY),
        (AgentPartKind.TERMINAL, HELD, Decision.DENY),
        (AgentPartKind.TOOL, NO_PROVISIONS, Decision.ALLOW),
    ],
)
def test_an_agent_with_capabilities_may_only_be_prompted(
    kind: AgentPartKind, given: Provisions, decision: Decision
) -> None:
    """It was granted commands and folders; nothing is known of its own tools."""
    found = evaluate(part(kind), FULL, listed(), provisions=given)

    assert found.decision is decision
    assert (found.reason is Reason.CAPABILITY) is (decision is Decision.DENY)


def test_what_is_forbidden_to_commands_is_forbidden_here() -> None:
    """A variable that names code is refused, whoever would start the program."""
    with_library = replace(
        part(AgentPartKind.PROMPT), requested_env=("LD_PRELOAD",), env=(("LD_PRELOAD", "/x.so"),)
    )

    found = evaluate(with_library, FULL, listed())

    assert (found.decision, found.reason) == (Decision.DENY, Reason.ENVIRONMENT)
    assert "LD_PRELOAD" in found.why
