"""Serve urgent methods although every place is taken."""

from bot.intake.socket import urgent
from tests.project.methods_reference import table


def test_what_is_urgent_sees_answers_or_stops() -> None:
    """Nothing that runs something or waits is; the owner can always answer and lock down."""
    found = urgent(table())

    assert found >= {"exec.approval.list", "exec.approval.resolve", "exec.cancel"}
    assert found >= {"grants.revoke", "token.revoke", "health.get"}
    assert found >= {"lockdown.get", "lockdown.engage", "exec.approval.get"}
    assert found.isdisjoint({"exec.run", "exec.wait", "exec.approval.waitDecision"})
